/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/states.h"

#include <string.h>

#include "engine/base/banned.h"

static struct state_entry *find(struct states *states, const char *kind, int64_t key) {
    for (uint32_t i = 0; i < states->count; i++)
        if (states->entry[i].key == key && strcmp(states->entry[i].kind, kind) == 0)
            return &states->entry[i];
    return NULL;
}

/* Entries lie in the arena in the order of no particular thing, so the lowest that is left is moved
 * down each time. */
static void compact(struct states *states) {
    uint32_t used = 0, from = 0;
    for (uint32_t moved = 0; moved < states->count; moved++) {
        struct state_entry *next = NULL;
        for (uint32_t i = 0; i < states->count; i++) {
            struct state_entry *e = &states->entry[i];
            if (e->room && e->offset >= from && (!next || e->offset < next->offset)) next = e;
        }
        if (!next) break;
        from = next->offset + next->room;
        memmove(states->arena + used, states->arena + next->offset, next->size);
        next->offset = used;
        next->room = next->size;
        used += next->size;
    }
    states->used = used;
}

static bool make_room(struct states *states, struct state_entry *entry, size_t size) {
    if (size <= entry->room) return true;
    if (STATES_ROOM - states->used < size) {
        entry->size = entry->room = 0;
        compact(states);
        if (STATES_ROOM - states->used < size) return false;
    }
    entry->offset = states->used;
    entry->room = (uint32_t)size;
    states->used += (uint32_t)size;
    return true;
}

static bool put(struct states *states, const char *kind, int64_t key, const void *bytes,
                size_t size, uint64_t queued) {
    struct state_entry *entry = find(states, kind, key);
    if (!entry) {
        if (states->count == STATES_MAX) return false;
        entry = &states->entry[states->count];
        *entry = (struct state_entry){.key = key};
        memcpy(entry->kind, kind, strlen(kind) + 1);
        states->count++;
    }
    if (!make_room(states, entry, size)) {
        /* What it said before is out of date: better nothing than a lie. */
        *entry = states->entry[--states->count];
        entry->is_unsent = true;
        atomic_store(&states->has_unsent,
                     true); /* whoever walks the table by index may have missed it now */
        return false;
    }
    memcpy(states->arena + entry->offset, bytes, size);
    entry->size = (uint32_t)size;
    entry->queued = queued;
    entry->is_unsent = queued == 0;
    if (!queued) atomic_store(&states->has_unsent, true);
    return true;
}

bool states_put(struct states *states, const char *kind, int64_t key, const void *bytes,
                size_t size, uint64_t queued) {
    if (strnlen(kind, STATE_KIND_ROOM) == STATE_KIND_ROOM || size == 0 || size > STATES_ROOM)
        return false;
    pthread_mutex_lock(&states->lock);
    bool kept = put(states, kind, key, bytes, size, queued);
    pthread_mutex_unlock(&states->lock);
    return kept;
}

size_t states_count(struct states *states) {
    pthread_mutex_lock(&states->lock);
    size_t count = states->count;
    pthread_mutex_unlock(&states->lock);
    return count;
}

static long copy(struct states *states, const struct state_entry *entry, uint8_t *ret_bytes,
                 size_t room) {
    if (entry->size > room) return -1;
    memcpy(ret_bytes, states->arena + entry->offset, entry->size);
    return entry->size;
}

long states_copy_for_hello(struct states *states, size_t index, uint64_t position,
                           uint8_t *ret_bytes, size_t room) {
    long size = 0;
    pthread_mutex_lock(&states->lock);
    struct state_entry *entry = &states->entry[index];
    if (index < states->count && !entry->is_unsent && entry->queued <= position)
        size = copy(states, entry, ret_bytes, room);
    pthread_mutex_unlock(&states->lock);
    return size;
}

long states_copy_unsent(struct states *states, size_t index, uint8_t *ret_bytes, size_t room) {
    long size = 0;
    pthread_mutex_lock(&states->lock);
    struct state_entry *entry = &states->entry[index];
    if (index < states->count && entry->is_unsent) size = copy(states, entry, ret_bytes, room);
    if (size > 0) entry->is_unsent = false;
    pthread_mutex_unlock(&states->lock);
    return size;
}

void states_mark_unsent(struct states *states) {
    pthread_mutex_lock(&states->lock);
    for (uint32_t i = 0; i < states->count; i++) states->entry[i].is_unsent = true;
    atomic_store(&states->has_unsent, true);
    pthread_mutex_unlock(&states->lock);
}

bool states_take_unsent(struct states *states) {
    return atomic_exchange(&states->has_unsent, false);
}
