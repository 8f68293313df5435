/* What NCCL or gloo does in this process, told once a second: figures of the plugin or the bridge
 * (engine/wire/door.h) become `collective` events. Without either nothing is told. Opened, taken and begun
 * by one thread, asked by the sender's; allocates nothing.
 *
 * Gloo's are counted and timed in the first second, then in one out of ten, from the end of a step
 * to the end of a step: each costs some microseconds more while it is counted.
 *
 * The time of NCCL's kernels is taken in one second out of ten: for it NCCL's proxy thread has to
 * look after every kernel, and a CUDA graph that is captured meanwhile keeps that for good. So it
 * is not taken at all where calls were captured into graphs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_COLLECTIVES_H
#define INDUCTOP_RANK_COLLECTIVES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/wire/door.h"

#define COLLECTIVES_TELL_NS UINT64_C(1000000000)
#define COLLECTIVES_TIMED_NS UINT64_C(1000000000)
#define COLLECTIVES_PERIOD_NS UINT64_C(10000000000)

/* The largest event: each function with numbers of 20 digits. */
enum { COLLECTIVES_EVENT_ROOM = 4096 };

struct collectives {
    _Atomic(const struct collective_door *) door;
    struct collective_figures told; /* up to here */
    uint64_t told_step, told_ns;
    unsigned watched; /* what was asked for last */
    /* Of a door that has both: */
    enum collectives_sample { SAMPLE_NONE, SAMPLE_NEXT_STEP, SAMPLE_RUNS } sample;
    bool has_sampled;
    uint64_t seen_step; /* at the last turn */
};

/* Opens the plugin's file: the copy that NCCL will find. Once; it is never closed. */
int collectives_open(struct collectives *collectives, const char *path, struct err *err);

/* From here on it is counted, and told from `step`. */
void collectives_begin(struct collectives *collectives, uint64_t step);

/* As both, for a door that is there already. Once. */
void collectives_take(struct collectives *collectives, const struct collective_door *door,
                      uint64_t step);

/* NCCL has come, as the last turn saw it. */
bool collectives_are_used(const struct collectives *collectives);

/* Times are not taken before the next turn, and what a door has together with them is not counted. */
void collectives_rest(struct collectives *collectives);

/* NCCL or gloo is to leave us alone again. Stores only: a forked child may call it. */
void collectives_end(struct collectives *collectives);

/* To be called often. `wall_ns` is the time of day, by which all ranks take times together. An
 * event as JSON when one is due: a second has passed, steps were made, and there is news. Returns
 * its size, 0: none. */
size_t collectives_turn(struct collectives *collectives, uint64_t now_ns, uint64_t wall_ns,
                        uint64_t step, char *ret_event, size_t room);

#endif
