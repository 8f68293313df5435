/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/phases.h"

#include "engine/wire/record.h"
#include "engine/base/banned.h"

static const struct phase_share none = {0, 0};

struct phase_share phases_begin(struct phases *phases, uintptr_t thread, uint32_t bit,
                                uint64_t now_ns) {
    if (thread != phases->owner || phases->depth++) return none;
    phases->inside = bit;
    phases->begun_ns = now_ns;
    if (bit != STEP_HAS_BACKWARD || !phases->has_batch) return none;
    phases->has_batch = false;
    return (struct phase_share){STEP_HAS_FORWARD, now_ns - phases->since_ns};
}

struct phase_share phases_end(struct phases *phases, uintptr_t thread, uint64_t now_ns) {
    /* One that began before the owner was known has no depth. */
    if (thread != phases->owner || !phases->depth || --phases->depth) return none;
    phases->since_ns = now_ns;
    phases->is_past_backward = phases->inside == STEP_HAS_BACKWARD;
    phases->has_batch |= phases->inside == STEP_HAS_DATA;
    return (struct phase_share){phases->inside, now_ns - phases->begun_ns};
}

struct phase_share phases_stepped(struct phases *phases, uintptr_t thread, uint64_t now_ns) {
    if (thread != phases->owner || phases->depth || !phases->is_past_backward) return none;
    struct phase_share share = {STEP_HAS_OPTIMIZER, now_ns - phases->since_ns};
    phases->since_ns = now_ns;
    return share;
}

struct phase_share phases_boundary(struct phases *phases, uintptr_t thread, uint64_t now_ns) {
    struct phase_share share = none;
    if (thread != phases->owner)
        *phases = (struct phases){.owner = thread};
    else if (phases->depth)
        share = (struct phase_share){phases->inside, now_ns - phases->begun_ns};
    phases->begun_ns = phases->since_ns = now_ns;
    phases->is_past_backward = false;
    return share;
}
