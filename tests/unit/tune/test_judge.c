/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/tune/judge.h"
#include "engine/base/banned.h"

enum { EAGER = 11, CURRENT = 22, START = 1000 };

static const struct {
    double ms;
    uint64_t room;
    unsigned block_steps, pairs; /* 0: no plan */
} plans[] = {
    {12.5, UINT64_MAX, 5, 16}, /* 4 steps are 50 ms */
    {40, UINT64_MAX, 5, 16},
    {12.4, UINT64_MAX, 6, 16},
    {1, UINT64_MAX, 51, 16},
    {0.01, UINT64_MAX, 65, 16}, /* bounded */
    {352, UINT64_MAX, 5, 16},
    {360, UINT64_MAX, 5, 15}, /* a minute at most, but 8 pairs */
    {1000, UINT64_MAX, 5, 8},
    {100000, UINT64_MAX, 5, 8},
    {40, 170, 5, 16},
    {40, 169, 5, 15},
    {40, 70, 5, 6},
    {40, 69, 0, 0},
    {0, UINT64_MAX, 0, 0},
    {-1, UINT64_MAX, 0, 0},
    {NAN, UINT64_MAX, 0, 0},
    {INFINITY, UINT64_MAX, 0, 0},
};

static void test_plan_fits_the_step_time(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
        struct judge_plan plan = {0};
        bool is_made = judge_plan_for(plans[i].ms, plans[i].room, 1, &plan);
        if (is_made != (plans[i].pairs > 0) || plan.pairs != plans[i].pairs ||
            plan.block_steps != plans[i].block_steps)
            fail_msg("row %zu: %d, %u steps, %u pairs", i, is_made, plan.block_steps, plan.pairs);
        if (is_made) assert_true(judge_plan_length(&plan) <= plans[i].room);
    }
}

static enum judge_side side_at(const struct schedule *schedule, uint64_t offset) {
    size_t i = schedule->count - 1;
    while (schedule->entries[i].offset > offset) i--;
    return schedule->entries[i].side;
}

static void test_schedule_is_balanced_pairs(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct judge_plan plan = {5, (unsigned)(5 + seed % 12), seed};
        struct judge *judge = judge_new(&plan, EAGER, CURRENT);
        struct schedule schedule;
        judge_schedule(judge, &schedule);
        assert_true(schedule.count <= SCHEDULE_ENTRIES_MOST);
        assert_int_equal(schedule.entries[0].offset, 0);
        assert_int_equal(schedule.entries[0].side, SIDE_EAGER);
        assert_int_equal(schedule.entries[schedule.count - 1].side, SIDE_CURRENT);
        assert_int_equal(side_at(&schedule, schedule.length), SIDE_CURRENT);
        assert_int_equal(side_at(&schedule, 5), SIDE_CURRENT);
        for (size_t i = 1; i < schedule.count; i++) {
            assert_true(schedule.entries[i].offset > schedule.entries[i - 1].offset);
            assert_true(schedule.entries[i].side != schedule.entries[i - 1].side);
        }
        int eager_first = 0;
        for (unsigned pair = 0; pair < plan.pairs; pair++) {
            uint64_t offset = 5 * (2 + 2 * pair);
            assert_true(side_at(&schedule, offset) != side_at(&schedule, offset + 5));
            eager_first += side_at(&schedule, offset) == SIDE_EAGER;
        }
        assert_in_range(2 * eager_first, plan.pairs - 1, plan.pairs + 1);
        judge_free(judge);
    }
}

static void test_schedule_depends_on_the_seed_alone(void **state) {
    (void)state;
    struct schedule a, b, c;
    struct judge_plan plan = {5, 16, 7}, other = {5, 16, 8};
    struct judge *judge = judge_new(&plan, EAGER, CURRENT),
                 *same = judge_new(&plan, EAGER, CURRENT),
                 *unlike = judge_new(&other, EAGER, CURRENT);
    judge_schedule(judge, &a);
    judge_schedule(same, &b);
    judge_schedule(unlike, &c);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    judge_free(judge);
    judge_free(same);
    judge_free(unlike);
}

/* Runs a whole schedule. The time of a step is what `ms_at` says. */
struct run {
    struct judge *judge;
    struct schedule schedule;
    uint64_t random;
};

static void run_begin(struct run *run, unsigned pairs, uint64_t seed) {
    struct judge_plan plan = {5, pairs, seed};
    run->judge = judge_new(&plan, EAGER, CURRENT);
    run->random = seed;
    judge_schedule(run->judge, &run->schedule);
    judge_start(run->judge, START);
}

static void run_step(struct run *run, int rank, uint64_t i, double ms, bool clean) {
    enum judge_side side = side_at(&run->schedule, i);
    judge_take(run->judge, rank, START + i, ms, side == SIDE_EAGER ? EAGER : CURRENT, clean);
}

static double noise(struct run *run) {
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        run->random = run->random * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(run->random >> 40) / (1 << 24);
    }
    return sum - 6;
}

static void test_exact_ratio_from_exact_times(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 8, 3);
    judge_take(run.judge, 0, START - 1, 1e6, CURRENT, true);
    for (uint64_t i = 0; i < run.schedule.length; i++)
        run_step(&run, 0, i, side_at(&run.schedule, i) == SIDE_EAGER ? 42 : 30, true);
    assert_false(judge_is_over(run.judge, 0));
    run_step(&run, 0, run.schedule.length, 1e6, true);
    assert_true(judge_is_over(run.judge, 0));
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 8);
    assert_true(result.has_ratio);
    assert_true(fabs(result.interval.ratio - 1.4) < 1e-9);
    assert_true(result.interval.high - result.interval.low < 1e-9);
    assert_int_equal(result.verdict, VERDICT_FASTER);
    judge_result(run.judge, 1, &result);
    assert_int_equal(result.pairs, 0);
    assert_int_equal(result.verdict, VERDICT_MEASURING);
    judge_free(run.judge);
}

/* Whatever the steps that do not count say, it changes nothing. */
static void test_only_what_counts_counts(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 16, 4);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        bool is_eager = side_at(&run.schedule, i) == SIDE_EAGER;
        bool is_flip = i == 0 || side_at(&run.schedule, i - 1) != side_at(&run.schedule, i);
        double ms = is_eager ? 10 : 20;
        if (i < 10 || is_flip)
            run_step(&run, 0, i, 1e6, true); /* warm-up, first after a flip */
        else if (i % 5 == 2)
            run_step(&run, 0, i, 1e6, false); /* with a compile in it */
        else if (i % 5 == 3)
            judge_take(run.judge, 0, START + i, 1e6, is_eager ? CURRENT : EAGER,
                       true); /* not the block's */
        else
            run_step(&run, 0, i, ms, true);
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 16);
    assert_true(fabs(result.interval.ratio - 0.5) < 1e-9);
    assert_int_equal(result.verdict, VERDICT_SLOWER);
    judge_free(run.judge);
}

static void test_thin_block_takes_its_pair_along_on_that_rank(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 8, 5);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        bool is_thin =
            i / 5 == 4 || i / 5 == 9; /* a block of the second pair and one of the fourth */
        run_step(&run, 0, i, 10, !is_thin || i % 5 == 4);
        run_step(&run, 1, i, 10, true);
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 6);
    judge_result(run.judge, 1, &result);
    assert_int_equal(result.pairs, 8);
    assert_int_equal(result.verdict, VERDICT_TIE);
    judge_free(run.judge);
}

static void test_gaps_and_repeats_do_no_harm(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 8, 6);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        if (i >= 30 && i < 50) continue; /* lost: blocks 6 to 9, two pairs */
        run_step(&run, 0, i, 10, true);
        if (i == 60) run_step(&run, 0, 12, 1e6, true); /* late, of a closed block */
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 6);
    assert_true(fabs(result.interval.ratio - 1) < 1e-9);
    judge_free(run.judge);
}

static void test_no_ratio_below_five_pairs(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 8, 6);
    for (uint64_t i = 0; i < 10 + 4 * 10; i++) run_step(&run, 0, i, 10, true);
    run_step(&run, 0, 50, 10, true);
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 4);
    assert_false(result.has_ratio);
    assert_int_equal(result.verdict, VERDICT_MEASURING);
    judge_free(run.judge);
}

static const struct {
    double low, ratio, high;
    enum judge_verdict verdict;
} verdicts[] = {
    {1.30, 1.34, 1.38, VERDICT_FASTER},     {0.70, 0.75, 0.80, VERDICT_SLOWER},
    {0.995, 1.001, 1.007, VERDICT_TIE},     {1.001, 1.004, 1.007, VERDICT_TIE},
    {1.002, 1.006, 1.010, VERDICT_TIE},     {0.985, 1.005, 1.025, VERDICT_TIE},
    {0.90, 1.001, 1.11, VERDICT_MEASURING}, {0.99, 1.02, 1.05, VERDICT_MEASURING},
    {1.001, 1.01, 1.02, VERDICT_FASTER},    {0.98, 0.99, 0.999, VERDICT_SLOWER},
};

static void test_verdicts(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        struct stats_interval interval = {verdicts[i].ratio, verdicts[i].low, verdicts[i].high};
        enum judge_verdict verdict = judge_verdict(&interval);
        if (verdict != verdicts[i].verdict) fail_msg("row %zu: %s", i, judge_verdict_name(verdict));
    }
    assert_int_equal(judge_verdict(NULL), VERDICT_MEASURING);
}

/* The machinery only, with wide bounds: the honest figures are in tests/bench/statistics.c. */
static void test_equal_sides_are_seldom_told_apart_and_five_per_cent_is_found(void **state) {
    (void)state;
    int holds = 0, found = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct judge_result result;
        struct run run, gain;
        run_begin(&run, 16, seed);
        run_begin(&gain, 16, seed);
        for (uint64_t i = 0; i <= run.schedule.length; i++) {
            double ms = 20 * exp(0.02 * noise(&run)) * (1 + (double)i / 1000);
            run_step(&run, 0, i, ms, true);
            run_step(&gain, 0, i, side_at(&gain.schedule, i) == SIDE_EAGER ? 1.05 * ms : ms, true);
        }
        judge_result(run.judge, 0, &result);
        holds += result.interval.low <= 1 && result.interval.high >= 1;
        judge_result(gain.judge, 0, &result);
        found += result.verdict == VERDICT_FASTER;
        judge_free(run.judge);
        judge_free(gain.judge);
    }
    assert_in_range(holds, 180, 200);
    assert_in_range(found, 195, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_fits_the_step_time),
        cmocka_unit_test(test_schedule_is_balanced_pairs),
        cmocka_unit_test(test_schedule_depends_on_the_seed_alone),
        cmocka_unit_test(test_exact_ratio_from_exact_times),
        cmocka_unit_test(test_only_what_counts_counts),
        cmocka_unit_test(test_thin_block_takes_its_pair_along_on_that_rank),
        cmocka_unit_test(test_gaps_and_repeats_do_no_harm),
        cmocka_unit_test(test_no_ratio_below_five_pairs),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_equal_sides_are_seldom_told_apart_and_five_per_cent_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
