/* The last 64 KiB of a job's output, by position: the count of bytes written before. Lives in
 * shared memory; one writer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_RING_H
#define INDUCTOP_RUN_TERMINAL_RING_H

#include <stddef.h>
#include <stdint.h>

enum { TERMINAL_RING_SIZE = 1 << 16 };

struct terminal_ring {
    uint64_t total; /* position behind the newest byte */
    char bytes[TERMINAL_RING_SIZE];
};

/* At most TERMINAL_RING_SIZE bytes. */
void terminal_ring_add(struct terminal_ring *ring, const char *bytes, size_t size);

/* Position of the oldest byte that is still there. */
uint64_t terminal_ring_oldest(const struct terminal_ring *ring);

/* The bytes from a position on, which must not be older than the oldest: `ret` points into the
 * ring. Returns how many lie there in one piece, 0 at the end. */
size_t terminal_ring_piece(const struct terminal_ring *ring, uint64_t position, const char **ret);

#endif
