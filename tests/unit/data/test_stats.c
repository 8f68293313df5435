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
    double t;
} points[] = {
    {1, 12.7062}, {2, 4.3027},  {3, 3.1824},  {5, 2.5706},  {9, 2.2622},  {10, 2.2281},
    {11, 2.2010}, {15, 2.1314}, {20, 2.0860}, {30, 2.0423}, {60, 2.0003}, {1000, 1.9623},
};

static void test_t_points(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(points); i++)
        NEAR(stats_t95(points[i].df), points[i].t, 1e-3);
}

static void test_ratio_interval_by_hand(void **state) {
    (void)state;
    /* n 5, one off each end: mean of 0.1 0.2 0.3; winsorised 0.1 0.1 0.2 0.3 0.3, variance 0.01; 3
     * kept, t for 2 */
    double logs[] = {9, 0.2, 0.1, 0.3, -9}, scratch[5];
    struct stats_interval interval;
    assert_true(stats_ratio(logs, 5, scratch, &interval));
    double error = sqrt(0.01 * (5 - 1) / (3 * (3 - 1)));
    NEAR(interval.ratio, exp(0.2), 1e-12);
    NEAR(interval.low, exp(0.2 - 4.303 * error), 1e-12);
    NEAR(interval.high, exp(0.2 + 4.303 * error), 1e-12);
    NEAR(logs[0], 9, 0);
}

static void test_ratio_needs_pairs(void **state) {
    (void)state;
    double logs[] = {0.1, 0.1, 0.1, 0.1, 0.1};
    struct stats_interval interval = {.ratio = 7};
    assert_false(stats_ratio(logs, STATS_PAIRS_LEAST - 1, logs, &interval));
    NEAR(interval.ratio, 7, 0);
    assert_true(stats_ratio(logs, STATS_PAIRS_LEAST, logs, &interval));
    NEAR(interval.low, exp(0.1), 1e-12);
    NEAR(interval.high, exp(0.1), 1e-12);
}

static void test_one_wild_pair_does_not_move_the_ratio(void **state) {
    (void)state;
    double logs[10] = {0.29, 0.3, 0.31, 0.28, 0.3, 0.32, 0.3, 0.29, 0.31, 5};
    struct stats_interval interval;
    assert_true(stats_ratio(logs, 10, logs, &interval));
    NEAR(interval.ratio, exp(0.3), 0.01);
    assert_true(interval.high < exp(0.33));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_trimmed_and_winsorised),
        cmocka_unit_test(test_t_points),
        cmocka_unit_test(test_ratio_interval_by_hand),
        cmocka_unit_test(test_ratio_needs_pairs),
        cmocka_unit_test(test_one_wild_pair_does_not_move_the_ratio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
