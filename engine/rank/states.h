/* The last frame of each (kind, key): what a newcomer at the other end must know first. A fixed table over a fixed arena;
 * zeroed memory is an empty one. Any thread may put; the sender thread lists and copies. A put of the same (kind, key)
 * replaces; when there is no room, nothing is kept and the caller counts.
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
    bool is_unsent; /* the newest text has not gone out, and is in no other buffer */
};

struct states {
    pthread_mutex_t lock;
    _Atomic bool has_unsent;
    uint32_t count, used; /* used: bytes of the arena, holes included */
    struct state_entry entry[STATES_MAX];
    uint8_t arena[STATES_ROOM];
};

/* False: not kept. `is_unsent`: see state_entry. A kind longer than STATE_KIND_ROOM - 1 is not kept. */
bool states_put(struct states *states, const char *kind, int64_t key, const void *bytes, size_t size, bool is_unsent);

size_t states_count(struct states *states);

/* Copies entry `index` when it fits into `room`: its size; 0: no such entry, or one that is not unsent and only_unsent asks for
 * those; -1: no room. With only_unsent it counts as sent from then on. */
long states_copy(struct states *states, size_t index, bool only_unsent, uint8_t *ret_bytes, size_t room);

/* All are to be sent again. */
void states_mark_unsent(struct states *states);

/* Some may be unsent; false from here on until another is. */
bool states_take_unsent(struct states *states);

#endif
