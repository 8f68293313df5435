/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

static const double pi = 3.14159265358979323846;

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

/* P(|T| <= t), the finite sums over powers of cos(theta), theta = atan(t / sqrt(df)), that the
 * integral of the density has for whole df. */
static double t_within(size_t df, double t) {
    double theta = atan(t / sqrt((double)df)), c = cos(theta), sum = 0, term = df % 2 ? c : 1;
    for (size_t k = df % 2 ? 3 : 2; k <= df; k += 2) {
        sum += term;
        term *= c * c * (double)(k - 1) / (double)k;
    }
    if (df % 2) return 2 / pi * (theta + sin(theta) * sum);
    return sin(theta) * sum;
}

double stats_t(size_t df, double p) {
    double low = 0, high = 1;
    if (df < 1) df = 1;
    while (t_within(df, high) < 1 - p && high < 1e12) high *= 2;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (t_within(df, middle) < 1 - p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

bool stats_ratio(const double *log_ratios, size_t count, double p, double *scratch,
                 struct stats_interval *ret) {
    if (count < STATS_PAIRS_LEAST) return false;
    memmove(scratch, log_ratios, count * sizeof scratch[0]);
    stats_sort(scratch, count);
    size_t kept = count - 2 * trimmed(count, STATS_TRIM);
    double mean = stats_trimmed_mean(scratch, count, STATS_TRIM);
    double squares = stats_winsorised_variance(scratch, count, STATS_TRIM) * (double)(count - 1);
    double half = stats_t(kept - 1, p) * sqrt(squares / (double)(kept * (kept - 1)));
    *ret = (struct stats_interval){exp(mean), exp(mean - half), exp(mean + half)};
    return true;
}

double stats_break_even(double compile_s, double ratio, double ms) {
    double gained_ms = (ratio - 1) * ms; /* a step */
    return gained_ms > 0 ? fmax(compile_s, 0) * 1e3 / gained_ms : NAN;
}
