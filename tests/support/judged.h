/* Series of step times through the judge as a job's go there: simulated worlds, and steps recorded from a job on a shared machine of
 * two cores. Fixed seeds: the figures are the same everywhere.
 *
 * A simulated step takes the true time, times noise (log-normal, or with the heavy tails of Student's t with 3 degrees of freedom),
 * times a slow drift (autoregressive, as other processes and the clock of the CPU make it), times now and then a spike.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TESTS_JUDGED_H
#define INDUCTOP_TESTS_JUDGED_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tune/baseline.h"
#include "tests/support/step_times.h"

enum { JUDGED_OTHER = 1, JUDGED_CURRENT = 2, JUDGED_READY = 24, JUDGED_EAGER = 99 };

struct world {
    const char *name;
    double ms, noise, drift, keep, spikes;
    bool has_heavy_tails;
    const uint32_t *recorded; /* us, instead of all that */
    size_t count;
    double share; /* of the recorded noise: the machine was as loaded as machines get */
};

static const struct world worlds[] = {
    {"calm: noise 1 %", 40, 0.01, 0, 0, 0, false, NULL, 0, 0},
    {"noise 2 %, drift 3 %, spikes 2 %", 40, 0.02, 0.03, 0.97, 0.02, false, NULL, 0, 0},
    {"slow drift: noise 2 %, drift 10 %", 40, 0.02, 0.10, 0.999, 0.01, false, NULL, 0, 0},
    {"heavy tails: noise 4 %, drift 3 %, spikes 2 %", 40, 0.04, 0.03, 0.97, 0.02, true, NULL, 0},
    {"noisy: noise 8 %, drift 3 %, spikes 5 %", 40, 0.08, 0.03, 0.97, 0.05, false, NULL, 0, 0},
    {"short steps: 1 ms, noise 8 %, spikes 5 %", 1, 0.08, 0.03, 0.99, 0.05, false, NULL, 0, 0},
    {"long steps: 3 s, noise 2 %, spikes 2 %", 3000, 0.02, 0.03, 0.97, 0.02, false, NULL, 0, 0},
    {"recorded, a tenth of its noise", 0, 0, 0, 0, 0, false, step_times_even, STEP_TIMES_EVEN, 0.1},
    {"recorded, load changing, a tenth of its noise", 0, 0, 0, 0, 0, false, step_times_uneven, STEP_TIMES_UNEVEN, 0.1},
    {"recorded, a fifth of its noise", 0, 0, 0, 0, 0, false, step_times_even, STEP_TIMES_EVEN, 0.2},
    {"recorded as it was", 0, 0, 0, 0, 0, false, step_times_even, STEP_TIMES_EVEN, 1},
    {"recorded as it was, load changing", 0, 0, 0, 0, 0, false, step_times_uneven, STEP_TIMES_UNEVEN, 1},
};

static uint64_t judged_state;

static inline double judged_uniform(void) {
    uint64_t z = (judged_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double judged_normal(void) {
    return sqrt(-2 * log(judged_uniform())) * cos(6.283185307179586 * judged_uniform());
}

static inline double judged_noise(const struct world *world) {
    if (!world->has_heavy_tails) return world->noise * judged_normal();
    double a = judged_normal(), b = judged_normal(), c = judged_normal();
    return world->noise * judged_normal() / sqrt(a * a + b * b + c * c); /* t3, scaled to deviation 1 */
}

/* Where a series is. */
struct judged_at {
    double drift;
    size_t offset;
};

static inline double judged_ms(const struct world *world, struct judged_at *at) {
    if (world->recorded) return exp(log(20) + world->share * log(world->recorded[at->offset++ % world->count] / 20e3));
    at->drift = world->keep * at->drift + world->drift * sqrt(1 - world->keep * world->keep) * judged_normal();
    double spike = judged_uniform() < world->spikes ? 1.3 + 2 * judged_uniform() : 1;
    return world->ms * exp(judged_noise(world) + at->drift) * spike;
}

struct judged {
    enum judge_verdict verdict;
    unsigned pairs;
    double ratio, low, high, within;
    uint64_t steps; /* that it took */
};

static inline struct judged judged_of(struct baseline *baseline) {
    struct judged judged = {.ratio = NAN, .low = NAN, .high = NAN, .within = NAN};
    struct event event;
    int64_t pairs = 0;
    while (baseline_next(baseline, 0, &event)) {
        for (int i = 0; i <= VERDICT_TIE; i++)
            if (event.kind == EVENT_SPEEDUP && !strcmp(event_text(&event, "verdict"), judge_verdict_name(i)))
                judged.verdict = (enum judge_verdict)i;
        event_number(&event, "ratio", &judged.ratio);
        event_number(&event, "low", &judged.low);
        event_number(&event, "high", &judged.high);
        event_number(&event, "within", &judged.within);
        event_int(&event, "pairs", &pairs);
        event_done(&event);
    }
    judged.pairs = (unsigned)pairs;
    return judged;
}

/* One comparison from its start to its end; the current variant is `gain` times as fast. */
static inline struct judged judged_series(const struct world *world, double gain, uint64_t seed) {
    struct baseline_now now = {.variant = JUDGED_CURRENT, .ranks = 1, .room = UINT64_MAX};
    struct schedule schedule = {.count = 0};
    uint64_t step = 0, start = 0, asked = 0;
    judged_state = seed * 0x2545f4914f6cdd1du;
    struct judged_at at = {world->drift * judged_normal(), world->recorded ? (size_t)(judged_uniform() * (double)world->count) : 0};
    struct baseline *baseline = baseline_new(BASELINE_OFF, JUDGED_EAGER, seed);
    baseline_ask(baseline, JUDGED_OTHER);
    for (; step < 100000; step++) {
        enum judge_side side = SIDE_CURRENT;
        for (size_t i = 0; step >= start && i < schedule.count && start + schedule.entries[i].offset <= step; i++)
            side = schedule.entries[i].side;
        struct judge_times times = {.ms = judged_ms(world, &at) / (side == SIDE_CURRENT ? gain : 1)};
        for (int i = 0; i < SHARE_COUNT; i++) times.phases[i] = NAN;
        baseline_step(baseline, 0, step, &times, side == SIDE_OTHER ? JUDGED_OTHER : JUDGED_CURRENT, true);
        if (step > JUDGED_READY && asked && !baseline_is_busy(baseline)) break;
        if (step < JUDGED_READY || !baseline_want(baseline, &now, &schedule)) continue;
        start = step + 3;
        asked = asked ? asked : step;
        baseline_agreed(baseline, start);
    }
    struct judged judged = judged_of(baseline);
    judged.steps = step - asked;
    baseline_free(baseline);
    return judged;
}

/* What came of many. */
struct tally {
    int holds, wrong, faster, slower, tie, early; /* early: slower within the first stage's pairs */
    double width, pairs, steps;                   /* means; width: half the interval */
};

static inline struct tally judged_many(const struct world *world, double gain, int count) {
    struct tally tally = {.holds = 0};
    for (int i = 0; i < count; i++) {
        struct judged judged = judged_series(world, gain, (uint64_t)i + 1);
        tally.holds += judged.low <= gain && gain <= judged.high;
        tally.faster += judged.verdict == VERDICT_FASTER;
        tally.slower += judged.verdict == VERDICT_SLOWER;
        tally.tie += judged.verdict == VERDICT_TIE;
        tally.early += judged.verdict == VERDICT_SLOWER && judged.pairs <= JUDGE_PAIRS_FIRST;
        tally.width += (judged.high - judged.low) / 2 / count;
        tally.pairs += (double)judged.pairs / count;
        tally.steps += (double)judged.steps / count;
    }
    return tally;
}

#endif
