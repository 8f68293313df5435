/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/writer.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/banned.h"

enum { POLITE_BYTES = 4096, LOOK_AGAIN_NS = 10000000 };

void writer_init(struct writer *writer, uv_loop_t *loop, int fd) {
    *writer = (struct writer){.loop = loop, .fd = fd};
}

void writer_done(struct writer *writer) {
    buf_done(&writer->waiting);
    buf_done(&writer->busy);
}

void writer_be_polite(struct writer *writer) {
    struct stat st;
    writer->is_polite = fstat(writer->fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Waits until most of the pipe is free. A reader that is gone shows in write(). */
static void wait_for_reader(int fd) {
    int unread = 0;
    struct pollfd pipe_end = {.fd = fd};
    while (ioctl(fd, FIONREAD, &unread) == 0 && unread > POLITE_BYTES) {
        if (poll(&pipe_end, 1, 0) > 0 && pipe_end.revents & POLLERR) return;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_NS}, NULL);
    }
}

static void write_batch(uv_work_t *work) {
    struct writer *writer = work->data;
    const char *at = writer->busy.data;
    size_t left = writer->busy.size;
    while (left) {
        if (writer->is_polite) wait_for_reader(writer->fd);
        ssize_t n = write(writer->fd, at, writer->is_polite && left > POLITE_BYTES ? POLITE_BYTES : left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            writer->error = errno;
            return;
        }
        at += n;
        left -= (size_t)n;
    }
}

static void next(struct writer *writer);

static void written(uv_work_t *work, int status) {
    struct writer *writer = work->data;
    (void)status;
    writer->is_busy = false;
    buf_clear(&writer->busy);
    if (writer->error) buf_clear(&writer->waiting);
    next(writer);
}

static void next(struct writer *writer) {
    if (writer->is_busy || !writer->waiting.size) return;
    struct buf empty = writer->busy;
    writer->busy = writer->waiting;
    writer->waiting = empty;
    writer->is_busy = true;
    writer->work.data = writer;
    if (uv_queue_work(writer->loop, &writer->work, write_batch, written)) writer->is_busy = false;
}

void writer_add(struct writer *writer, const char *bytes, size_t size) {
    if (writer->error || writer->waiting.size + size > WRITER_MAX) {
        writer->dropped_bytes += size;
        return;
    }
    buf_add(&writer->waiting, bytes, size);
    next(writer);
}

bool is_writer_idle(const struct writer *writer) {
    return !writer->is_busy && !writer->waiting.size;
}
