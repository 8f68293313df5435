/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/banned.h"

/* Where close_range() is missing (before Linux 5.9) and no limit helps: more than any shell gives.
 */
enum { CLOSE_ONE_BY_ONE = 65536 };

void descriptors_fill_standard(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR | O_CLOEXEC);
}

void descriptors_to_null(int first, int last) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = first; fd <= last; fd++) {
        if (null < 0)
            close(fd);
        else if (fd != null)
            dup3(null, fd, O_CLOEXEC);
    }
    if (null < first || null > last) close(null);
}

static void close_between(int first, int last) {
    if (close_range((unsigned)first, (unsigned)last, 0) == 0) return;
    struct rlimit limit;
    int end = CLOSE_ONE_BY_ONE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < CLOSE_ONE_BY_ONE)
        end = (int)limit.rlim_cur;
    for (int fd = first; fd <= last && fd < end; fd++) close(fd);
}

void descriptors_close_others(int first, const int *keep, size_t keep_count) {
    for (;;) {
        int next = INT_MAX;
        for (size_t i = 0; i < keep_count; i++)
            if (keep[i] >= first && keep[i] < next) next = keep[i];
        if (next > first) close_between(first, next == INT_MAX ? INT_MAX : next - 1);
        if (next == INT_MAX) return;
        first = next + 1;
    }
}

static void set_close_on_exec(int fd, int flag) {
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0) fcntl(fd, F_SETFD, (flags & ~FD_CLOEXEC) | flag);
}

void descriptor_close_on_exec(int fd) {
    set_close_on_exec(fd, FD_CLOEXEC);
}

void descriptor_survive_exec(int fd) {
    set_close_on_exec(fd, 0);
}
