/* Where the time of a rank's clean steps went under one set of settings: sums over the steps that
 * told it. What no step told stays 0 and has no steps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SHARES_H
#define INDUCTOP_DATA_SHARES_H

#include <stdint.h>

#include "engine/wire/record.h"

enum share_phase { SHARE_DATA, SHARE_FORWARD, SHARE_BACKWARD, SHARE_OPTIMIZER, SHARE_COUNT };

struct shares {
    uint64_t steps;         /* clean ones that told any phase */
    double ms;              /* of all of each */
    double of[SHARE_COUNT]; /* ms; a phase that a step did not tell counts as none of it */
    uint64_t own_steps;     /* clean ones that told what inductop itself took */
    double own_ms;          /* of them all */
    double own_all_ms;      /* of steps that were not clean too: switches, their waits, hooking */
};

extern const char *const share_names[SHARE_COUNT]; /* "data", ... */

/* The phases of one step, ms; NaN for what it did not tell. */
void shares_of_step(const struct step_record *record, double ret_ms[SHARE_COUNT]);

void shares_add(struct shares *shares, const struct step_record *record);

/* Mean of a phase in a step, ms; NaN when no step told any. */
double shares_mean_ms(const struct shares *shares, enum share_phase phase);

/* Mean of what inductop itself took in a step, ms; NaN when no step told it. */
double shares_own_ms(const struct shares *shares);

#endif
