/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/terminal_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/run/terminal_frames.h"
#include "engine/base/banned.h"

/* O_NONBLOCK is no matter for a file; a fifo or terminal that nobody reads must not stop us. */
enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

int terminal_output_open_file(const char *path, struct err *err) {
    int fd = open(path, FLAGS | O_TRUNC, 0666);
    if (fd < 0) err_set_errno(err, errno, "could not open output file '%s'", path);
    return fd;
}

static int open_turn(const struct terminal_output *output, int more) {
    return openat(output->session_fd, TERMINAL_OUTPUT, FLAGS | O_NOFOLLOW | more, 0600);
}

int terminal_output_open(struct terminal_output *ret, int given_fd, int session_fd) {
    struct terminal_output output = {given_fd, session_fd, given_fd < 0, 0};
    if (output.takes_turns) {
        unlinkat(session_fd, TERMINAL_OUTPUT_BEFORE, 0);
        output.fd = open_turn(&output, O_TRUNC);
    }
    *ret = output;
    return output.fd < 0 ? -1 : 0;
}

/* The descriptor that was inherited may stand for a file that has become the one before. */
void terminal_output_take_over(struct terminal_output *output) {
    struct stat stat;
    if (!output->takes_turns) return;
    terminal_output_close(output);
    output->fd = open_turn(output, 0);
    output->size = output->fd >= 0 && !fstat(output->fd, &stat) ? (uint64_t)stat.st_size : 0;
}

static void take_turn(struct terminal_output *output) {
    terminal_output_close(output);
    renameat(output->session_fd, TERMINAL_OUTPUT, output->session_fd, TERMINAL_OUTPUT_BEFORE);
    output->fd = open_turn(output, O_TRUNC);
    output->size = 0;
}

/* Bytes written, -1 (errno) when nothing could be. */
static ssize_t put(struct terminal_output *output, const char *bytes, size_t size) {
    if (output->takes_turns && (output->fd < 0 || output->size >= TERMINAL_OUTPUT_TURN))
        take_turn(output);
    ssize_t done;
    do done = write(output->fd, bytes, size);
    while (done < 0 && errno == EINTR);
    if (done > 0) output->size += (uint64_t)done;
    return done;
}

/* Once there is room again the reader of the file is told first. */
static bool can_save(struct terminal_output *output, struct terminal_saved *saved) {
    if (!saved->gap) return true;
    char text[80];
    int size = snprintf(text, sizeof text, "\r\n[inductop: %llu bytes not saved]\r\n",
                        (unsigned long long)saved->gap);
    if (put(output, text, (size_t)size) != size) return false;
    saved->gap = 0;
    return true;
}

void terminal_output_save(struct terminal_output *output, const struct terminal_ring *ring,
                          struct terminal_saved *saved) {
    const char *bytes;
    for (size_t size; (size = terminal_ring_piece(ring, saved->position, &bytes)) > 0;) {
        ssize_t done = can_save(output, saved) ? put(output, bytes, size) : -1;
        if (done <= 0) {
            saved->error = done < 0 ? errno : ENOSPC;
            saved->gap += size;
            saved->unsaved += size;
            done = (ssize_t)size;
        }
        saved->position += (uint64_t)done;
    }
}

void terminal_output_close(struct terminal_output *output) {
    if (output->fd >= 0) close(output->fd);
    output->fd = -1;
}
