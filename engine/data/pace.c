/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/pace.h"

#include <math.h>

#include "engine/data/stats.h"
#include "engine/base/banned.h"

void pace_add(struct pace *pace, const struct step_record *record, double t) {
    pace->last = *record;
    pace->steps[pace->count++ % PACE_STEPS] = (struct pace_step){
        .t = t,
        .step = record->step,
        .ms = record->dur_ns ? (float)((double)record->dur_ns / 1e6) : NAN,
        .is_clean = record->why == 0 && record->dur_ns,
    };
}

static size_t kept(const struct pace *pace) {
    return pace->count < PACE_STEPS ? (size_t)pace->count : PACE_STEPS;
}

/* `back` 0: the last. */
static const struct pace_step *step_back(const struct pace *pace, size_t back) {
    return &pace->steps[(pace->count - 1 - back) % PACE_STEPS];
}

double pace_last_t(const struct pace *pace) {
    return step_back(pace, 0)->t;
}

static double rate_of(const struct pace *pace) {
    size_t count = kept(pace);
    if (count < 2) return NAN;
    const struct pace_step *last = step_back(pace, 0);
    size_t back = 1;
    while (back + 1 < count && step_back(pace, back + 1)->t >= last->t - PACE_RATE_S) back++;
    double seconds = last->t - step_back(pace, back)->t;
    return seconds > 0 ? (double)back / seconds : NAN;
}

void pace_figures(const struct pace *pace, struct pace_figures *ret) {
    double ms[PACE_STEPS];
    size_t clean = 0, count = kept(pace);
    for (size_t i = 0; i < count; i++)
        if (pace->steps[i].is_clean) ms[clean++] = (double)pace->steps[i].ms;
    stats_sort(ms, clean);
    *ret = (struct pace_figures){
        .ms = count ? (double)step_back(pace, 0)->ms : NAN,
        .median = stats_median(ms, clean),
        .p95 = stats_quantile(ms, clean, 0.95),
        .clean = clean,
        .rate = rate_of(pace),
    };
}

uint64_t pace_step_at(const struct pace *pace, double t) {
    size_t count = kept(pace);
    if (!count) return 0;
    uint64_t step = step_back(pace, 0)->step + 1;
    for (size_t back = 0; back < count && step_back(pace, back)->t >= t; back++)
        step = step_back(pace, back)->step;
    return step;
}
