/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/judge.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <uthash.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

enum { WARM_UPS = 2, BLOCKS_MOST = WARM_UPS + 2 * JUDGE_PAIRS_MOST };

static const double tie = 0.00796817; /* log 1.008 */

struct judged_rank {
    int rank;
    bool over;
    unsigned block; /* the open one */
    unsigned count; /* of its values */
    double values[JUDGE_COUNTED_MOST + JUDGE_SKIP_STEPS];
    double medians[BLOCKS_MOST]; /* of the closed ones; NaN: left out */
    UT_hash_handle hh;
};

struct judge {
    struct judge_plan plan;
    uint32_t keys[2]; /* by side */
    enum judge_side sides[BLOCKS_MOST];
    unsigned blocks;
    bool started;
    uint64_t start;
    struct judged_rank *ranks;
};

/* splitmix64: small, and the same everywhere. */
static uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t judge_plan_length(const struct judge_plan *plan) {
    return (uint64_t)plan->block_steps * (WARM_UPS + 2 * plan->pairs);
}

bool judge_plan_for(double median_ms, uint64_t room, uint64_t seed, struct judge_plan *ret) {
    if (!(median_ms > 0) || !isfinite(median_ms)) return false;
    double counted =
        fmin(fmax(ceil(JUDGE_BLOCK_MS / median_ms), JUDGE_COUNTED_LEAST), JUDGE_COUNTED_MOST);
    struct judge_plan plan = {JUDGE_SKIP_STEPS + (unsigned)counted, JUDGE_PAIRS_MOST, seed};
    while (plan.pairs > JUDGE_PAIRS_LEAST &&
           (double)judge_plan_length(&plan) * median_ms > JUDGE_SCHEDULE_MS)
        plan.pairs--;
    while (plan.pairs > STATS_PAIRS_LEAST && judge_plan_length(&plan) > room) plan.pairs--;
    if (plan.pairs <= STATS_PAIRS_LEAST) return false;
    *ret = plan;
    return true;
}

/* As many pairs begin with one side as with the other (a steady drift then cancels), in random
 * order (measured against strict fours, E C C E or C E E C: those make neighbours rise and fall
 * together under a drift, and the intervals too narrow). */
static void lay_out(struct judge *judge) {
    enum judge_side first[JUDGE_PAIRS_MOST];
    uint64_t state = judge->plan.seed;
    enum judge_side odd = (enum judge_side)(random_next(&state) >> 63);
    for (unsigned i = 0; i < judge->plan.pairs; i++) first[i] = i % 2 ? 1 - odd : odd;
    for (unsigned i = judge->plan.pairs; i > 1; i--) {
        unsigned other = (unsigned)((random_next(&state) >> 32) * i >> 32);
        enum judge_side side = first[i - 1];
        first[i - 1] = first[other];
        first[other] = side;
    }
    judge->sides[0] = SIDE_EAGER;
    judge->sides[1] = SIDE_CURRENT;
    for (unsigned i = 0; i < judge->plan.pairs; i++) {
        judge->sides[WARM_UPS + 2 * i] = first[i];
        judge->sides[WARM_UPS + 2 * i + 1] = 1 - first[i];
    }
}

struct judge *judge_new(const struct judge_plan *plan, uint32_t eager, uint32_t current) {
    assert(plan->pairs >= 1 && plan->pairs <= JUDGE_PAIRS_MOST);
    assert(plan->block_steps >= 3 && plan->block_steps <= JUDGE_COUNTED_MOST + JUDGE_SKIP_STEPS);
    struct judge *judge = mem_new(sizeof *judge);
    judge->plan = *plan;
    judge->keys[SIDE_EAGER] = eager;
    judge->keys[SIDE_CURRENT] = current;
    judge->blocks = WARM_UPS + 2 * plan->pairs;
    lay_out(judge);
    return judge;
}

struct judge *judge_free(struct judge *judge) {
    struct judged_rank *rank, *next;
    if (!judge) return NULL;
    HASH_ITER(hh, judge->ranks, rank, next) {
        HASH_DEL(judge->ranks, rank);
        free(rank);
    }
    free(judge);
    return NULL;
}

static bool is_flip(const struct judge *judge, unsigned block) {
    return block == 0 || judge->sides[block] != judge->sides[block - 1];
}

void judge_schedule(const struct judge *judge, struct schedule *ret) {
    *ret = (struct schedule){.length = judge_plan_length(&judge->plan)};
    for (unsigned block = 0; block < judge->blocks; block++) {
        if (!is_flip(judge, block)) continue;
        ret->entries[ret->count].offset = (uint64_t)block * judge->plan.block_steps;
        ret->entries[ret->count++].side = judge->sides[block];
    }
    if (judge->sides[judge->blocks - 1] == SIDE_CURRENT) return;
    ret->entries[ret->count].offset = ret->length;
    ret->entries[ret->count++].side = SIDE_CURRENT;
}

void judge_start(struct judge *judge, uint64_t start) {
    judge->started = true;
    judge->start = start;
}

static struct judged_rank *rank_of(struct judge *judge, int rank) {
    struct judged_rank *found;
    HASH_FIND_INT(judge->ranks, &rank, found);
    if (found) return found;
    found = mem_new(sizeof *found);
    found->rank = rank;
    for (unsigned i = 0; i < BLOCKS_MOST; i++) found->medians[i] = NAN;
    HASH_ADD_INT(judge->ranks, rank, found);
    return found;
}

static void close_block(const struct judge *judge, struct judged_rank *rank) {
    unsigned could = judge->plan.block_steps - (is_flip(judge, rank->block) ? JUDGE_SKIP_STEPS : 0);
    if (rank->count >= 2 && 2 * rank->count >= could) {
        stats_sort(rank->values, rank->count);
        rank->medians[rank->block] = stats_median(rank->values, rank->count);
    }
    rank->count = 0;
}

void judge_take(struct judge *judge, int number, uint64_t step, double ms, uint32_t variant,
                bool clean) {
    if (!judge->started || step < judge->start) return;
    struct judged_rank *rank = rank_of(judge, number);
    uint64_t index = step - judge->start, block = index / judge->plan.block_steps;
    if (rank->over || block < rank->block) return;
    if (block > rank->block) close_block(judge, rank);
    if (block >= judge->blocks) {
        rank->over = true;
        return;
    }
    rank->block = (unsigned)block;
    bool skipped =
        is_flip(judge, rank->block) && index % judge->plan.block_steps < JUDGE_SKIP_STEPS;
    if (skipped || !clean || !(ms > 0) || variant != judge->keys[judge->sides[block]]) return;
    if (rank->count < judge->plan.block_steps) rank->values[rank->count++] = ms;
}

bool judge_is_over(const struct judge *judge, int number) {
    struct judged_rank *rank;
    HASH_FIND_INT(judge->ranks, &number, rank);
    return rank && rank->over;
}

static unsigned log_ratios(const struct judge *judge, const struct judged_rank *rank,
                           double *ret_logs) {
    unsigned count = 0;
    for (unsigned block = WARM_UPS; rank && block < judge->blocks; block += 2) {
        double log_ratio = log(rank->medians[block] / rank->medians[block + 1]);
        if (isnan(log_ratio)) continue;
        ret_logs[count++] = judge->sides[block] == SIDE_EAGER ? log_ratio : -log_ratio;
    }
    return count;
}

void judge_result(const struct judge *judge, int number, struct judge_result *ret) {
    struct judged_rank *rank;
    double logs[JUDGE_PAIRS_MOST];
    HASH_FIND_INT(judge->ranks, &number, rank);
    struct judge_result result = {.pairs = log_ratios(judge, rank, logs)};
    result.has_ratio = stats_ratio(logs, result.pairs, logs, &result.interval);
    result.verdict = judge_verdict(result.has_ratio ? &result.interval : NULL);
    *ret = result;
}

enum judge_verdict judge_verdict(const struct stats_interval *interval) {
    if (!interval) return VERDICT_MEASURING;
    double low = log(interval->low), high = log(interval->high), middle = log(interval->ratio);
    if (low > -tie && high < tie) return VERDICT_TIE;
    if (fabs(middle) < tie && high - low < 6 * tie) return VERDICT_TIE;
    if (low > 0) return VERDICT_FASTER;
    return high < 0 ? VERDICT_SLOWER : VERDICT_MEASURING;
}

const char *judge_verdict_name(enum judge_verdict verdict) {
    static const char *const names[] = {
        [VERDICT_MEASURING] = "measuring",
        [VERDICT_FASTER] = "faster",
        [VERDICT_SLOWER] = "slower",
        [VERDICT_TIE] = "tie",
    };
    return names[verdict];
}
