/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/data/stats.h"
#include "engine/base/banned.h"

#define NEAR(a, b, within)                                                                         \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (within))) fail_msg("%s is %.9g, not %.9g", #a, a_, b_);            \
    } while (0)

static const struct {
    double values[10];
    size_t count;
    double part, result;
} quantiles[] = {
    {{4}, 1, 0.5, 4},
    {{1, 2}, 2, 0.5, 1.5},
    {{3, 1, 2}, 3, 0.5, 2},
    {{4, 3, 2, 1}, 4, 0.5, 2.5},
    {{1, 2, 3, 4}, 4, 0, 1},
    {{1, 2, 3, 4}, 4, 1, 4},
    {{1, 2, 3, 4}, 4, 0.25, 1.75},
    {{1, 2, 3, 4, 5}, 5, 0.9, 4.6},
};

static void test_quantiles(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
        double values[10];
        memcpy(values, quantiles[i].values, sizeof values);
        stats_sort(values, quantiles[i].count);
        NEAR(stats_quantile(values, quantiles[i].count, quantiles[i].part), quantiles[i].result,
             1e-12);
        if (quantiles[i].part == 0.5)
            NEAR(stats_median(values, quantiles[i].count), quantiles[i].result, 1e-12);
    }
    assert_true(isnan(stats_median(NULL, 0)));
}

/* Worked by hand: 3 to 8 stay; winsorised 3 3 3 4 5 6 7 8 8 8. */
static void test_trimmed_and_winsorised(void **state) {
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 100};
    NEAR(stats_trimmed_mean(x, 10, 0.2), 5.5, 1e-12);
    NEAR(stats_trimmed_mean(x, 10, 0), 14.5, 1e-12);
    NEAR(stats_winsorised_variance(x, 10, 0.2), 42.5 / 9, 1e-12);
    NEAR(stats_winsorised_variance((double[]){1, 2, 3, 4, 5}, 5, 0), 2.5, 1e-12);
    assert_true(isnan(stats_trimmed_mean(x, 0, 0.2)));
    assert_true(isnan(stats_winsorised_variance(x, 1, 0.2)));
}

static const struct {
    size_t df;
    double p, t;
} points[] = {
    {1, 0.05, 12.70620}, {2, 0.05, 4.30265},  {3, 0.05, 3.18245},    {5, 0.05, 2.57058},
    {9, 0.05, 2.26216},  {10, 0.05, 2.22814}, {15, 0.05, 2.13145},   {30, 0.05, 2.04227},
    {60, 0.05, 2.00030}, {1, 0.01, 63.65674}, {2, 0.01, 9.92484},    {5, 0.02, 3.36493},
    {9, 0.02, 2.82144},  {13, 0.02, 2.65031}, {100000, 0.05, 1.95999},
};

static void test_t_points(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(points); i++)
        NEAR(stats_t(points[i].df, points[i].p), points[i].t, 1e-5);
}

static void test_break_even(void **state) {
    (void)state;
    NEAR(stats_break_even(12, 1.5, 20), 1200, 1e-9); /* 10 ms a step */
    NEAR(stats_break_even(0, 1.5, 20), 0, 0);
    NEAR(stats_break_even(-3, 1.5, 20), 0, 0); /* it compiled less than what it is compared with */
    assert_true(isnan(stats_break_even(12, 1, 20)));
    assert_true(isnan(stats_break_even(12, 0.9, 20)));
    assert_true(isnan(stats_break_even(12, NAN, 20)));
    assert_true(isnan(stats_break_even(12, 1.5, NAN)));
}

static void test_ratio_interval_by_hand(void **state) {
    (void)state;
    /* n 10, one off each end: 0.1 to 0.8; winsorised 0.1 0.1 0.2 ... 0.7 0.8 0.8; 8 kept, t for 7 */
    double logs[] = {9, 0.2, 0.1, 0.3, -9, 0.5, 0.4, 0.7, 0.6, 0.8}, scratch[10];
    struct stats_interval interval;
    assert_true(stats_ratio(logs, 10, 0.05, scratch, &interval));
    double squares = 2 * (0.05 * 0.05 + 0.15 * 0.15 + 0.25 * 0.25 + 2 * 0.35 * 0.35);
    double error = sqrt(squares / (8 * (8 - 1)));
    NEAR(interval.ratio, exp(0.45), 1e-12);
    NEAR(interval.low, exp(0.45 - 2.364624 * error), 1e-6);
    NEAR(interval.high, exp(0.45 + 2.364624 * error), 1e-6);
    NEAR(logs[0], 9, 0);
}

static void test_ratio_needs_pairs(void **state) {
    (void)state;
    double logs[] = {0.1, 0.1, 0.1, 0.1, 0.1};
    struct stats_interval interval = {.ratio = 7};
    assert_false(stats_ratio(logs, STATS_PAIRS_LEAST - 1, 0.05, logs, &interval));
    NEAR(interval.ratio, 7, 0);
    assert_true(stats_ratio(logs, STATS_PAIRS_LEAST, 0.05, logs, &interval));
    NEAR(interval.low, exp(0.1), 1e-12);
    NEAR(interval.high, exp(0.1), 1e-12);
}

static void test_one_wild_pair_does_not_move_the_ratio(void **state) {
    (void)state;
    double logs[10] = {0.29, 0.3, 0.31, 0.28, 0.3, 0.32, 0.3, 0.29, 0.31, 5};
    struct stats_interval interval;
    assert_true(stats_ratio(logs, 10, 0.05, logs, &interval));
    NEAR(interval.ratio, exp(0.3), 0.01);
    assert_true(interval.high < exp(0.33));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_trimmed_and_winsorised),
        cmocka_unit_test(test_t_points),
        cmocka_unit_test(test_break_even),
        cmocka_unit_test(test_ratio_interval_by_hand),
        cmocka_unit_test(test_ratio_needs_pairs),
        cmocka_unit_test(test_one_wild_pair_does_not_move_the_ratio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
