/* How honest are the intervals? Simulated step times go through the judge as real ones do: eager
 * and current of the same speed (A/A: the interval must hold 1.0 in 93 to 97 % of the series), and
 * with a known gain (is it found?).
 *
 * A step takes the true time, times log-normal noise, times a slow drift (autoregressive, as other
 * processes and the clock of the CPU make it), times now and then a spike. The worlds are those of
 * the measuring rule's own simulation and worse. Fixed seeds: the figures are the same on every
 * machine. Exits with 1 when A/A over 200 series leaves 93 to 97 %.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/base/attr.h"
#include "engine/tune/judge.h"
#include "engine/base/banned.h"

enum { SERIES = 200, MANY = 20000, EAGER = 1, CURRENT = 2 };

struct world {
    const char *name;
    double ms, noise, drift, keep, spikes;
};

static const struct world worlds[] = {
    {"calm machine: noise 1 %", 40, 0.01, 0, 0, 0},
    {"the rule's: noise 2 %, drift 3 %, spikes 2 %", 40, 0.02, 0.03, 0.97, 0.02},
    {"slow drift: noise 2 %, drift 10 %", 40, 0.02, 0.10, 0.999, 0.01},
    {"noisy: noise 8 %, drift 3 %, spikes 5 %", 40, 0.08, 0.03, 0.97, 0.05},
    {"short steps: 1 ms, noise 8 %, spikes 5 %", 1, 0.08, 0.03, 0.99, 0.05},
    {"long steps: 3 s, noise 2 %, spikes 2 %", 3000, 0.02, 0.03, 0.97, 0.02},
};

static uint64_t state;

static double uniform(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double step_ms(const struct world *world, double *drift) {
    *drift = world->keep * *drift + world->drift * sqrt(1 - world->keep * world->keep) * normal();
    double spike = uniform() < world->spikes ? 1.3 + 2 * uniform() : 1;
    return world->ms * exp(world->noise * normal() + *drift) * spike;
}

/* One schedule from its first step to the one behind it; current is `gain` times as fast. */
static struct judge_result series(const struct world *world, double gain, uint64_t seed) {
    struct judge_plan plan;
    state = seed * 0x2545f4914f6cdd1du;
    judge_plan_for(world->ms, UINT64_MAX, seed, &plan);
    struct judge *judge = judge_new(&plan, EAGER, CURRENT);
    struct schedule schedule;
    judge_schedule(judge, &schedule);
    judge_start(judge, 100);
    double drift = world->drift * normal();
    for (uint64_t i = 0, entry = 0; i <= schedule.length; i++) {
        while (entry + 1 < schedule.count && schedule.entries[entry + 1].offset <= i) entry++;
        enum judge_side side = schedule.entries[entry].side;
        double ms = step_ms(world, &drift) / (side == SIDE_CURRENT ? gain : 1);
        judge_take(judge, 0, 100 + i, ms, side == SIDE_EAGER ? EAGER : CURRENT, true);
    }
    struct judge_result result;
    judge_result(judge, 0, &result);
    judge_free(judge);
    return result;
}

struct tally {
    int holds, wrong, found;
    double width;
};

static struct tally count(const struct world *world, double gain, int n) {
    struct tally tally = {0};
    for (int i = 0; i < n; i++) {
        struct judge_result result = series(world, gain, (uint64_t)i + 1);
        tally.holds += result.interval.low <= gain && gain <= result.interval.high;
        tally.wrong += result.verdict == (gain > 1 ? VERDICT_SLOWER : VERDICT_FASTER);
        if (gain == 1) tally.wrong += result.verdict == VERDICT_SLOWER;
        tally.found += result.verdict == (gain > 1 ? VERDICT_FASTER : VERDICT_TIE);
        tally.width += (result.interval.high - result.interval.low) / 2 / n;
    }
    return tally;
}

static double percent(int part, int whole) {
    return 100.0 * part / whole;
}

int main(void) {
    int low = MANY, high = 0, all = 0;
    printf("A/A: both sides the same. The 95 %% interval holds 1.0 in:\n");
    printf("  %-46s %10s %10s %7s %7s\n", "world", "200 series", "20,000", "wrong", "+-");
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
        struct tally some = count(&worlds[i], 1, SERIES), many = count(&worlds[i], 1, MANY);
        printf("  %-46s %9.1f%% %9.1f%% %6.1f%% %6.2f%%\n", worlds[i].name,
               percent(some.holds, SERIES), percent(many.holds, MANY), percent(many.wrong, MANY),
               100 * many.width);
        low = some.holds < low ? some.holds : low;
        high = some.holds > high ? some.holds : high;
        all += some.holds;
    }
    printf("A true gain, 2000 series: called faster / called slower / interval holds the truth\n");
    static const double gains[] = {1.01, 1.02, 1.05, 1.10};
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
        printf("  %-46s", worlds[i].name);
        for (size_t g = 0; g < ARRAY_SIZE(gains); g++) {
            struct tally tally = count(&worlds[i], gains[g], 2000);
            printf("  %.2f: %.1f/%.1f/%.1f%%", gains[g], percent(tally.found, 2000),
                   percent(tally.wrong, 2000), percent(tally.holds, 2000));
        }
        printf("\n");
    }
    bool good = percent(low, SERIES) >= 93 && percent(high, SERIES) <= 97;
    printf("A/A, 200 series a world: %.1f to %.1f %% hold 1.0 (goal 93 to 97): %s\n",
           percent(low, SERIES), percent(high, SERIES), good ? "holds" : "DOES NOT HOLD");
    return good ? 0 : 1;
}
