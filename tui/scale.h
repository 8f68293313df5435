/* Scales for charts. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_SCALE_H
#define INDUCTOP_TUI_SCALE_H

#include <stddef.h>

struct scale {
    double low, high; /* low < high, both multiples of tick */
    double tick;
    int digits; /* behind the point, for figures on the axis */
};

/* A scale that holds almost all values, in steps of 1, 2 or 5 so that it seldom moves; single
 * values far above the rest do not count. Begins at 0 unless all values are at least half of the
 * largest, and is never so narrow that noise looks like news. At most one tick for two of `rows`,
 * or a few more. The values are sorted. */
struct scale scale_of(double *values, size_t count, int rows);

/* The next of 1, 2, 5, 10, 20, ... that is at least `size`. */
double scale_nice(double size);

/* Digits behind the point that figures in steps of `tick` need. */
int scale_digits(double tick);

void scale_sort(double *values, size_t count);

#endif
