/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/ring.h"

#include <string.h>

#include "engine/base/banned.h"

static_assert((STEP_RING_ROOM & (STEP_RING_ROOM - 1)) == 0, "places are taken by masking");
static_assert((FRAME_RING_ROOM & (FRAME_RING_ROOM - 1)) == 0, "places are taken by masking");

/* ---- records: D. Vyukov's bounded queue. A cell whose turn is that of the round is free for it,
 * one more is full. */

static uint64_t round_of(uint64_t position) {
    return position & ~(uint64_t)(STEP_RING_ROOM - 1);
}

uint64_t step_ring_push(struct step_ring *ring, const struct step_record *record) {
    uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        struct step_cell *cell = &ring->cell[at & (STEP_RING_ROOM - 1)];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        int64_t late = (int64_t)(turn - round_of(at));
        if (late < 0) {
            atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
            return 0;
        }
        if (late > 0) {
            at = atomic_load_explicit(&ring->head, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(
                       &ring->head, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
            cell->record = *record;
            atomic_store_explicit(&cell->turn, round_of(at) + 1, memory_order_release);
            return at + 1;
        }
    }
}

static bool take(struct step_ring *ring, struct step_record *ret_record) {
    struct step_cell *cell = &ring->cell[ring->tail & (STEP_RING_ROOM - 1)];
    if (atomic_load_explicit(&cell->turn, memory_order_acquire) != round_of(ring->tail) + 1)
        return false;
    if (ret_record) *ret_record = cell->record;
    atomic_store_explicit(&cell->turn, round_of(ring->tail) + STEP_RING_ROOM, memory_order_release);
    ring->tail++;
    return true;
}

size_t step_ring_pop(struct step_ring *ring, struct step_record *ret_records, size_t count) {
    size_t done = 0;
    while (done < count && take(ring, &ret_records[done])) done++;
    atomic_store_explicit(&ring->tail_seen, ring->tail, memory_order_relaxed);
    return done;
}

size_t step_ring_skip(struct step_ring *ring, size_t count) {
    size_t done = 0;
    while (done < count && take(ring, NULL)) done++;
    atomic_store_explicit(&ring->tail_seen, ring->tail, memory_order_relaxed);
    atomic_fetch_add_explicit(&ring->dropped, done, memory_order_relaxed);
    return done;
}

size_t step_ring_used(const struct step_ring *ring) {
    uint64_t tail = atomic_load_explicit(&ring->tail_seen, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return head > tail ? (size_t)(head - tail) : 0;
}

/* ---- frames */

static void copy_in(struct frame_ring *ring, uint64_t at, const void *bytes, size_t size) {
    size_t place = at & (FRAME_RING_ROOM - 1), first = FRAME_RING_ROOM - place;
    if (first > size) first = size;
    memcpy(ring->bytes + place, bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, size - first);
}

static void copy_out(const struct frame_ring *ring, uint64_t at, uint8_t *ret_bytes, size_t size) {
    size_t place = at & (FRAME_RING_ROOM - 1), first = FRAME_RING_ROOM - place;
    if (first > size) first = size;
    memcpy(ret_bytes, ring->bytes + place, first);
    memcpy(ret_bytes + first, ring->bytes, size - first);
}

uint64_t frame_ring_push(struct frame_ring *ring, uint8_t type, const void *payload, size_t size,
                         bool *ret_was_empty) {
    uint8_t header[FRAME_HEADER_SIZE];
    frame_header(header, type, (uint32_t)size);
    pthread_mutex_lock(&ring->lock);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    bool fits = FRAME_RING_ROOM - (head - tail) >= size + sizeof header;
    if (fits) {
        copy_in(ring, head, header, sizeof header);
        copy_in(ring, head + sizeof header, payload, size);
        atomic_store_explicit(&ring->head, head + sizeof header + size, memory_order_release);
    }
    pthread_mutex_unlock(&ring->lock);
    if (!fits) atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
    if (ret_was_empty) *ret_was_empty = fits && head == tail;
    return fits ? head + sizeof header + size : 0;
}

size_t frame_ring_peek(const struct frame_ring *ring, uint8_t *ret_type) {
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (atomic_load_explicit(&ring->head, memory_order_acquire) == tail) return 0;
    uint8_t header[FRAME_HEADER_SIZE];
    copy_out(ring, tail, header, sizeof header);
    size_t size = 0;
    for (unsigned i = 0; i < 4; i++) size |= (size_t)header[i] << 8 * i;
    *ret_type = header[4];
    return size + sizeof header;
}

static void advance(struct frame_ring *ring, size_t size) {
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + size, memory_order_release);
}

void frame_ring_pop(struct frame_ring *ring, uint8_t *ret_bytes, size_t size) {
    copy_out(ring, atomic_load_explicit(&ring->tail, memory_order_relaxed), ret_bytes, size);
    advance(ring, size);
}

void frame_ring_skip(struct frame_ring *ring) {
    uint8_t type;
    advance(ring, frame_ring_peek(ring, &type));
    atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
}

uint64_t frame_ring_position(const struct frame_ring *ring) {
    return atomic_load(&ring->tail);
}

size_t frame_ring_used(const struct frame_ring *ring) {
    return (size_t)(atomic_load(&ring->head) - atomic_load(&ring->tail));
}
