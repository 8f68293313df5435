/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tests/support/judged.h"
#include "engine/base/banned.h"

enum { OTHER = 11, CURRENT = 22, START = 1000 };

static const struct {
    double ms, noise;
    uint64_t room;
    unsigned block_steps, couples, pairs; /* 0: no plan */
} plans[] = {
    {12.5, 0, UINT64_MAX, 5, 1, 16}, /* 4 steps are 50 ms */
    {40, 0, UINT64_MAX, 5, 1, 16},
    {12.4, 0, UINT64_MAX, 6, 1, 16},
    {1, 0, UINT64_MAX, 51, 1, 16},
    {0.01, 0, UINT64_MAX, 65, 1, 16},   /* bounded */
    {40, 0.04, UINT64_MAX, 5, 4, 16},   /* (1.25 * sqrt 2 * 4 / 2)^2 steps */
    {40, 0.5, UINT64_MAX, 5, 18, 16},   /* all stages within two minutes */
    {12.5, 0.5, UINT64_MAX, 5, 32, 16}, /* bounded */
    {40, NAN, UINT64_MAX, 5, 1, 16},
    {3000, 0.5, UINT64_MAX, 5, 1, 16},
    {3600, 0, UINT64_MAX, 5, 1, 15}, /* ten minutes at most, but 8 pairs */
    {100000, 0, UINT64_MAX, 5, 1, 8},
    {40, 0.5, 1000, 5, 6, 16}, /* rather fewer couples than fewer pairs */
    {40, 0.5, 169, 5, 1, 15},
    {40, 0, 170, 5, 1, 16},
    {40, 0, 169, 5, 1, 15},
    {40, 0, 70, 5, 1, 6},
    {40, 0, 69, 0, 0, 0},
    {0, 0, UINT64_MAX, 0, 0, 0},
    {-1, 0, UINT64_MAX, 0, 0, 0},
    {NAN, 0, UINT64_MAX, 0, 0, 0},
    {INFINITY, 0, UINT64_MAX, 0, 0, 0},
};

static void test_plan_fits_the_step_time_and_its_noise(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
        struct judge_plan plan = {0};
        bool is_made = judge_plan_for(plans[i].ms, plans[i].noise, plans[i].room, 1, &plan);
        if (is_made != (plans[i].pairs > 0) || plan.pairs != plans[i].pairs ||
            plan.block_steps != plans[i].block_steps || plan.couples != plans[i].couples)
            fail_msg("row %zu: %d, %u steps, %u couples, %u pairs", i, is_made, plan.block_steps,
                     plan.couples, plan.pairs);
        if (is_made) assert_true(judge_plan_length(&plan) <= plans[i].room);
    }
}

static enum judge_side side_at(const struct schedule *schedule, uint64_t offset) {
    size_t i = schedule->count - 1;
    while (schedule->entries[i].offset > offset) i--;
    return schedule->entries[i].side;
}

/* A rank of which nothing is sure: the judge goes through all its stages. */
static void tell_nothing(struct judge *judge, const struct schedule *schedule) {
    judge_start(judge, START);
    judge_take(judge, 0, START + schedule->length, &(struct judge_times){.ms = 1}, CURRENT, true);
}

static void test_each_stage_is_balanced_couples(void **state) {
    (void)state;
    static const unsigned looks[] = {6, 10, 16};
    for (uint64_t seed = 0; seed < 500; seed++) {
        unsigned many = 1 + (unsigned)(seed % JUDGE_COUPLES_MOST);
        struct judge_plan plan = {5, many, (unsigned)(6 + seed % 11), seed};
        struct judge *judge = judge_new(&plan, OTHER, CURRENT);
        for (unsigned stage = 0, before = 0; before < plan.pairs; stage++) {
            struct schedule schedule;
            unsigned until = looks[stage] < plan.pairs ? looks[stage] : plan.pairs;
            unsigned warm_up = stage ? 0 : 2, couples = many * (until - before);
            judge_schedule(judge, &schedule);
            assert_true(schedule.count <= SCHEDULE_ENTRIES_MOST);
            assert_int_equal(schedule.length, 5 * (warm_up + 2 * couples));
            assert_int_equal(schedule.entries[0].offset, 0);
            assert_int_equal(schedule.entries[schedule.count - 1].side, SIDE_CURRENT);
            assert_int_equal(side_at(&schedule, schedule.length), SIDE_CURRENT);
            if (warm_up) {
                assert_int_equal(side_at(&schedule, 0), SIDE_OTHER);
                assert_int_equal(side_at(&schedule, 5), SIDE_CURRENT);
            }
            for (size_t i = 1; i < schedule.count; i++) {
                assert_true(schedule.entries[i].offset > schedule.entries[i - 1].offset);
                assert_true(schedule.entries[i].side != schedule.entries[i - 1].side);
            }
            int other_first = 0;
            for (unsigned couple = 0; couple < couples; couple++) {
                uint64_t offset = 5 * (warm_up + 2 * couple);
                assert_true(side_at(&schedule, offset) != side_at(&schedule, offset + 5));
                other_first += side_at(&schedule, offset) == SIDE_OTHER;
            }
            assert_in_range(2 * other_first, couples - 1, couples + 1);
            tell_nothing(judge, &schedule);
            assert_true(judge_is_over(judge, 0));
            assert_int_equal(judge_next(judge), until < plan.pairs);
            before = until;
        }
        judge_free(judge);
    }
}

static void test_schedule_depends_on_the_seed_alone(void **state) {
    (void)state;
    struct schedule a, b, c;
    struct judge_plan plan = {5, 1, 16, 7}, other = {5, 1, 16, 8};
    struct judge *judge = judge_new(&plan, OTHER, CURRENT),
                 *same = judge_new(&plan, OTHER, CURRENT),
                 *unlike = judge_new(&other, OTHER, CURRENT);
    judge_schedule(judge, &a);
    judge_schedule(same, &b);
    judge_schedule(unlike, &c);
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
    judge_free(judge);
    judge_free(same);
    judge_free(unlike);
}

/* Runs stage after stage, each schedule to the step behind it. */
struct run {
    struct judge *judge;
    struct schedule schedule;
};

static void run_of(struct run *run, unsigned couples, unsigned pairs, uint64_t seed) {
    struct judge_plan plan = {5, couples, pairs, seed};
    run->judge = judge_new(&plan, OTHER, CURRENT);
    judge_schedule(run->judge, &run->schedule);
    judge_start(run->judge, START);
}

static void run_begin(struct run *run, unsigned pairs, uint64_t seed) {
    run_of(run, 1, pairs, seed);
}

static bool run_next(struct run *run) {
    if (!judge_next(run->judge)) return false;
    judge_schedule(run->judge, &run->schedule);
    judge_start(run->judge, START);
    return true;
}

static void take(struct run *run, int rank, uint64_t i, double ms, uint32_t variant, bool clean) {
    struct judge_times times = {.ms = ms, .phases = {NAN, ms / 2, NAN, ms / 1000}};
    judge_take(run->judge, rank, START + i, &times, variant, clean);
}

static void run_step(struct run *run, int rank, uint64_t i, double ms, bool clean) {
    enum judge_side side = side_at(&run->schedule, i);
    take(run, rank, i, ms, side == SIDE_OTHER ? OTHER : CURRENT, clean);
}

static void test_exact_ratio_from_exact_times(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 8, 3);
    judge_take(run.judge, 0, START - 1, &(struct judge_times){.ms = 1e6}, CURRENT, true);
    for (uint64_t i = 0; i < run.schedule.length; i++)
        run_step(&run, 0, i, side_at(&run.schedule, i) == SIDE_OTHER ? 42 : 30, true);
    assert_false(judge_is_over(run.judge, 0));
    run_step(&run, 0, run.schedule.length, 1e6, true);
    assert_true(judge_is_over(run.judge, 0));
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 6);
    assert_true(result.has_ratio);
    assert_true(fabs(result.interval.ratio - 1.4) < 1e-9);
    assert_true(result.interval.high - result.interval.low < 1e-9);
    assert_true(fabs(result.within - 0.4) < 1e-9);
    assert_int_equal(result.verdict, VERDICT_FASTER);
    assert_false(judge_next(run.judge)); /* sure at the first look */
    assert_false(result.has_phase[SHARE_DATA]);      /* not told */
    assert_false(result.has_phase[SHARE_OPTIMIZER]); /* less than a hundredth of the step */
    assert_true(result.has_phase[SHARE_FORWARD]);
    assert_true(fabs(result.phases[SHARE_FORWARD].ratio - 1.4) < 1e-9);
    judge_result(run.judge, 1, &result);
    assert_int_equal(result.pairs, 0);
    assert_int_equal(result.verdict, VERDICT_MEASURING);
    judge_free(run.judge);
}

static void test_a_thousand_times_slower_is_slower(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 16, 3);
    for (uint64_t i = 0; i <= run.schedule.length; i++)
        run_step(&run, 0, i, side_at(&run.schedule, i) == SIDE_OTHER ? 1 : 1000, true);
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 6);
    assert_int_equal(result.verdict, VERDICT_SLOWER);
    assert_true(fabs(result.interval.ratio - 0.001) < 1e-9);
    judge_free(run.judge);
}

/* Whatever the steps that do not count say, it changes nothing. */
static void test_only_what_counts_counts(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 6, 4);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        bool is_other = side_at(&run.schedule, i) == SIDE_OTHER;
        bool is_flip = i == 0 || side_at(&run.schedule, i - 1) != side_at(&run.schedule, i);
        double ms = is_other ? 10 : 20;
        if (i < 10 || is_flip)
            run_step(&run, 0, i, 1e6, true); /* warm-up, first after a flip */
        else if (i % 5 == 2)
            run_step(&run, 0, i, 1e6, false); /* with a compile in it */
        else if (i % 5 == 3)
            take(&run, 0, i, 1e6, is_other ? CURRENT : OTHER, true); /* not the block's */
        else
            run_step(&run, 0, i, ms, true);
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 6);
    assert_true(fabs(result.interval.ratio - 0.5) < 1e-9);
    assert_int_equal(result.verdict, VERDICT_SLOWER);
    judge_free(run.judge);
}

/* Two ranks; the first loses pairs in the first stage, so that its look comes with less. */
static void test_thin_block_takes_its_pair_along_on_that_rank(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 16, 5);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        bool is_thin = i / 5 == 4 || i / 5 == 9; /* a block of the second pair, one of the fourth */
        run_step(&run, 0, i, 10, !is_thin || i % 5 == 4);
        run_step(&run, 1, i, 10, true);
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 4);
    assert_false(result.has_ratio); /* less than five */
    assert_int_equal(result.verdict, VERDICT_MEASURING);
    judge_result(run.judge, 1, &result);
    assert_int_equal(result.pairs, 6);
    assert_int_equal(result.verdict, VERDICT_TIE);
    assert_true(run_next(&run)); /* for the first */
    for (uint64_t i = 0; i <= run.schedule.length; i++)
        for (int rank = 0; rank < 2; rank++) run_step(&run, rank, i, 10, true);
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 8);
    assert_int_equal(result.verdict, VERDICT_TIE);
    judge_result(run.judge, 1, &result);
    assert_int_equal(result.pairs, 10);
    assert_false(run_next(&run));
    judge_free(run.judge);
}

/* 4 couples a pair: one that is thin is left out alone, with three of them their pair goes. */
static void test_a_pair_is_the_mean_of_the_couples_that_count(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_of(&run, 4, 6, 8);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        uint64_t couple = i < 10 ? 0 : (i - 10) / 10;
        bool is_thin = i >= 10 && (couple == 1 || (couple >= 4 && couple < 7)); /* of the first, of the second pair */
        double drift = exp2((double)couple);                                    /* between couples: cancels */
        run_step(&run, 0, i, drift * (is_thin ? 1e6 : side_at(&run.schedule, i) == SIDE_OTHER ? 42 : 30), !is_thin);
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 5);
    assert_true(fabs(result.interval.ratio - 1.4) < 1e-9);
    assert_true(result.interval.high - result.interval.low < 1e-9);
    assert_true(fabs(result.phases[SHARE_FORWARD].ratio - 1.4) < 1e-9);
    judge_free(run.judge);
}

static void test_gaps_and_repeats_do_no_harm(void **state) {
    (void)state;
    struct run run;
    struct judge_result result;
    run_begin(&run, 6, 6);
    for (uint64_t i = 0; i <= run.schedule.length; i++) {
        if (i >= 30 && i < 40) continue; /* lost: blocks 6 and 7, a pair */
        run_step(&run, 0, i, 10, true);
        if (i == 60) run_step(&run, 0, 12, 1e6, true); /* late, of a closed block */
    }
    judge_result(run.judge, 0, &result);
    assert_int_equal(result.pairs, 5);
    assert_true(fabs(result.interval.ratio - 1) < 1e-9);
    judge_free(run.judge);
}

/* One of ten that cannot be told holds nobody up, two do. */
static void test_a_straggler_among_many_does_not_go_on(void **state) {
    (void)state;
    for (int unsure = 1; unsure <= 2; unsure++) {
        struct run run;
        run_begin(&run, 16, 7);
        for (uint64_t i = 0; i <= run.schedule.length; i++)
            for (int rank = 0; rank < 10; rank++) run_step(&run, rank, i, 10, rank >= unsure);
        assert_int_equal(run_next(&run), unsure == 2);
        judge_free(run.judge);
    }
}

static const struct {
    double low, ratio, high;
    enum judge_verdict verdict, at_last;
} verdicts[] = {
    {1.30, 1.34, 1.38, VERDICT_FASTER, VERDICT_FASTER},
    {0.70, 0.75, 0.80, VERDICT_SLOWER, VERDICT_SLOWER},
    {0.995, 1.001, 1.007, VERDICT_TIE, VERDICT_TIE},
    {1.001, 1.004, 1.007, VERDICT_TIE, VERDICT_TIE}, /* not the same, and nobody cares */
    {1.002, 1.006, 1.010, VERDICT_FASTER, VERDICT_FASTER},
    {0.985, 1.005, 1.025, VERDICT_MEASURING, VERDICT_TIE},
    {0.985, 1.005, 1.045, VERDICT_MEASURING, VERDICT_MEASURING},
    {0.955, 0.985, 1.005, VERDICT_MEASURING, VERDICT_MEASURING},
    {0.90, 1.001, 1.11, VERDICT_MEASURING, VERDICT_MEASURING},
    {0.98, 0.99, 0.999, VERDICT_SLOWER, VERDICT_SLOWER},
};

static void test_verdicts(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        struct stats_interval interval = {verdicts[i].ratio, verdicts[i].low, verdicts[i].high};
        enum judge_verdict verdict = judge_verdict(&interval, false);
        enum judge_verdict at_last = judge_verdict(&interval, true);
        if (verdict != verdicts[i].verdict || at_last != verdicts[i].at_last)
            fail_msg("row %zu: %s, %s", i, judge_verdict_name(verdict), judge_verdict_name(at_last));
    }
    assert_int_equal(judge_verdict(NULL, true), VERDICT_MEASURING);
}

/* The goals, in short; the figures of many more series are in tests/bench/statistics.c. What is too noisy is never wrong. */
static void test_equal_sides_are_seldom_told_apart_and_five_per_cent_is_found(void **state) {
    (void)state;
    enum { SERIES = 300 };
    int usual = 0, wrong = 0;
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
        struct tally same = judged_many(&worlds[i], 1, SERIES);
        struct tally slow = judged_many(&worlds[i], 1 / 1.05, SERIES);
        bool is_usual = same.width < 0.018; /* half the interval: what a usual job has */
        wrong += same.faster + same.slower;
        if (slow.faster > SERIES / 100) fail_msg("%s: slower called faster", worlds[i].name);
        usual += is_usual;
        if (!is_usual) continue;
        if (slow.slower < SERIES * 99 / 100 || slow.early < SERIES / 2)
            fail_msg("%s: found %d, %d early", worlds[i].name, slow.slower, slow.early);
        if (same.tie < SERIES * 9 / 10) fail_msg("%s: %d ties", worlds[i].name, same.tie);
    }
    assert_in_range(wrong, 0, SERIES * ARRAY_SIZE(worlds) / 20);
    assert_in_range(usual, 8, ARRAY_SIZE(worlds));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_fits_the_step_time_and_its_noise),
        cmocka_unit_test(test_each_stage_is_balanced_couples),
        cmocka_unit_test(test_schedule_depends_on_the_seed_alone),
        cmocka_unit_test(test_exact_ratio_from_exact_times),
        cmocka_unit_test(test_a_thousand_times_slower_is_slower),
        cmocka_unit_test(test_only_what_counts_counts),
        cmocka_unit_test(test_thin_block_takes_its_pair_along_on_that_rank),
        cmocka_unit_test(test_a_pair_is_the_mean_of_the_couples_that_count),
        cmocka_unit_test(test_gaps_and_repeats_do_no_harm),
        cmocka_unit_test(test_a_straggler_among_many_does_not_go_on),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_equal_sides_are_seldom_told_apart_and_five_per_cent_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
