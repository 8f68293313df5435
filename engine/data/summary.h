/* The job in figures, at its end: as an event and as a table for people. Reads the store only;
 * store.h says how each figure comes from the events, so a reader of the JSON lines gets the same
 * ones.
 *
 * A process that was only ever asleep or refused and told no step is left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SUMMARY_H
#define INDUCTOP_DATA_SUMMARY_H

#include "engine/base/buf.h"
#include "engine/data/store.h"
#include "engine/event/event.h"

/* A summary event with t = the store's time; event_done() it.
 *
 *     ranks     one for each process: rank, group, steps (step events), drops {steps, events, bad}:
 *               the losses told to the store; variants: in the order of first use: variant, label,
 *               steps, clean, median_ms, phases_ms (means of the phases told), compile_s,
 *               compiles, recompiles, breaks, peak_rss, peak_cpu, peak_device, memory_over_eager,
 *               speedup {ratio, low, high, within, pairs, verdict} as in the last speedup event over
 *               eager, versus: the same and against, of the last one over other settings
 *     switches  in the order in which they were first told, without attempts that were made again
 *               (again: true): id, by, group, to, at, status over all ranks (switches.h), reason
 *     causes    recompiles by cause, those that differ in figures only as one (causes.h): frame,
 *               words, count, seconds, ranks ("0-3"), last_rank, last_t; where told also cause,
 *               cause_id, source, remedy, file, line, last_step
 *     findings  all, most seconds lost first: what their events hold, with the rank
 *     drops     {steps, events, bad} over all, those of no rank included
 *
 * What is not known is left out: median_ms without a clean step, peak_rss without an rss, peak_cpu
 * and peak_device without the bridge to torch, memory_over_eager unless both were seen, speedup
 * without a speedup event, causes without a recompile. */
void summary_event(const struct store *store, struct event *ret);

/* The same of `count` ranks from place `first` of the store only, made quickly: a median is that of
 * STORE_QUICK_MEDIAN clean steps. For who comes late, who
 * knows the switches: they are left out. The causes stand in the part with the first rank. */
void summary_part(const struct store *store, size_t first, size_t count, struct event *ret);

/* Adds the lines of the table, each ended by a newline. Columns that do not fit `width` are left
 * out, the least needed first; nothing is wider than `width` from 48 on. "-": not known. Control
 * characters in names are shown as '?'. */
void summary_table(const struct store *store, struct buf *buf, int width);

#endif
