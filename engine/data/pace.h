/* How fast one rank goes just now: its last steps and readings. The holder owns it; all zero is one
 * without steps. What is not known is NaN.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_PACE_H
#define INDUCTOP_DATA_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/record.h"

enum { PACE_STEPS = 64, PACE_RATE_S = 10 };

struct pace_step {
    double t; /* seconds since the start of the job, at its end */
    uint64_t step;
    float ms; /* NaN: not known */
    bool is_clean;
};

struct pace {
    struct pace_step steps[PACE_STEPS]; /* the last ones, by count modulo PACE_STEPS */
    uint64_t count;                     /* steps so far */
    struct step_record last;
};

struct pace_figures {
    double ms;          /* of the last step */
    double median, p95; /* of the clean ones among the last PACE_STEPS */
    size_t clean;       /* how many these are */
    double rate;        /* steps a second: over the last PACE_RATE_S seconds, two steps at least,
                           PACE_STEPS at most */
};

void pace_add(struct pace *pace, const struct step_record *record, double t);
void pace_figures(const struct pace *pace, struct pace_figures *ret);

/* When the last step ended; only with a step. */
double pace_last_t(const struct pace *pace);

/* The step that was in progress at `t`: the one that ended next, or the one behind the last. */
uint64_t pace_step_at(const struct pace *pace, double t);

#endif
