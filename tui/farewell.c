/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/farewell.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/cli/printer.h"
#include "engine/base/banned.h"

enum { SAVED_BYTES = 64 * 1024, WIDTH_MOST = 100, PREFIX = sizeof "inductop: " - 1 };

static int width_of(int fd) {
    struct winsize size;
    bool is_known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col;
    return is_known && size.ws_col < WIDTH_MOST + PREFIX ? size.ws_col - PREFIX : WIDTH_MOST;
}

void farewell_summary(const struct feed *feed) {
    CLEANUP(buf_done) struct buf table = BUF_INIT;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    feed_summary(feed, width_of(STDERR_FILENO), &table);
    printer_text(&lines, buf_text(&table));
    fwrite(lines.data, 1, lines.size, stderr);
}

static int open_saved(const struct session *session, const char *path) {
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    return path ? open(path, flags) : openat(session->fd, "output", flags | O_NOFOLLOW);
}

bool farewell_saved(const struct session *session, const char *path, struct text *ret) {
    CLEANUP(cleanup_close) int fd = open_saved(session, path);
    CLEANUP(cleanup_free) char *bytes = mem_array(SAVED_BYTES, 1);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) || !S_ISREG(stat.st_mode)) return false;
    off_t at = stat.st_size > SAVED_BYTES ? stat.st_size - SAVED_BYTES : 0;
    ssize_t size = pread(fd, bytes, SAVED_BYTES, at);
    if (size <= 0) return false;
    const char *begin = at ? memchr(bytes, '\n', (size_t)size) : bytes;
    if (!begin) begin = bytes;
    text_feed(ret, begin, (size_t)(bytes + size - begin));
    return true;
}

void farewell_attach(const char *name) {
    fprintf(stderr, "inductop: job '%s' goes on; 'inductop attach %s' comes back\n", name, name);
}
