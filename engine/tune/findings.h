/* Findings: sentences about what costs time and what to do about it, each from figures that were told. The rules are the table in
 * findings.c and stand in rules_*.c; each names what it needs before it says anything, so that a job in order gets none.
 *
 * One owner, one thread. A finding is told when it first holds, and again when what it costs has grown by half and by a second, or by
 * a tenth of the gain.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUNE_FINDINGS_H
#define INDUCTOP_TUNE_FINDINGS_H

#include "engine/data/snapshot.h"
#include "engine/event/event.h"

struct findings;

struct findings *findings_new(void);
struct findings *findings_free(struct findings *findings); /* returns NULL */

/* Looks at what is known; new ones are told, most seconds lost first, by findings_next(). */
void findings_look(struct findings *findings, const struct snapshot *snapshot);

/* What was seen last may get worse within a second: look again soon. */
bool findings_are_urgent(const struct findings *findings);

/* One event at a time, until it returns false. The caller ends it. */
bool findings_next(struct findings *findings, struct event *ret);

#endif
