/* The last so many things of a kind, each shared (shared.h), and the list of them for a snapshot.
 * The list is made anew only when something changed since it was made. The holder owns it:
 * roll_init ... roll_done. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_ROLL_H
#define INDUCTOP_DATA_ROLL_H

#include <stddef.h>
#include <stdint.h>

#include "engine/data/shared.h"

struct roll {
    size_t most, count, begin;
    void **things;
    uint64_t total; /* added so far */
    const struct shared_list *list;
};

void roll_init(struct roll *roll, size_t most);
void roll_done(struct roll *roll);

/* Takes the reference over; the oldest thing goes when there are too many. */
void roll_add(struct roll *roll, void *thing);

/* From the oldest, `i` below count. */
void *roll_at(const struct roll *roll, size_t i);

/* Puts another thing in its place, and takes that reference over. */
void roll_set(struct roll *roll, size_t i, void *thing);

/* From the oldest. A new reference. */
const struct shared_list *roll_list(struct roll *roll);

#endif
