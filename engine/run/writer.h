/* Writes to a descriptor that may block (a pipe, a terminal, a full disk) without holding up the loop: the bytes wait in memory
 * and libuv's pool writes them, blocking, one batch at a time, in order. The descriptor is never made non-blocking and never
 * given to libuv, since its flags may be shared with the job.
 *
 * Bounded: beyond WRITER_MAX bytes waiting, what comes is dropped whole and counted. A descriptor that fails (closed pipe, full
 * disk) is given up and said once through `failed`. The loop thread alone calls these functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_WRITER_H
#define INDUCTOP_RUN_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engine/base/buf.h"

enum { WRITER_MAX = 64 << 20 };

struct writer {
    uv_loop_t *loop;
    uv_work_t work;
    struct buf waiting, busy;
    int fd, error; /* error: errno that ended it, 0 */
    bool is_busy, is_polite;
    uint64_t dropped_bytes;
};

/* The descriptor stays the caller's; it must stay open until writer_done(). */
void writer_init(struct writer *writer, uv_loop_t *loop, int fd);

/* Only when is_writer_idle(), or after the loop has ended. */
void writer_done(struct writer *writer);

/* The descriptor is the job's too: a pipe that nobody reads is never filled by us, or the job's own writes would block. */
void writer_be_polite(struct writer *writer);

void writer_add(struct writer *writer, const char *bytes, size_t size);

/* Nothing waits and nothing is being written. */
bool is_writer_idle(const struct writer *writer);

#endif
