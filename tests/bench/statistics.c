/* How honest and how quick is the judge? Series of step times (tests/support/judged.h) go through it as real ones do: both sides of the
 * same speed (A/A), a planted slow-down, a planted tie. Goals: A/A wrong in 5 % at the most; 5 % slower found in 99 % within 16
 * pairs, in half within 6; a tie called a tie.
 *
 * Then: up to which noise does that hold? Exits with 1 when A/A is wrong in more than 5 % (plus what chance adds), or when the
 * slow-down is missed in a world with less noise than that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/attr.h"
#include "tests/support/judged.h"
#include "engine/base/banned.h"

enum { SERIES = 4000, FEW = 1000 };

static double percent(int part, int whole) {
    return 100.0 * part / whole;
}

static bool is_good(const struct tally *slow) {
    return percent(slow->slower, SERIES) >= 99 && percent(slow->early, SERIES) >= 50;
}

/* True when the goals hold in it. */
static double most_wrong = 0, least_held = 100; /* of all worlds, both sides the same */

/* For the table of goals (figures.py). */
static void tell_figures(void) {
    const char *path = getenv("INDUCTOP_FIGURES");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file) return;
    fprintf(file, "[\"C3\", %.3g, null]\n[\"H1\", %.4g, null]\n", most_wrong, least_held);
    fclose(file);
}

static bool print_world(const struct world *world, bool *ret_is_honest) {
    struct tally same = judged_many(world, 1, SERIES), slow = judged_many(world, 1 / 1.05, SERIES);
    most_wrong = fmax(most_wrong, percent(same.faster + same.slower, SERIES));
    least_held = fmin(least_held, percent(same.holds, SERIES));
    struct tally near = judged_many(world, 1.002, FEW);
    double wrong = percent(same.faster + same.slower, SERIES);
    *ret_is_honest &= wrong <= 5 + 3 * sqrt(5 * 95.0 / SERIES);
    printf("  %-46s %5.1f%% %5.1f%% +-%.2f%% %5.1f  | %6.1f%% %5.0f%% %5.1f %6.0f | %5.1f%% %5.1f%%\n", world->name, wrong,
           percent(same.holds, SERIES), 100 * same.width, same.pairs, percent(slow.slower, SERIES), percent(slow.early, SERIES),
           slow.pairs, slow.steps, percent(same.tie, SERIES), percent(near.tie, FEW));
    return is_good(&slow);
}

/* Steps of 40 ms whose noise grows, with drift and spikes as a shared machine has them. */
static double print_limit(void) {
    static const double noises[] = {0.01, 0.02, 0.04, 0.06, 0.08, 0.10, 0.12, 0.15, 0.20, 0.30};
    double holds = 0;
    bool is_holding = true;
    printf("\nNoise of a step, with drift 3 %% and spikes 2 %%: 5 %% slower is found within 16 pairs / within 6; A/A wrong\n");
    for (size_t i = 0; i < ARRAY_SIZE(noises); i++) {
        struct world world = {"", 40, noises[i], 0.03, 0.97, 0.02, false, NULL, 0, 0};
        struct tally slow = judged_many(&world, 1 / 1.05, SERIES), same = judged_many(&world, 1, SERIES);
        printf("  %4.0f %%   %5.1f%% / %3.0f%%   %4.1f%%\n", 100 * noises[i], percent(slow.slower, SERIES), percent(slow.early, SERIES),
               percent(same.faster + same.slower, SERIES));
        is_holding &= is_good(&slow);
        if (is_holding) holds = noises[i];
    }
    return holds;
}

static void print_sizes(void) {
    static const double slower[] = {1.01, 1.02, 1.05, 1.10};
    printf("\nSlower by 1, 2, 5, 10 %%: called slower / a tie / mean pairs, of %d series\n", FEW);
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
        printf("  %-46s", worlds[i].name);
        for (size_t k = 0; k < ARRAY_SIZE(slower); k++) {
            struct tally tally = judged_many(&worlds[i], 1 / slower[k], FEW);
            printf(" %5.1f/%.1f%%/%.0f", percent(tally.slower, FEW), percent(tally.tie, FEW), tally.pairs);
        }
        printf("\n");
    }
}

int main(void) {
    bool is_honest = true;
    int good = 0;
    printf("%d series a world      A/A: wrong  holds 1  width  pairs  | 5 %% slower: found, within 6, pairs, steps | tie: A/A, 0.2 %% apart\n",
           SERIES);
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) good += print_world(&worlds[i], &is_honest);
    print_sizes();
    double holds = print_limit();
    printf("\nA/A wrong <= 5 %%: %s. 5 %% slower found in >= 99 %% within 16 pairs and in half within 6: in %d of %zu worlds, and up to a noise of %.0f %%\n",
           is_honest ? "holds everywhere" : "DOES NOT HOLD", good, ARRAY_SIZE(worlds), 100 * holds);
    tell_figures();
    return is_honest && holds >= 0.02 ? 0 : 1;
}
