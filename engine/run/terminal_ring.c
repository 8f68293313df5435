/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/terminal_ring.h"

#include <string.h>

#include "engine/base/banned.h"

/* The count follows the bytes: should the writer be killed in between, what is there is at most not
 * counted. */
void terminal_ring_add(struct terminal_ring *ring, const char *bytes, size_t size) {
    size_t at = ring->total % TERMINAL_RING_SIZE, room = TERMINAL_RING_SIZE - at;
    size_t first = size < room ? size : room;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, size - first);
    __atomic_store_n(&ring->total, ring->total + size, __ATOMIC_RELEASE);
}

uint64_t terminal_ring_oldest(const struct terminal_ring *ring) {
    return ring->total > TERMINAL_RING_SIZE ? ring->total - TERMINAL_RING_SIZE : 0;
}

size_t terminal_ring_piece(const struct terminal_ring *ring, uint64_t position, const char **ret) {
    size_t at = position % TERMINAL_RING_SIZE, to_end = TERMINAL_RING_SIZE - at;
    uint64_t left = ring->total - position;
    *ret = ring->bytes + at;
    return left < to_end ? (size_t)left : to_end;
}
