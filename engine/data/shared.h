/* Things that several holders share and nobody changes any more: counted references. A thing begins
 * with a struct shared; the last holder's shared_unref() ends it. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SHARED_H
#define INDUCTOP_DATA_SHARED_H

#include <stdbool.h>
#include <stddef.h>

struct shared {
    size_t refs;
    void (*done)(void *thing); /* ends what is in the thing, not its memory; may be NULL */
};

/* A thing of `size` bytes, all zero but for this; the caller holds the only reference. */
void *shared_new(size_t size, void (*done)(void *thing));

/* One more reference; returns `thing`, which may be NULL. */
void *shared_ref(const void *thing);

/* One less. Accepts NULL. */
void shared_unref(const void *thing);

/* Somebody else holds it too: it must not be changed. */
bool is_shared(const void *thing);

/* A list that is shared as a whole and holds a reference to each of its things. */
struct shared_list {
    struct shared shared;
    size_t count;
    void *things[];
};

/* `room` places, none used yet: things are put in by shared_list_add(), before it is handed out. */
struct shared_list *shared_list_new(size_t room);

/* Takes the reference over. */
void shared_list_add(struct shared_list *list, const void *thing);

#endif
