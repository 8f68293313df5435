/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"

#include "engine/base/banned.h"

enum { TRIES = 100 };

static ssize_t read_some(int fd, char *bytes, size_t size) {
    ssize_t got;
    do got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

int file_read(const char *path, size_t max, struct buf *buf, struct err *err) {
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_set_errno(err, errno, "file '%s' cannot be read", path);
    if (!S_ISREG(status.st_mode)) return err_set(err, ERR_INVALID, "'%s' is no regular file", path);
    char bytes[4096];
    for (size_t total = 0;;) {
        ssize_t got = read_some(fd, bytes, sizeof bytes);
        if (got < 0) return err_set_errno(err, errno, "file '%s' cannot be read", path);
        if (got == 0) return 0;
        total += (size_t)got;
        if (total > max)
            return err_set(err, ERR_LIMIT, "file '%s' is larger than %zu KiB", path, max >> 10);
        buf_add(buf, bytes, (size_t)got);
    }
}

/* The folder of a path; "." when it has none. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

int file_make_folders(const char *path, unsigned mode, struct err *err) {
    CLEANUP(cleanup_free) char *folder = mem_strdup(path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(folder, mode) && errno != EEXIST) return err_set_errno(err, errno, "folder '%s' cannot be made", folder);
        *slash = '/';
    }
    return 0;
}

static int write_all(int fd, const char *bytes, size_t size) {
    while (size) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* A new file beside `path`, and its name. */
static int open_beside(const char *folder, const char *path, char **ret_name) {
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < TRIES; i++) {
        char *name =
            mem_printf("%s/.%s.%d.%d.tmp", folder, slash ? slash + 1 : path, (int)getpid(), i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *ret_name = name;
            return fd;
        }
        int number = errno;
        free(name);
        errno = number;
        if (number != EEXIST) break;
    }
    return -1;
}

/* Best effort: the rename itself is done, this only makes it last. */
static void sync_folder(const char *folder) {
    CLEANUP(cleanup_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) (void)fsync(fd);
}

static int fill(int fd, const char *path, const char *bytes, size_t size) {
    struct stat old;
    if (stat(path, &old) == 0 && fchmod(fd, old.st_mode & 0777) < 0) return -1;
    return write_all(fd, bytes, size) < 0 || fsync(fd) < 0 ? -1 : 0;
}

char *file_of_user(const char *name) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/') return mem_printf("%s/inductop/%s", config, name);
    return home && *home == '/' ? mem_printf("%s/.config/inductop/%s", home, name) : NULL;
}

int file_replace(const char *path, const char *bytes, size_t size, struct err *err) {
    CLEANUP(cleanup_free) char *target = realpath(path, NULL);
    const char *real = target ? target : path;
    CLEANUP(cleanup_free) char *folder = folder_of(real);
    CLEANUP(cleanup_free) char *beside = NULL;
    int rc = file_make_folders(real, 0777, err);
    if (rc < 0) return rc;
    CLEANUP(cleanup_close) int fd = open_beside(folder, real, &beside);
    if (fd < 0) return err_set_errno(err, errno, "folder '%s' cannot be written to", folder);
    if (fill(fd, real, bytes, size) < 0 || rename(beside, real) < 0) {
        int number = errno;
        unlink(beside);
        return err_set_errno(err, number, "file '%s' cannot be written", path);
    }
    sync_folder(folder);
    return 0;
}
