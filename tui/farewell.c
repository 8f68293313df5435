/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/farewell.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/cli/printer.h"
#include "engine/base/banned.h"

enum { WIDTH_MOST = 100, PREFIX = sizeof "inductop: " - 1 };

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

void farewell_attach(const char *name) {
    fprintf(stderr, "inductop: job '%s' goes on; 'inductop attach %s' comes back\n", name, name);
}
