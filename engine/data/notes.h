/* What is told in sentences: problems, findings, and what the job wrote. Part of the store. What is
 * said again counts up the one that is there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_NOTES_H
#define INDUCTOP_DATA_NOTES_H

#include "engine/data/roll.h"
#include "engine/event/event.h"

/* Each adds an event of its kind to a roll of struct snapshot_problem, snapshot_finding or
 * snapshot_output. */
void notes_problem(struct roll *problems, const struct event *event);
void notes_finding(struct roll *findings, const struct event *event);
/* All of them, most seconds lost first, as an array of their events' fields, with their rank: a new reference. */
json_t *notes_findings(const struct roll *findings);
void notes_output(struct roll *outputs, const struct event *event);

#endif
