/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/scale.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/banned.h"

/* A value up to this many medians always counts; above, only when it is not rare. The very lowest
 * do not count either, so that one slip does not move the whole scale. */
static const double far_above = 2.5, not_rare = 0.9, slips = 0.02;

/* Are all values at least `close` of the largest, the scale begins near the smallest, so that a few
 * per cent can be seen, but holds at least what lies above `calm` of the largest, so that noise
 * looks like noise. Else it begins at 0. */
static const double close = 0.5, calm = 0.8;

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void scale_sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
}

double scale_nice(double size) {
    static const double steps[] = {1, 2, 5, 10};
    if (!(size > 0) || !isfinite(size)) return 1;
    double power = pow(10, floor(log10(size)));
    for (int i = 0; i < 4; i++)
        if (size <= steps[i] * power * (1 + 1e-9)) return steps[i] * power;
    return 10 * power;
}

int scale_digits(double tick) {
    int digits = (int)ceil(-log10(tick) - 1e-9);
    return digits < 0 ? 0 : digits > 6 ? 6 : digits;
}

static double highest(const double *values, size_t count) {
    double median = values[count / 2], high = values[(size_t)((double)(count - 1) * not_rare)];
    for (size_t i = count; i-- > 0;)
        if (values[i] <= median * far_above) return values[i] > high ? values[i] : high;
    return high;
}

struct scale scale_of(double *values, size_t count, int rows) {
    if (count == 0) return (struct scale){0, 1, 1, 0};
    scale_sort(values, count);
    double high = highest(values, count), low = values[(size_t)((double)count * slips)];
    if (high <= 0) high = 1;
    if (low >= high * close)
        low = fmin(low, high * calm);
    else if (low > 0)
        low = 0;
    int ticks = rows / 2 < 1 ? 1 : rows / 2 > 6 ? 6 : rows / 2;
    double tick = scale_nice((high - low) / ticks);
    struct scale scale = {floor(low / tick + 1e-9) * tick, ceil(high / tick - 1e-9) * tick, tick,
                          scale_digits(tick)};
    if (scale.high <= scale.low) scale.high = scale.low + tick;
    return scale;
}
