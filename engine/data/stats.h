/* Statistics of step times: pure functions, no state, no allocation, any thread.
 *
 * What stands on a screen as "1.34 ± 0.02" is made here: log ratios of paired blocks, their mean
 * with a fifth trimmed off at each end, and a 95 % interval from the winsorised variance (Yuen
 * 1974; Tukey and McLaughlin 1963). A block that a garbage collection or another process fell into
 * can move neither far.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_STATS_H
#define INDUCTOP_DATA_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_TRIM 0.2 /* of the values at each end */

enum { STATS_PAIRS_LEAST = 5 }; /* below this, a fifth is nobody and the interval means little */

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

/* Two-sided 95 % point of Student's t: 12.706 for df 1, 1.96 for many. Within 1e-3 of the exact
 * value; df from 1. */
double stats_t95(size_t df);

/* The ratio that the log ratios tell, with its 95 % interval. `scratch` holds `count` values and is
 * overwritten; it may be `log_ratios` itself. False (and `ret` untouched) with less than
 * STATS_PAIRS_LEAST values. */
bool stats_ratio(const double *log_ratios, size_t count, double *scratch,
                 struct stats_interval *ret);

#endif
