/* The judge: is this variant faster than eager, by how much, how sure? A state machine without
 * input or output.
 *
 * The plan (research/measuring.md, section 2): short blocks of eager (E) and of the current variant
 * (C), in pairs of neighbours: half of the pairs E C, the other half C E, in random order, so that
 * ABBA, BAAB and ABAB all come up. A steady drift cancels, an unsteady one shows in the interval. A
 * pair gives log(eager / current) of the medians of its two blocks; the pairs give the ratio with
 * its 95 % interval (stats_ratio()). Never one side after the other: on a busy machine that is
 * wrong by tens of per cent. A warm-up block of each side stands in front and never counts, so that
 * a first visit's compilation, allocations and caches are over before the first pair.
 *
 *     S                                                               S + length
 *     | warm-up E | warm-up C | E | C | C | E | C | E | E | C | ...   | C for good
 *
 * What counts: a step that is clean, ran under the variant that its block is about, and is not one
 * of the JUDGE_SKIP_STEPS first ones after a flip. A block with less than half of the steps that
 * could have counted (or less than 2) is left out, and its pair with it, on that rank. Each rank is
 * judged by itself.
 *
 * The verdict, with d = log ratio and "tie" = log 1.008 (measuring.md: differences under 0.8 % are
 * ties):
 *
 *     measuring  less than STATS_PAIRS_LEAST (5) pairs: no ratio is said
 *     tie        the whole interval lies within 1 +- 0.8 %; or |d| < tie and half the interval is
 *                narrower than 3 ties (about 2.4 %). Without that bound two settings would "tie"
 *                just because the machine was too noisy to tell
 *     faster     low > 1 and no tie
 *     slower     high < 1 and no tie
 *     measuring  else: the interval holds 1.0 and is wide: it cannot be told with these pairs (the
 *                ratio is said)
 *
 * It is looked at once, when the schedule is over: looking again and again until it looks good
 * would break the 95 %. One owner, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUNE_JUDGE_H
#define INDUCTOP_TUNE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/stats.h"

enum {
    JUDGE_SKIP_STEPS = 1,    /* after each flip */
    JUDGE_COUNTED_LEAST = 4, /* steps of a block that can count, and: */
    JUDGE_BLOCK_MS = 50,     /* long enough that a timer tick or an interrupt is small */
    JUDGE_COUNTED_MOST = 64,
    JUDGE_PAIRS_MOST = 16, /* measuring.md, section 3 */
    JUDGE_PAIRS_LEAST = 8,
    JUDGE_SCHEDULE_MS = 60000, /* fewer pairs rather than longer than this */
    SCHEDULE_ENTRIES_MOST = 2 * JUDGE_PAIRS_MOST + 3,
};

enum judge_side { SIDE_EAGER, SIDE_CURRENT };
enum judge_verdict { VERDICT_MEASURING, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_TIE };

struct judge_plan {
    unsigned block_steps; /* JUDGE_SKIP_STEPS + those that can count; from 3 */
    unsigned pairs;       /* 1 to JUDGE_PAIRS_MOST */
    uint64_t seed;        /* of the random order */
};

/* What goes to the ranks as one agreement: which side begins how many steps after the start. The
 * offsets rise from 0, the sides alternate, and the last entry is the current side, at `length` or
 * before: how the job goes on. */
struct schedule {
    struct {
        uint64_t offset;
        enum judge_side side;
    } entries[SCHEDULE_ENTRIES_MOST];
    size_t count;
    uint64_t length;
};

struct judge_result {
    enum judge_verdict verdict;
    unsigned pairs;                 /* that counted */
    bool has_ratio;                 /* from STATS_PAIRS_LEAST pairs on */
    struct stats_interval interval; /* time of eager / time of current */
};

struct judge;

/* The plan for steps of this length; at most `room` steps in all (UINT64_MAX: any). False when not
 * even STATS_PAIRS_LEAST + 1 pairs fit, or when `median_ms` is no time. */
bool judge_plan_for(double median_ms, uint64_t room, uint64_t seed, struct judge_plan *ret);

/* Steps of the whole schedule. */
uint64_t judge_plan_length(const struct judge_plan *plan);

/* `eager` and `current` are the variants' keys and differ. */
struct judge *judge_new(const struct judge_plan *plan, uint32_t eager, uint32_t current);
struct judge *judge_free(struct judge *judge); /* returns NULL */

void judge_schedule(const struct judge *judge, struct schedule *ret);

/* The schedule begins at step `start` (S). Until then judge_take() takes nothing. */
void judge_start(struct judge *judge, uint64_t start);

/* A step of a rank, in the rank's order; gaps and what is outside of the schedule are fine. `ms`:
 * its time, used when `clean`. */
void judge_take(struct judge *judge, int rank, uint64_t step, double ms, uint32_t variant,
                bool clean);

/* The rank has told a step behind the schedule. */
bool judge_is_over(const struct judge *judge, int rank);

/* What is known of the rank so far; a rank that told nothing is being measured with 0 pairs. */
void judge_result(const struct judge *judge, int rank, struct judge_result *ret);

/* The rule above by itself; `interval` is NULL when there is no ratio. */
enum judge_verdict judge_verdict(const struct stats_interval *interval);
const char *judge_verdict_name(enum judge_verdict verdict);

#endif
