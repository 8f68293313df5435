/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

enum { NAME_MAX_LENGTH = 40, FILE_MAX = 1 << 20, SOCKET_PATH_MAX = 107, SETTLED_S = 10 };

static char *base_dir(void) {
    const char *tmp = getenv("INDUCTOP_TMPDIR");
    return mem_printf("%s/inductop-%u", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
}

/* Opens a directory that must be ours, private and no link. */
static int open_private(int at, const char *path, struct err *err) {
    CLEANUP(cleanup_close) int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        err_set_errno(err, errno, "could not open directory '%s'", path);
        return -1;
    }
    if (st.st_uid != geteuid() || (st.st_mode & 077)) {
        err_set(err, ERR_REFUSED, "directory '%s' is not private to this user", path);
        return -1;
    }
    return TAKE_FD(fd);
}

static int make_private(int at, const char *path, struct err *err) {
    if (mkdirat(at, path, 0700) && errno != EEXIST) {
        err_set_errno(err, errno, "could not make directory '%s'", path);
        return -1;
    }
    return open_private(at, path, err);
}

static bool is_name(const char *name) {
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_LENGTH || name[0] == '.') return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-+", name[i])) return false;
    return true;
}

/* The last word that looks like a script, else the program, made harmless. */
static char *name_of_command(char *const *command) {
    const char *word = command[0];
    for (int i = 0; command[i]; i++)
        if (has_suffix(command[i], ".py")) {
            word = command[i];
            break;
        }
    const char *slash = strrchr(word, '/');
    char text[25];
    size_t n = 0;
    for (const char *c = slash ? slash + 1 : word; *c && n < sizeof text - 1; c++)
        text[n++] = isalnum((unsigned char)*c) ? *c : '-';
    if (n > 3 && memcmp(text + n - 3, "-py", 3) == 0) n -= 3;
    text[n] = 0;
    return mem_printf("%s%s-%d", text[0] == '-' ? "x" : "", text, (int)getpid());
}

unsigned long long process_start(pid_t pid) {
    char path[40], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0) return 0;
    text[n] = 0;
    char *field = strrchr(text, ')');
    if (!field || field[1] != ' ' || field[2] == 'Z' || field[2] == 'X') return 0;
    for (int i = 0; field && i < 20; i++) field = strchr(field + 1, ' ');
    return field ? strtoull(field + 1, NULL, 10) : 0;
}

char *session_path(const struct session *session, const char *file) {
    return mem_printf("%s/%s", session->dir, file);
}

static int fill(struct session *ret, const char *base, const char *name, int fd, struct err *err) {
    if (strlen(base) + strlen(name) + sizeof "//sock" > SOCKET_PATH_MAX) {
        close(fd);
        return err_set(err, ERR_LIMIT, "session path '%s/%s' is too long for a socket", base, name);
    }
    *ret = (struct session){.name = mem_strdup(name), .dir = mem_printf("%s/%s", base, name), .fd = fd};
    return 0;
}

static void remove_files(int fd, bool all) {
    static const char *const useless[] = {"sock", "page", "start.json", "engine.json", "lock", "exit.tmp", "tty",
                                          "output", "output.1", "job"};
    for (size_t i = 0; i < ARRAY_SIZE(useless); i++) unlinkat(fd, useless[i], 0);
    if (!all) return;
    unlinkat(fd, "exit", 0);
    unlinkat(fd, "tape.jsonl", 0);
}

struct old {
    char name[NAME_MAX_LENGTH + 1];
    struct timespec time;
};

static int newest_first(const void *a, const void *b) {
    const struct timespec *x = &((const struct old *)a)->time, *y = &((const struct old *)b)->time;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? 1 : -1;
    return x->tv_nsec < y->tv_nsec ? 1 : x->tv_nsec > y->tv_nsec ? -1 : 0;
}

/* The sessions under a base, newest first; ended ones only, or running ones only. The caller frees. */
static size_t list(int base, bool ended, struct old **ret) {
    struct old *all = NULL;
    size_t count = 0;
    int copy = dup(base);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        if (copy >= 0) close(copy);
        *ret = NULL;
        return 0;
    }
    rewinddir(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!is_name(entry->d_name)) continue;
        struct session one = {.fd = open_private(base, entry->d_name, NULL)};
        struct stat st;
        if (one.fd < 0 || fstat(one.fd, &st) || session_is_ended(&one) != ended) {
            if (one.fd >= 0) close(one.fd);
            continue;
        }
        close(one.fd);
        all = mem_resize(all, count + 1, sizeof *all);
        all[count] = (struct old){0};
        memcpy(all[count].name, entry->d_name, strlen(entry->d_name)); /* is_name() bounds it */
        all[count++].time = st.st_mtim;
    }
    closedir(dir);
    if (count) qsort(all, count, sizeof *all, newest_first);
    *ret = all;
    return count;
}

static void sweep(int base) {
    CLEANUP(cleanup_free) struct old *ended = NULL;
    size_t count = list(base, true, &ended);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < count; i++) {
        if (now.tv_sec - ended[i].time.tv_sec < SETTLED_S) continue; /* may be one that is just being made */
        CLEANUP(cleanup_close) int fd = open_private(base, ended[i].name, NULL);
        if (fd < 0) continue;
        remove_files(fd, i >= SESSION_KEPT);
        if (i >= SESSION_KEPT) unlinkat(base, ended[i].name, AT_REMOVEDIR);
    }
}

int session_create(struct session *ret, const char *name, char *const *command, struct err *err) {
    CLEANUP(cleanup_free) char *base = base_dir(), *made = NULL;
    if (!name) name = made = name_of_command(command);
    if (!is_name(name)) return err_set(err, ERR_INVALID, "session name '%s' is not usable", name);
    CLEANUP(cleanup_close) int base_fd = make_private(AT_FDCWD, base, err);
    if (base_fd < 0) return -ERR_SYSTEM;
    sweep(base_fd);
    CLEANUP(cleanup_close) int fd = make_private(base_fd, name, err);
    if (fd < 0) return -ERR_SYSTEM;
    struct session one = {.fd = fd};
    if (!session_is_ended(&one)) return err_set(err, ERR_BUSY, "session name '%s' is taken by a job that runs", name);
    remove_files(fd, true);
    return fill(ret, base, name, TAKE_FD(fd), err);
}

int session_open(struct session *ret, const char *name, struct err *err) {
    CLEANUP(cleanup_free) char *base = base_dir();
    CLEANUP(cleanup_free) struct old *running = NULL;
    CLEANUP(cleanup_close) int base_fd = open_private(AT_FDCWD, base, err);
    if (base_fd < 0) return err_set(err, ERR_MISSING, "no job runs under inductop");
    if (!name) {
        if (list(base_fd, false, &running) == 0) return err_set(err, ERR_MISSING, "no job runs under inductop");
        name = running[0].name;
    }
    if (!is_name(name)) return err_set(err, ERR_INVALID, "session name '%s' is not usable", name);
    CLEANUP(cleanup_close) int fd = open_private(base_fd, name, NULL);
    if (fd < 0) {
        size_t count = list(base_fd, false, &running);
        err_set(err, ERR_MISSING, "session '%s' is not there", name);
        if (count) err_hint(err, "Running now: %s%s.", running[0].name, count > 1 ? " and others" : "");
        return -ERR_MISSING;
    }
    return fill(ret, base, name, TAKE_FD(fd), err);
}

void session_done(struct session *session) {
    free(session->name);
    free(session->dir);
    if (session->fd >= 0) close(session->fd);
    *session = (struct session){.fd = -1};
}

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

int session_write(const struct session *session, const char *file, const char *bytes, size_t size, struct err *err) {
    char tmp[64];
    snprintf(tmp, sizeof tmp, ".%s.%d", file, (int)getpid());
    CLEANUP(cleanup_close) int fd = openat(session->fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && write_all(fd, bytes, size) && renameat(session->fd, tmp, session->fd, file) == 0) return 0;
    err_set_errno(err, errno, "could not write session file '%s'", file);
    unlinkat(session->fd, tmp, 0);
    return -ERR_SYSTEM;
}

char *session_read(const struct session *session, const char *file, struct err *err) {
    CLEANUP(cleanup_close) int fd = openat(session->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct buf text = BUF_INIT;
    char part[4096];
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, part, sizeof part)) > 0 && text.size < FILE_MAX) buf_add(&text, part, (size_t)n);
    if (n < 0) {
        err_set_errno(err, errno, "could not read session file '%s'", file);
        buf_done(&text);
        return NULL;
    }
    return buf_take(&text);
}

int session_lock(const struct session *session, struct err *err) {
    CLEANUP(cleanup_close) int fd = openat(session->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        err_set_errno(err, errno, "could not open the session's lock");
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        err_set(err, ERR_BUSY, "another engine serves this session");
        return -1;
    }
    return TAKE_FD(fd);
}

static bool is_locked(const struct session *session, const char *file) {
    CLEANUP(cleanup_close) int fd = openat(session->fd, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
}

bool session_has_engine(const struct session *session) {
    return is_locked(session, "lock");
}

/* start.json names the front and the job as "front":[pid,start]; read without a parser, it is our own file. */
static bool has_living(const char *text, const char *key) {
    const char *at = strstr(text, key);
    int pid = 0;
    unsigned long long start = 0;
    if (!at || sscanf(at + strlen(key), "%d,%llu", &pid, &start) != 2) return false;
    return start && process_start(pid) == start;
}

bool session_is_ended(const struct session *session) {
    struct stat st;
    if (fstatat(session->fd, "exit", &st, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (is_locked(session, "exit.tmp")) return false; /* the keeper of a job that was left holds it */
    CLEANUP(cleanup_free) char *text = session_read(session, "start.json", NULL);
    if (!text) return true;
    return !has_living(text, "\"front\":[") && !session_has_engine(session);
}
