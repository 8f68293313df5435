/* What a rank's collectives were, from its last `collective` events. Only the store's own sources
 * use it, but for the figures.
 *
 * A rank that arrives late finds the others waiting and is through at once: of the ranks of a group
 * the one with the least time in collectives is the one that the others wait for. No clocks have to
 * agree for that. Only those collectives say so in which nobody is through before the last has
 * come: the root of a broadcast is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_TRAFFIC_H
#define INDUCTOP_DATA_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

struct event;

/* Of the last second, a step each; NaN: not told. `ms` is in collectives, waiting for other ranks
 * included, from the last second that had times; `meeting_ms` in those that all wait in. */
struct traffic_figures {
    double count, bytes, host_ms, ms, meeting_ms;
    const char *backend; /* "NCCL" or "gloo"; NULL: nothing was told */
    uint64_t captured;   /* calls in CUDA graphs, whose replays are not seen */
    uint64_t dropped;
};

struct traffic {
    bool is_told;
    struct traffic_figures figures;
};

void traffic_take(struct traffic *traffic, const struct event *event);

/* All missing when nothing was told. */
struct traffic_figures traffic_figures(const struct traffic *traffic);

#endif
