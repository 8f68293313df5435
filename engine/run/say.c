/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/banned.h"

enum { LINE_SIZE = 1024, PATIENCE_MS = 100 };

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* A pipe or terminal opened anew has flags of its own, so that it can be non-blocking without the
 * job noticing. 2 itself when that cannot be done or is not needed. */
static int open_stderr(mode_t mode) {
    if (!S_ISFIFO(mode) && !S_ISCHR(mode)) return STDERR_FILENO;
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? STDERR_FILENO : fd;
}

static void write_patiently(int fd, bool is_socket, const char *bytes, size_t size) {
    for (int64_t end = now_ms() + PATIENCE_MS; size > 0;) {
        int64_t left = end - now_ms();
        struct pollfd polled = {fd, POLLOUT, 0};
        if (left < 0 || poll(&polled, 1, (int)left) <= 0) return;
        ssize_t done =
            is_socket ? send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) : write(fd, bytes, size);
        if (done < 0 && errno != EAGAIN && errno != EINTR) return;
        if (done > 0) bytes += done, size -= (size_t)done;
    }
}

void keeper_say(const char *format, ...) {
    char line[LINE_SIZE] = "inductop: ";
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (size < 0) return;
    used += strlen(line + used);
    line[used++] = '\n';

    struct stat stat;
    if (fstat(STDERR_FILENO, &stat)) return;
    int fd = open_stderr(stat.st_mode);
    write_patiently(fd, S_ISSOCK(stat.st_mode), line, used);
    if (fd != STDERR_FILENO) close(fd);
}

bool is_stderr_writable(void) {
    struct pollfd polled = {STDERR_FILENO, POLLOUT, 0};
    return poll(&polled, 1, 0) != 0;
}
