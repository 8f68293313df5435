/* Recompilations by reason: in one frame, causes of one kind and source that differ in their figures
 * only are one. Part of the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_CAUSES_H
#define INDUCTOP_DATA_CAUSES_H

#include "engine/data/roll.h"
#include "engine/event/event.h"

struct causes {
    struct cause *by_key;
    struct roll list; /* of struct snapshot_cause */
};

void causes_init(struct causes *causes);
void causes_done(struct causes *causes);

/* Takes a compile event; those that are no recompile are left out, but the time of a backward that
 * had to follow one is added to it. `step`: in which it was. Beyond SNAPSHOT_GROUPED reasons, new ones are not told apart: the last one, "other causes", takes them.
 */
void causes_take(struct causes *causes, const struct event *event, uint64_t step);

/* All of them as an array of objects: frame, words, cause, cause_id, source, remedy, file, line,
 * count, seconds, ranks, last_rank, last_t, last_step. A new reference. causes_set() takes such an array: its figures replace those that are
 * there for the same reason. */
json_t *causes_json(const struct causes *causes);
void causes_set(struct causes *causes, const json_t *array);

#endif
