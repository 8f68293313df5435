/* The last compilations of all ranks. Part of the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_COMPILES_H
#define INDUCTOP_DATA_COMPILES_H

#include "engine/data/roll.h"
#include "engine/event/event.h"

/* Adds a compile event to the roll of struct snapshot_compile. `step`: in which it was; `unit_name`
 * is copied, NULL when it is not known. */
void compiles_take(struct roll *compiles, const struct event *event, uint64_t step,
                   const char *unit_name);

#endif
