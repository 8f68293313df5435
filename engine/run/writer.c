/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/writer.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/banned.h"

void writer_init(struct writer *writer, uv_loop_t *loop, int fd) {
    *writer = (struct writer){.loop = loop, .fd = fd};
}

void writer_done(struct writer *writer) {
    buf_done(&writer->waiting);
    buf_done(&writer->busy);
}

static void write_batch(uv_work_t *work) {
    struct writer *writer = work->data;
    const char *at = writer->busy.data;
    size_t left = writer->busy.size;
    while (left) {
        ssize_t n = write(writer->fd, at, left);
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

bool writer_is_idle(const struct writer *writer) {
    return !writer->is_busy && !writer->waiting.size;
}
