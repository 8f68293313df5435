/* Statistics of step times: pure functions, no state, no allocation, any thread.
 *
 * What stands on a screen as "1.34 ± 0.02" is made here: log ratios of paired blocks, their mean
 * with a tenth trimmed off at each end, and an interval from the winsorised variance (Yuen 1974;
 * Tukey and McLaughlin 1963). From ten pairs on, one that a garbage collection or another process
 * fell into can move neither far; with less it makes the interval wide.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_STATS_H
#define INDUCTOP_DATA_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_TRIM 0.1 /* of the values at each end */

enum { STATS_PAIRS_LEAST = 5 }; /* below this the interval means little */

struct stats_interval {
    double ratio, low, high; /* low <= ratio <= high, all above 0 */
};

/* Sorts in place; NaN is not allowed. */
void stats_sort(double *values, size_t count);

/* Of sorted values; NaN without any. The quantile interpolates between neighbours (type 7 of
 * Hyndman and Fan). */
double stats_median(const double *sorted, size_t count);
double stats_quantile(const double *sorted, size_t count, double part);

/* Mean of sorted values without the floor(trim * count) smallest and largest; NaN when nothing is
 * left. */
double stats_trimmed_mean(const double *sorted, size_t count, double trim);

/* Variance (n - 1) of sorted values, the floor(trim * count) smallest and largest set to their
 * nearest neighbour that stays. NaN below two values. */
double stats_winsorised_variance(const double *sorted, size_t count, double trim);

/* Student's t: the point that a value is farther off than, on either side, with probability `p`.
 * 12.706 for df 1 and p 0.05. df from 1, p between 1e-9 and 1. */
double stats_t(size_t df, double p);

/* The ratio that the log ratios tell, with the interval that misses it with probability `p`. `scratch` holds `count` values and is
 * overwritten; it may be `log_ratios` itself. False (and `ret` untouched) with less than
 * STATS_PAIRS_LEAST values. */
bool stats_ratio(const double *log_ratios, size_t count, double p, double *scratch,
                 struct stats_interval *ret);

/* Steps after which `compile_s` seconds of compiling are gained back by steps of `ms` that are
 * `ratio` times as fast as they would be without; NaN when they gain nothing or a figure is not
 * known. */
double stats_break_even(double compile_s, double ratio, double ms);

#endif
