/* Is there memory to try other settings beside those in force? From what ranks told of both, and what the host has left. What a
 * device has left only the ranks can say: they are asked with the proposal.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/host.h"
#include "engine/data/memory.h"
#include "engine/parts.h"
#include "engine/base/banned.h"

static const double share_most = 0.9; /* of what is left: a job is not alone on its machine */

struct need {
    double bytes;
    bool is_guess;
};

static const struct store_use *use_of(const struct store *store, size_t rank, uint32_t variant) {
    for (size_t i = 0; i < store_rank(store, rank)->use_count; i++)
        if (store_use(store, rank, i)->variant == variant) return store_use(store, rank, i);
    return NULL;
}

/* The peak on the device, else in torch's CPU allocator, else the process's; NaN: not told. */
static double peak_of(const struct store_use *use, bool is_device) {
    if (!use) return NAN;
    if (is_device) return use->peaks.has_device ? (double)use->peaks.device : NAN;
    if (use->peaks.has_cpu) return (double)use->peaks.cpu;
    return use->has_peak_rss ? (double)use->peak_rss : NAN;
}

/* More than now. Settings that never ran here may need as much again. */
static void add_need(struct need *need, const struct store *store, size_t rank, uint32_t current, uint32_t other) {
    const char *device = store_rank(store, rank)->device;
    bool is_device = device && strcmp(device, "cpu");
    const struct store_use *now = use_of(store, rank, current), *then = use_of(store, rank, other);
    double peak = peak_of(now, is_device), others = peak_of(then, is_device);
    if (isnan(peak)) return;
    need->is_guess |= isnan(others);
    double more = isnan(others) ? peak : fmax(others - peak, 0);
    if (is_device) need->bytes = fmax(need->bytes, more);
    else need->bytes += more;
}

static struct need need_of(const struct engine *engine, const char *group, bool is_device, uint32_t current, uint32_t other) {
    struct need need = {0};
    for (size_t i = 0; i < store_rank_count(engine->store); i++) {
        const struct store_rank *rank = store_rank(engine->store, i);
        bool is_on_device = rank->device && strcmp(rank->device, "cpu");
        if (strcmp(rank->group, group) == 0 && is_on_device == is_device)
            add_need(&need, engine->store, i, current, other);
    }
    return need;
}

uint64_t headroom_device_bytes(const struct engine *engine, const char *group, uint32_t current, uint32_t other) {
    return (uint64_t)need_of(engine, group, true, current, other).bytes;
}

const char *headroom_objection(const struct engine *engine, const char *group, uint32_t current, uint32_t other) {
    static char reason[160];
    struct need need = need_of(engine, group, false, current, other);
    double left = host_memory_left();
    if (!(need.bytes > share_most * left)) return NULL;
    snprintf(reason, sizeof reason, "no memory headroom: %s %.1f GB more over all ranks, and %.1f GB are free",
             need.is_guess ? "what never ran here may need" : "it needs", need.bytes / 1e9, left / 1e9);
    return reason;
}
