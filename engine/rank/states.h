/* The last frame of each (kind, key): what a newcomer at the other end must know first. A fixed
 * table over a fixed arena; zeroed memory is an empty one. Any thread may put; the sender thread
 * lists and copies. A put of the same (kind, key) replaces; when there is no room, nothing is kept
 * and the caller counts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_STATES_H
#define INDUCTOP_RANK_STATES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATES_MAX = 256, STATES_ROOM = 256 << 10, STATE_KIND_ROOM = 24 };

struct state_entry {
    char kind[STATE_KIND_ROOM];
    int64_t key;
    uint32_t offset, size, room;
    uint64_t queued; /* end of the newest text in the frame ring */
    bool is_unsent;  /* the newest text has not gone out, and is in no other buffer */
};

struct states {
    pthread_mutex_t lock;
    _Atomic bool has_unsent;
    uint32_t count, used; /* used: bytes of the arena, holes included */
    struct state_entry entry[STATES_MAX];
    uint8_t arena[STATES_ROOM];
};

/* False: not kept. `queued`: end of this text in the frame ring, 0: it is not there and has to be
 * sent from here. A kind longer than STATE_KIND_ROOM - 1 is not kept. */
bool states_put(struct states *states, const char *kind, int64_t key, const void *bytes,
                size_t size, uint64_t queued);

size_t states_count(struct states *states);

/* Copies entry `index` for a hello, when it fits into `room`: its size; 0: nothing to do; -1: no
 * room. Left out is what is still in the frame ring, behind `position`, or unsent, and so comes in
 * its turn. */
long states_copy_for_hello(struct states *states, size_t index, uint64_t position,
                           uint8_t *ret_bytes, size_t room);

/* Copies entry `index` when it is unsent, with the same results; it counts as sent from then on. */
long states_copy_unsent(struct states *states, size_t index, uint8_t *ret_bytes, size_t room);

/* All are to be sent again. */
void states_mark_unsent(struct states *states);

/* Some may be unsent; false from here on until another is. */
bool states_take_unsent(struct states *states);

#endif
