/* Does a reading grow, step by step, without end? The least of each of up to 32 windows of steps is kept, so that what comes and goes
 * within a window does not count; windows double as steps go on. No allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_GROWTH_H
#define INDUCTOP_DATA_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

enum { GROWTH_WINDOWS = 32, GROWTH_WINDOW_STEPS = 8 };

struct growth {
    double low[GROWTH_WINDOWS], now; /* now: of the window that is not full yet */
    uint32_t count, in_window, window; /* window: its steps, 0: none yet */
};

struct growth_figures {
    double a_step;    /* NaN: it does not grow, or not enough was seen */
    double from, to;  /* over `steps` */
    uint64_t steps;
};

/* The reading at the end of the next step. */
void growth_add(struct growth *growth, double value);

/* What was before has nothing to say any more: something was compiled, or other settings came into force. */
void growth_clear(struct growth *growth);

/* Grows in nearly every window, and as fast at the end as at the beginning; the first windows are left out, since everything grows
 * when it begins. */
struct growth_figures growth_figures(const struct growth *growth);

#endif
