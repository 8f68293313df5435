/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/judge.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <uthash.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

enum {
    WARM_UPS = 2,
    COUPLES_MOST = JUDGE_PAIRS_MOST * JUDGE_COUPLES_MOST,
    BLOCKS_MOST = WARM_UPS + 2 * COUPLES_MOST,
    SERIES = 1 + SHARE_COUNT, /* the step, and its phases behind it */
};

static const double tie = 0.00796817, tie_at_last = 0.0392207; /* log 1.008, log 1.04 */
static const double pair_noise = 0.02;  /* of a pair: it has couples enough for that */
static const double phase_least = 0.01; /* of the step */

/* Pairs at each look, and the error of each of so many looks: all together err in 4 % of 200,000
 * series of normal pairs. The rest is for what is not normal: a drift makes neighbouring pairs
 * alike. */
static const unsigned looks[JUDGE_STAGES_MOST] = {JUDGE_PAIRS_FIRST, 10, JUDGE_PAIRS_MOST};
static const double errors[JUDGE_STAGES_MOST] = {0.040, 0.023, 0.0155};

struct judged_rank {
    int rank;
    bool over;
    unsigned block; /* the open one */
    unsigned count; /* of its values */
    double values[SERIES][JUDGE_COUNTED_MOST + JUDGE_SKIP_STEPS];
    double *medians[SERIES]; /* of the closed ones, by block; NaN: left out */
    UT_hash_handle hh;
};

struct judge {
    struct judge_plan plan;
    uint32_t keys[2]; /* by side */
    enum judge_side sides[BLOCKS_MOST];
    unsigned stages, stage;
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
    return (uint64_t)plan->block_steps * (WARM_UPS + 2 * plan->couples * plan->pairs);
}

/* The median of n steps of this noise has 1.25 / sqrt(n) of it, and so has about the mean of
 * several with n steps in all; a pair has two of them. */
static double steps_against(double noise) {
    double times = 1.25 * sqrt(2) * (isfinite(noise) ? noise : 0) / pair_noise;
    return ceil(times * times);
}

bool judge_plan_for(double median_ms, double noise, uint64_t room, uint64_t seed,
                    struct judge_plan *ret) {
    if (!(median_ms > 0) || !isfinite(median_ms)) return false;
    double counted = ceil(fmin(JUDGE_BLOCK_MS / median_ms, JUDGE_COUNTED_MOST));
    counted = fmax(counted, JUDGE_COUNTED_LEAST);
    double couple_ms = 2 * (JUDGE_SKIP_STEPS + counted) * median_ms;
    double affordable = floor(JUDGE_NOISE_MS / couple_ms / JUDGE_PAIRS_MOST);
    double couples =
        fmin(ceil(steps_against(noise) / counted), fmin(affordable, JUDGE_COUPLES_MOST));
    struct judge_plan plan = {JUDGE_SKIP_STEPS + (unsigned)counted, (unsigned)fmax(couples, 1),
                              JUDGE_PAIRS_MOST, seed};
    while (plan.pairs > JUDGE_PAIRS_LEAST &&
           (double)judge_plan_length(&plan) * median_ms > JUDGE_LONGEST_MS)
        plan.pairs--;
    while (plan.couples > 1 && judge_plan_length(&plan) > room) plan.couples--;
    while (plan.pairs > JUDGE_PAIRS_FIRST && judge_plan_length(&plan) > room) plan.pairs--;
    if (judge_plan_length(&plan) > room) return false;
    *ret = plan;
    return true;
}

/* Pairs until the end of a stage. */
static unsigned pairs_until(const struct judge *judge, unsigned stage) {
    return stage + 1 < judge->stages ? looks[stage] : judge->plan.pairs;
}

static unsigned blocks_until(const struct judge *judge, unsigned stage) {
    return WARM_UPS + 2 * judge->plan.couples * pairs_until(judge, stage);
}

static unsigned first_block(const struct judge *judge) {
    return judge->stage ? blocks_until(judge, judge->stage - 1) : 0;
}

static unsigned behind_block(const struct judge *judge) {
    return blocks_until(judge, judge->stage);
}

/* As many couples of each stage begin with one side as with the other (a steady drift then
 * cancels), in random order (measured against strict fours, O C C O or C O O C: those make
 * neighbours rise and fall together under a drift, and the intervals too narrow). */
static void lay_out(struct judge *judge) {
    uint64_t state = judge->plan.seed;
    judge->sides[0] = SIDE_OTHER;
    judge->sides[1] = SIDE_CURRENT;
    for (unsigned stage = 0, from = WARM_UPS; stage < judge->stages; stage++) {
        enum judge_side first[COUPLES_MOST];
        unsigned count = (blocks_until(judge, stage) - from) / 2;
        enum judge_side odd = (enum judge_side)(random_next(&state) >> 63);
        for (unsigned i = 0; i < count; i++) first[i] = i % 2 ? 1 - odd : odd;
        for (unsigned i = count; i > 1; i--) {
            unsigned other = (unsigned)((random_next(&state) >> 32) * i >> 32);
            enum judge_side side = first[i - 1];
            first[i - 1] = first[other];
            first[other] = side;
        }
        for (unsigned i = 0; i < count; i++) {
            judge->sides[from + 2 * i] = first[i];
            judge->sides[from + 2 * i + 1] = 1 - first[i];
        }
        from += 2 * count;
    }
}

struct judge *judge_new(const struct judge_plan *plan, uint32_t other, uint32_t current) {
    assert(plan->pairs >= JUDGE_PAIRS_FIRST && plan->pairs <= JUDGE_PAIRS_MOST);
    assert(plan->couples >= 1 && plan->couples <= JUDGE_COUPLES_MOST);
    assert(plan->block_steps >= 3 && plan->block_steps <= JUDGE_COUNTED_MOST + JUDGE_SKIP_STEPS);
    struct judge *judge = mem_new(sizeof *judge);
    judge->plan = *plan;
    judge->keys[SIDE_OTHER] = other;
    judge->keys[SIDE_CURRENT] = current;
    judge->stages = 1;
    while (judge->stages < JUDGE_STAGES_MOST && looks[judge->stages - 1] < plan->pairs)
        judge->stages++;
    lay_out(judge);
    return judge;
}

struct judge *judge_free(struct judge *judge) {
    struct judged_rank *rank, *next;
    if (!judge) return NULL;
    HASH_ITER(hh, judge->ranks, rank, next) {
        HASH_DEL(judge->ranks, rank);
        free(rank->medians[0]);
        free(rank);
    }
    free(judge);
    return NULL;
}

static bool is_flip(const struct judge *judge, unsigned block) {
    return block == first_block(judge) || judge->sides[block] != judge->sides[block - 1];
}

void judge_schedule(const struct judge *judge, struct schedule *ret) {
    unsigned first = first_block(judge), behind = behind_block(judge);
    *ret = (struct schedule){.length = (uint64_t)(behind - first) * judge->plan.block_steps};
    for (unsigned block = first; block < behind; block++) {
        if (!is_flip(judge, block)) continue;
        ret->entries[ret->count].offset = (uint64_t)(block - first) * judge->plan.block_steps;
        ret->entries[ret->count++].side = judge->sides[block];
    }
    if (judge->sides[behind - 1] == SIDE_CURRENT) return;
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
    found->block = first_block(judge);
    unsigned blocks = blocks_until(judge, judge->stages - 1);
    double *medians = mem_array(SERIES * blocks, sizeof medians[0]);
    for (unsigned i = 0; i < SERIES * blocks; i++) medians[i] = NAN;
    for (unsigned i = 0; i < SERIES; i++) found->medians[i] = medians + i * blocks;
    HASH_ADD_INT(judge->ranks, rank, found);
    return found;
}

static double median_of(double *values, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (isnan(values[i])) return NAN;
    stats_sort(values, count);
    return stats_median(values, count);
}

static void close_block(const struct judge *judge, struct judged_rank *rank) {
    unsigned could = judge->plan.block_steps - (is_flip(judge, rank->block) ? JUDGE_SKIP_STEPS : 0);
    for (unsigned i = 0; i < SERIES && rank->count >= 2 && 2 * rank->count >= could; i++)
        rank->medians[i][rank->block] = median_of(rank->values[i], rank->count);
    rank->count = 0;
}

void judge_take(struct judge *judge, int number, uint64_t step, const struct judge_times *times,
                uint32_t variant, bool clean) {
    if (!judge->started || step < judge->start) return;
    struct judged_rank *rank = rank_of(judge, number);
    uint64_t index = step - judge->start;
    uint64_t block = first_block(judge) + index / judge->plan.block_steps;
    if (rank->over || block < rank->block) return;
    if (block > rank->block) close_block(judge, rank);
    if (block >= behind_block(judge)) {
        rank->over = true;
        return;
    }
    rank->block = (unsigned)block;
    bool skipped =
        is_flip(judge, rank->block) && index % judge->plan.block_steps < JUDGE_SKIP_STEPS;
    bool is_its = variant == judge->keys[judge->sides[block]];
    if (skipped || !clean || !(times->ms > 0) || !is_its) return;
    if (rank->count == judge->plan.block_steps) return;
    rank->values[0][rank->count] = times->ms;
    for (unsigned i = 0; i < SHARE_COUNT; i++) rank->values[1 + i][rank->count] = times->phases[i];
    rank->count++;
}

bool judge_is_over(const struct judge *judge, int number) {
    struct judged_rank *rank;
    HASH_FIND_INT(judge->ranks, &number, rank);
    return rank && rank->over;
}

enum couple { COUPLE_LEFT_OUT, COUPLE_UNTOLD, COUPLE_COUNTS };

/* Of the two blocks from here. Untold: it would count, but not of this series, which was not told
 * in it or is less than `phase_least` of the step. */
static enum couple couple_at(const struct judge *judge, const struct judged_rank *rank,
                             unsigned series, unsigned block, double *ret_log) {
    const double *medians = rank->medians[series] + block, *whole = rank->medians[0] + block;
    if (isnan(whole[0] + whole[1])) return COUPLE_LEFT_OUT;
    double least = phase_least * (whole[0] + whole[1]) / 2,
           log_ratio = log(medians[0] / medians[1]);
    if (series && !(medians[0] >= least && medians[1] >= least)) return COUPLE_UNTOLD;
    *ret_log = judge->sides[block] == SIDE_OTHER ? log_ratio : -log_ratio;
    return COUPLE_COUNTS;
}

/* Of the pairs that counted. 0 when this series is untold in one of them. */
static unsigned log_ratios(const struct judge *judge, const struct judged_rank *rank,
                           unsigned series, double *ret_logs) {
    unsigned count = 0, couples = judge->plan.couples;
    for (unsigned pair = 0; rank && pair < judge->plan.pairs; pair++) {
        unsigned counted = 0;
        double sum = 0, one = 0;
        for (unsigned i = 0; i < couples; i++) {
            unsigned block = WARM_UPS + 2 * (pair * couples + i);
            enum couple couple = couple_at(judge, rank, series, block, &one);
            if (couple == COUPLE_UNTOLD) return 0;
            if (couple == COUPLE_LEFT_OUT) continue;
            sum += one;
            counted++;
        }
        if (2 * counted >= couples) ret_logs[count++] = sum / counted;
    }
    return count;
}

static bool result_of(const struct judge *judge, const struct judged_rank *rank, unsigned series,
                      struct judge_result *ret, struct stats_interval *ret_interval) {
    double logs[JUDGE_PAIRS_MOST];
    unsigned count = log_ratios(judge, rank, series, logs);
    if (series == 0) ret->pairs = count;
    return stats_ratio(logs, count, errors[judge->stages - 1], logs, ret_interval);
}

static void look(const struct judge *judge, const struct judged_rank *rank, bool is_last,
                 struct judge_result *ret) {
    struct judge_result result = {0};
    result.has_ratio = result_of(judge, rank, 0, &result, &result.interval);
    for (unsigned i = 0; i < SHARE_COUNT && result.has_ratio; i++)
        result.has_phase[i] = result_of(judge, rank, 1 + i, &result, &result.phases[i]);
    if (result.has_ratio)
        result.within = exp(fmax(log(result.interval.high), -log(result.interval.low))) - 1;
    result.verdict = judge_verdict(result.has_ratio ? &result.interval : NULL, is_last);
    *ret = result;
}

void judge_result(const struct judge *judge, int number, struct judge_result *ret) {
    struct judged_rank *rank;
    HASH_FIND_INT(judge->ranks, &number, rank);
    look(judge, rank, true, ret);
}

bool judge_next(struct judge *judge) {
    struct judge_result result;
    unsigned unsure = 0;
    if (judge->stage + 1 == judge->stages) return false;
    for (const struct judged_rank *rank = judge->ranks; rank; rank = rank->hh.next) {
        look(judge, rank, false, &result);
        unsure += result.verdict == VERDICT_MEASURING;
    }
    if (10 * unsure <= HASH_COUNT(judge->ranks)) return false;
    judge->stage++;
    judge->started = false;
    for (struct judged_rank *rank = judge->ranks; rank; rank = rank->hh.next) {
        rank->over = false;
        rank->count = 0;
        rank->block = first_block(judge);
    }
    return true;
}

enum judge_verdict judge_verdict(const struct stats_interval *interval, bool is_last) {
    if (!interval) return VERDICT_MEASURING;
    double low = log(interval->low), high = log(interval->high);
    double farther = fmax(high, -low);
    if (farther < tie) return VERDICT_TIE;
    if (low > 0) return VERDICT_FASTER;
    if (high < 0) return VERDICT_SLOWER;
    return is_last && farther < tie_at_last ? VERDICT_TIE : VERDICT_MEASURING;
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
