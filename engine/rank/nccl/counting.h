/* What the NCCL profiler plugin counts, whatever version of the interface NCCL speaks. Everything
 * may be called by any thread at any time: no locks, no allocation, static memory. What finds no
 * room is dropped and counted.
 *
 * Handles are numbers, not addresses: a generation and a place. NCCL may end an event twice, too
 * late or never, or name a parent that is long gone; each use of a handle is checked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_NCCL_COUNTING_H
#define INDUCTOP_RANK_NCCL_COUNTING_H

#include <stdbool.h>

#include "engine/wire/door.h"

/* One version of NCCL's interface. */
struct nccl_version {
    unsigned number;
    int calls;      /* kinds of events that are calls */
    int times;      /* kinds of events that tell about kernels, 0: there are none */
    bool has_timer; /* kernels come with times of the device's clock */
};

/* Places: calls that are under way or the last that were, kernels that run, communicators. */
enum { COUNTING_CALLS = 4096, COUNTING_KERNELS = 4096, COUNTING_COMMS = 256 };

/* `mask` is NCCL's own: it is written now and whenever other things are watched, until `comm` is
 * closed. Returns what stands for the communicator, NULL when there is no room: then its events
 * count as well. */
void *counting_open(const struct nccl_version *version, int *mask, int ranks);

/* Events of it that are open are forgotten. */
void counting_close(void *comm);

/* These return the event's handle, NULL when it is not wanted or was dropped. */
void *counting_call(void *comm, enum collective_func func, uint64_t bytes);
void *counting_kernel(void *comm, const struct nccl_version *version, void *call, uint64_t timer);

void counting_captured(void);

/* Something was told that we do not understand. */
void counting_strange(void);

/* The kernel's end by the device's clock. */
void counting_kernel_ended(void *handle, uint64_t timer);
void counting_stop(void *handle);

void counting_watch(unsigned what);
void counting_read(struct collective_figures *ret_figures);

#endif
