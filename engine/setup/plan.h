/* The plan: which changes act at which step, known at the start. From --preset and --set (step 0)
 * and --at.
 *
 * Each entry is a change that is merged over what is in force when its step comes. Sorted by step;
 * entries of one step stay in the order in which they were added. A plan belongs to its holder:
 * plan_init ... plan_done; no locking.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_PLAN_H
#define INDUCTOP_SETUP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/setup/settings.h"

enum plan_by { PLAN_SET, PLAN_AT };
enum { PLAN_MAX = 4096 };

struct plan_entry {
    uint64_t step; /* the first step under the change; 0: before the first */
    enum plan_by by;
    struct settings change;
};

struct plan {
    struct plan_entry *entries;
    size_t count, room;
};

#define PLAN_INIT                                                                                  \
    { NULL, 0, 0 }

void plan_init(struct plan *plan);
void plan_done(struct plan *plan);

/* Adds a copy of `change`. */
int plan_add(struct plan *plan, uint64_t step, enum plan_by by, const struct settings *change,
             struct err *err);

/* Adds what --set says: "KEY=VALUE[,KEY=VALUE]", at step 0. */
int plan_parse_set(struct plan *plan, const char *text, struct err *err);

/* Adds what --at says: "STEP:KEY=VALUE[,KEY=VALUE]". */
int plan_parse_at(struct plan *plan, const char *text, struct err *err);

/* Refuses a plan whose changes of one step do not go together, naming the step. */
int plan_check(const struct plan *plan, struct err *err);

const char *plan_by_name(enum plan_by by); /* "set", "at" */

#endif
