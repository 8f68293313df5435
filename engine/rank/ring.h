/* The two bounded buffers between the job's threads and the sender. Zeroed memory is an empty
 * buffer, so they can lie in .bss.
 *
 * step_ring   fixed records; many producers, none ever waits; full: dropped and counted
 * frame_ring  whole frames in the wire's form; many producers behind a short lock, which the
 *             consumer never takes; full: dropped and counted
 *
 * One consumer each, the sender thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_RING_H
#define INDUCTOP_RANK_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/frame.h"
#include "engine/wire/record.h"

enum { STEP_RING_ROOM = 4096, FRAME_RING_ROOM = 1 << 20 };

struct step_cell {
    _Atomic uint64_t turn; /* relative to the cell's place, so that zeroes are an empty ring */
    struct step_record record;
};

struct step_ring {
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t dropped;
    _Alignas(64) uint64_t tail; /* the consumer's own */
    _Atomic uint64_t tail_seen; /* what others may know of it */
    struct step_cell cell[STEP_RING_ROOM];
};

/* Puts a record in. Returns its number from 1, 0: dropped, the ring is full. */
uint64_t step_ring_push(struct step_ring *ring, const struct step_record *record);

/* Takes up to `count` of the oldest; returns how many. */
size_t step_ring_pop(struct step_ring *ring, struct step_record *ret_records, size_t count);

/* Takes up to `count` of the oldest away unseen and counts them as dropped. */
size_t step_ring_skip(struct step_ring *ring, size_t count);

size_t step_ring_used(const struct step_ring *ring);

struct frame_ring {
    pthread_mutex_t lock; /* of the producers; PTHREAD_MUTEX_INITIALIZER is all zeroes on Linux */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t dropped;
    _Alignas(64) _Atomic uint64_t tail;
    uint8_t bytes[FRAME_RING_ROOM];
};

/* Puts a frame in. Returns its end as a position that only rises, 0: dropped and counted.
 * `ret_was_empty` (may be NULL): the consumer may be asleep. */
uint64_t frame_ring_push(struct frame_ring *ring, uint8_t type, const void *payload, size_t size,
                         bool *ret_was_empty);

/* Size and type of the oldest frame, header included; 0: empty. */
size_t frame_ring_peek(const struct frame_ring *ring, uint8_t *ret_type);

/* Copies the oldest frame, header included, and takes it away; `size` is what frame_ring_peek()
 * said. */
void frame_ring_pop(struct frame_ring *ring, uint8_t *ret_bytes, size_t size);

/* Takes the oldest frame away unseen and counts it as dropped. */
void frame_ring_skip(struct frame_ring *ring);

size_t frame_ring_used(const struct frame_ring *ring);

/* Frames whose end is no higher than this have left the ring. */
uint64_t frame_ring_position(const struct frame_ring *ring);

#endif
