/* Steps by phase: the host's time between two boundaries, told apart by two events, a batch that is fetched from a data loader and
 * a run of the autograd engine:
 *
 *     data        inside the data loader's next batch
 *     forward     from the batch to the backward; from the boundary, when the batch was fetched before it. Not told without a data
 *                 loader: what else a script does in that time would pass for it
 *     backward    inside the autograd engine, collectives of DDP and waits for them included
 *     optimizer   from the end of a backward to the end of an optimizer's step (clipping, unscaling, the step itself)
 *
 * What is left is told as nothing: it is the rest. Several of each in a step add up (gradient accumulation, several optimizers). On a
 * device that computes behind the host these are the host's times. One thread counts, the one of the boundaries.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_PHASES_H
#define INDUCTOP_RANK_PHASES_H

#include <stdbool.h>
#include <stdint.h>

/* All 0: the owner is not known, nothing is counted. Not thread-safe: calls of others than the owner return at once. */
struct phases {
    uintptr_t owner;    /* pthread_self of the thread that trains */
    uint64_t since_ns;  /* end of what was told apart last */
    uint64_t begun_ns;  /* of the outermost call in progress */
    uint32_t depth;     /* calls in progress: a reentrant backward is part of the outer one */
    uint32_t inside;    /* bit of the outermost one */
    bool is_past_backward;
    bool has_batch; /* fetched, and no backward since */
};

/* An amount of one reading; `bit` of enum step_valid, 0: none. */
struct phase_share {
    uint32_t bit;
    uint64_t ns;
};

/* `bit`: STEP_HAS_DATA or STEP_HAS_BACKWARD. Each begin has its end. `thread`: who calls. */
struct phase_share phases_begin(struct phases *phases, uintptr_t thread, uint32_t bit, uint64_t now_ns);
struct phase_share phases_end(struct phases *phases, uintptr_t thread, uint64_t now_ns);

/* An optimizer has stepped, at a boundary or before it. */
struct phase_share phases_stepped(struct phases *phases, uintptr_t thread, uint64_t now_ns);

/* The boundary, after phases_stepped: what comes belongs to the next step. `thread` is the owner from now on. Returns what a call in
 * progress took until here. */
struct phase_share phases_boundary(struct phases *phases, uintptr_t thread, uint64_t now_ns);

#endif
