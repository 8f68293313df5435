/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/growth.h"

#include <math.h>

#include "engine/data/stats.h"
#include "engine/base/banned.h"

enum { COUNT_LEAST = GROWTH_WINDOWS / 2 };
static const double rising_least = 0.8;   /* of the windows */
static const double lasting_least = 0.5;  /* the second half's rise over the first one's */

void growth_clear(struct growth *growth) {
    *growth = (struct growth){0};
}

/* Two windows become one. */
static void merge(struct growth *growth) {
    for (uint32_t i = 0; i < GROWTH_WINDOWS / 2; i++) growth->low[i] = fmin(growth->low[2 * i], growth->low[2 * i + 1]);
    growth->count = GROWTH_WINDOWS / 2;
    growth->window *= 2;
}

void growth_add(struct growth *growth, double value) {
    if (!growth->window) growth->window = GROWTH_WINDOW_STEPS;
    growth->now = growth->in_window ? fmin(growth->now, value) : value;
    if (++growth->in_window < growth->window) return;
    growth->in_window = 0;
    growth->low[growth->count++] = growth->now;
    if (growth->count == GROWTH_WINDOWS) merge(growth);
}

/* The median of what each window adds: one that stands out does not move it. */
static double slope(const double *low, uint32_t count) {
    double added[GROWTH_WINDOWS];
    for (uint32_t i = 1; i < count; i++) added[i - 1] = low[i] - low[i - 1];
    stats_sort(added, count - 1);
    return stats_median(added, count - 1);
}

struct growth_figures growth_figures(const struct growth *growth) {
    struct growth_figures figures = {.a_step = NAN, .from = NAN, .to = NAN};
    uint32_t first = growth->count / 4, count = growth->count - first, rising = 0;
    const double *low = growth->low + first;
    if (growth->count < COUNT_LEAST) return figures;
    double early = low[count / 2] - low[0], late = low[count - 1] - low[count / 2];
    for (uint32_t i = 1; i < count; i++) rising += low[i] > low[i - 1];
    if (rising < rising_least * (count - 1) || late < lasting_least * early) return figures;
    figures.a_step = slope(low, count) / growth->window;
    figures.from = low[0];
    figures.to = low[count - 1];
    figures.steps = (uint64_t)(count - 1) * growth->window;
    return figures;
}
