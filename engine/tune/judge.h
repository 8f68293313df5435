/* The judge: which of two variants is faster, by how much, how sure? A state machine without input
 * or output.
 *
 * The plan (research/measuring.md, section 2): short blocks of the other variant (O) and of the
 * current one (C), in couples of neighbours: half of the couples O C, the other half C O, in random
 * order, so that OCCO, COOC and OCOC all come up. A steady drift cancels, an unsteady one shows in
 * the interval. A couple gives log(other / current) of the medians of its two blocks, a pair the
 * mean of its couples; the pairs give the ratio with its interval (stats_ratio()). Never one side
 * after the other: on a busy machine that is wrong by tens of per cent. The noisier the steps are,
 * the more couples has a pair. Its blocks stay short: what other processes do to the steps is alike
 * in neighbours, so of the same steps, recorded on a loaded machine, 5 % was found in 22 % of the
 * series by blocks of 64, in 70 % by couples of 4.
 *
 * The pairs come in stages, each a schedule of its own; between them the job goes on under the
 * current variant. After each stage it is looked at, and what is sure ends it:
 *
 *     S0                                                 S1                  S2
 *     | warm-up O | warm-up C | O | C | C | O ... 6 pairs | 4 pairs more ... | 6 pairs more ... |
 *
 * A warm-up block of each side stands in front and never counts, so that a first visit's
 * compilation, allocations and caches are over before the first pair.
 *
 * What counts: a step that is clean, ran under the variant that its block is about, and is not one
 * of the JUDGE_SKIP_STEPS first ones after a flip. A block with less than half of the steps that
 * could have counted (or less than 2) is left out, and its couple with it, on that rank; so is a
 * pair with less than half of its couples. Each rank is judged by itself.
 *
 * Looking more than once: the three looks (6, 10, 16 pairs) share one error of 5 %, each an equal
 * part (a group-sequential test with Pocock's bound, in p so that it serves whatever the pairs that
 * counted): the interval of every look has that look's p, so that with 95 % probability all three
 * hold the truth, whenever it is stopped. Chosen by simulation against looks after every pair or
 * every second one, a bound that rises, and an always-valid interval (a mixture over effect sizes):
 * of 40,000 series with a 5 % difference and a pair's noise of 3 %, 6 pairs settle 66 %, against
 * 54 % with a look at each pair and 38 % with the best always-valid one, which pays for looks
 * without end that a schedule of 16 pairs never has; 16 pairs settle 99.9, 99.8 and 99.2 %.
 * tests/bench/statistics.c measures what was chosen.
 *
 * The verdict:
 *
 *     faster     low > 1
 *     slower     high < 1
 *     tie        the whole interval lies within 1 +- 0.8 % (measuring.md: what differs by less is a
 *                tie), whether it holds 1.0 or not; after the last look also when it holds 1.0 and
 *                lies within 1 +- 4 %. "No difference larger than" is its farther end
 *     measuring  else: it cannot be told with these pairs (the ratio is said), or there are less
 *                than STATS_PAIRS_LEAST (no ratio is said)
 *
 * One owner, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUNE_JUDGE_H
#define INDUCTOP_TUNE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/shares.h"
#include "engine/data/stats.h"

enum {
    JUDGE_SKIP_STEPS = 1,    /* after each flip */
    JUDGE_COUNTED_LEAST = 4, /* steps of a block that can count, and: */
    JUDGE_BLOCK_MS = 50,     /* long enough that a timer tick or an interrupt is small */
    JUDGE_COUNTED_MOST = 64,
    JUDGE_COUPLES_MOST = 32, /* of a pair: a schedule is 2 KiB then */
    JUDGE_PAIRS_MOST = 16, /* measuring.md, section 3 */
    JUDGE_PAIRS_LEAST = 8,
    JUDGE_PAIRS_FIRST = 6, /* of the first stage */
    JUDGE_STAGES_MOST = 3,
    JUDGE_NOISE_MS = 120000,   /* pairs get more couples for noise only within this, all stages */
    JUDGE_LONGEST_MS = 600000, /* fewer pairs rather than longer than this, all stages */
    SCHEDULE_ENTRIES_MOST = 2 * JUDGE_PAIRS_FIRST * JUDGE_COUPLES_MOST + 3, /* no stage has more */
};

enum judge_side { SIDE_OTHER, SIDE_CURRENT };
enum judge_verdict { VERDICT_MEASURING, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_TIE };

struct judge_plan {
    unsigned block_steps; /* JUDGE_SKIP_STEPS + those that can count; from 3 */
    unsigned couples;     /* of blocks in a pair, 1 to JUDGE_COUPLES_MOST */
    unsigned pairs;       /* JUDGE_PAIRS_FIRST to JUDGE_PAIRS_MOST, all stages together */
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

/* What a step took: `ms` in all, and its phases, NaN where not told. */
struct judge_times {
    double ms, phases[SHARE_COUNT];
};

struct judge_result {
    enum judge_verdict verdict;
    unsigned pairs;                 /* that counted */
    bool has_ratio;                 /* from STATS_PAIRS_LEAST pairs on; interval, within, phases: */
    struct stats_interval interval; /* time of the other / time of the current one */
    double within;                  /* no difference larger than this: 0.012 is 1.2 % */
    bool has_phase[SHARE_COUNT];    /* told, and a hundredth of the step at least */
    struct stats_interval phases[SHARE_COUNT]; /* each with the interval's own p */
};

struct judge;

/* The plan for steps of this length and relative noise (standard deviation over length); at most
 * `room` steps in all (UINT64_MAX: any). False when not even the first stage fits, or when
 * `median_ms` is no time. */
bool judge_plan_for(double median_ms, double noise, uint64_t room, uint64_t seed,
                    struct judge_plan *ret);

/* Steps of all schedules. */
uint64_t judge_plan_length(const struct judge_plan *plan);

/* `other` and `current` are the variants' keys and differ. */
struct judge *judge_new(const struct judge_plan *plan, uint32_t other, uint32_t current);
struct judge *judge_free(struct judge *judge); /* returns NULL */

/* The schedule of the present stage. */
void judge_schedule(const struct judge *judge, struct schedule *ret);

/* It begins at step `start` (S). Until then judge_take() takes nothing. */
void judge_start(struct judge *judge, uint64_t start);

/* A step of a rank, in the rank's order; gaps and what is outside of the schedule are fine. `times`
 * are used when it is `clean`. */
void judge_take(struct judge *judge, int rank, uint64_t step, const struct judge_times *times,
                uint32_t variant, bool clean);

/* The rank has told a step behind the present stage's schedule. */
bool judge_is_over(const struct judge *judge, int rank);

/* All ranks are over: the next stage, to be scheduled and started. False when nothing more is to be
 * measured: there is none, or nine of ten ranks are sure. */
bool judge_next(struct judge *judge);

/* What is known of the rank so far, as after a last look; a rank that told nothing is being
 * measured with 0 pairs. */
void judge_result(const struct judge *judge, int rank, struct judge_result *ret);

/* The rule above by itself; `interval` is NULL when there is no ratio. */
enum judge_verdict judge_verdict(const struct stats_interval *interval, bool is_last);
const char *judge_verdict_name(enum judge_verdict verdict);

#endif
