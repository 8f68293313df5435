/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *values, size_t count) {
    if (count > 1) qsort(values, count, sizeof values[0], compare);
}

double stats_quantile(const double *sorted, size_t count, double part) {
    if (!count) return NAN;
    double at = part * (double)(count - 1);
    size_t below = (size_t)floor(at);
    if (below >= count - 1) return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_median(const double *sorted, size_t count) {
    return stats_quantile(sorted, count, 0.5);
}

static size_t trimmed(size_t count, double trim) {
    return (size_t)floor(trim * (double)count + 1e-9);
}

double stats_trimmed_mean(const double *sorted, size_t count, double trim) {
    size_t cut = trimmed(count, trim);
    if (count <= 2 * cut) return NAN;
    double sum = 0;
    for (size_t i = cut; i < count - cut; i++) sum += sorted[i];
    return sum / (double)(count - 2 * cut);
}

static double winsorised(const double *sorted, size_t count, size_t cut, size_t i) {
    return sorted[i < cut ? cut : i >= count - cut ? count - cut - 1 : i];
}

double stats_winsorised_variance(const double *sorted, size_t count, double trim) {
    size_t cut = trimmed(count, trim);
    if (count < 2 || count <= 2 * cut) return NAN;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += winsorised(sorted, count, cut, i);
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        double off = winsorised(sorted, count, cut, i) - mean;
        squares += off * off;
    }
    return squares / (double)(count - 1);
}

double stats_t95(size_t df) {
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                   2.447,  2.365, 2.306, 2.262, 2.228};
    if (df < 1) df = 1;
    if (df <= ARRAY_SIZE(table)) return table[df - 1];
    /* Cornish-Fisher expansion around the normal's 97.5 % point */
    double z = 1.959964, n = (double)df, z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
           (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

bool stats_ratio(const double *log_ratios, size_t count, double *scratch,
                 struct stats_interval *ret) {
    if (count < STATS_PAIRS_LEAST) return false;
    memmove(scratch, log_ratios, count * sizeof scratch[0]);
    stats_sort(scratch, count);
    size_t kept = count - 2 * trimmed(count, STATS_TRIM);
    double mean = stats_trimmed_mean(scratch, count, STATS_TRIM);
    double squares = stats_winsorised_variance(scratch, count, STATS_TRIM) * (double)(count - 1);
    double half = stats_t95(kept - 1) * sqrt(squares / (double)(kept * (kept - 1)));
    *ret = (struct stats_interval){exp(mean), exp(mean - half), exp(mean + half)};
    return true;
}
