/* The door between those who count collectives and the rank core: the NCCL profiler plugin, and the
 * bridge to libtorch for gloo. NCCL loads the plugin, Python loads the core; the core opens the
 * plugin's file too, which gives it the same copy, and finds this table under the name
 * NCCL_DOOR_SYMBOL; the bridge has it in its own (bridge/table.h). Until the core asks, nothing is
 * wanted from NCCL or gloo.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_DOOR_H
#define INDUCTOP_WIRE_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#define NCCL_DOOR_SYMBOL "inductop_nccl_door"
enum { COLLECTIVE_DOOR_VERSION = 3 };

/* What can be asked for. FUNC(symbol, name), by NCCL's names; those up to RECV stand where version
 * 1 of NCCL's interface, which has numbers instead of names, expects them. */
#define COLLECTIVE_FUNCS(FUNC)                                                                     \
    FUNC(BROADCAST, "Broadcast")                                                                   \
    FUNC(REDUCE, "Reduce")                                                                         \
    FUNC(ALL_GATHER, "AllGather")                                                                  \
    FUNC(REDUCE_SCATTER, "ReduceScatter")                                                          \
    FUNC(ALL_REDUCE, "AllReduce")                                                                  \
    FUNC(SEND_RECV, "SendRecv")                                                                    \
    FUNC(SEND, "Send")                                                                             \
    FUNC(RECV, "Recv")                                                                             \
    FUNC(ALL_TO_ALL, "AlltoAll")                                                                   \
    FUNC(ALL_GATHER_V, "AllGatherV")                                                               \
    FUNC(GATHER, "Gather")                                                                         \
    FUNC(SCATTER, "Scatter")                                                                       \
    FUNC(BARRIER, "Barrier")                                                                       \
    FUNC(OTHER, "other")

enum collective_func {
#define COLLECTIVE_FUNC(symbol, name) COLLECTIVE_FUNC_##symbol,
    COLLECTIVE_FUNCS(COLLECTIVE_FUNC)
#undef COLLECTIVE_FUNC
        COLLECTIVE_FUNC_COUNT
};

/* All from the start. */
struct collective_func_figures {
    uint64_t count;    /* enqueued */
    uint64_t bytes;    /* that this rank handed over */
    uint64_t host_ns;  /* that enqueueing took; not told by gloo */
    uint64_t timed;    /* of `count`, those whose kernels were seen, or that gloo is done with */
    uint64_t timed_ns; /* of each: from the first start to the last end of its kernels, or of gloo's
                          work on it */
};

struct collective_figures {
    struct collective_func_figures funcs[COLLECTIVE_FUNC_COUNT];
    uint64_t captured; /* calls that went into a CUDA graph: their replays are not seen */
    uint64_t comms;    /* communicators now */
    uint64_t ranks;    /* of the largest so far; 0: not told, as before version 4 */
    uint64_t version;  /* of the interface that NCCL uses; 0: NCCL has not come yet, or gloo */
    uint64_t dropped;  /* events that found no room */
    uint64_t strange;  /* events that made no sense: ended twice, of nothing, of unknown type */
};

enum collective_watch {
    COLLECTIVE_WATCH_CALLS = 1 << 0,
    COLLECTIVE_WATCH_TIMES = 1 << 1, /* with the time of kernels, where the version has it */
};

struct collective_door {
    uint32_t version;    /* COLLECTIVE_DOOR_VERSION */
    const char *backend; /* whose they are: nccl, gloo */
    bool has_both;       /* calls and times together or nothing: counting is what costs */
    /* What is wanted from now on, of `enum collective_watch`. 0: nothing; stores only, as a forked
     * child may. */
    void (*watch)(unsigned what);
    void (*read)(struct collective_figures *ret_figures);
};

#endif
