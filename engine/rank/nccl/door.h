/* The door between the NCCL profiler plugin and the rank core. NCCL loads the plugin, Python loads
 * the core; the core opens the plugin's file too, which gives it the same copy, and finds this
 * table under the name NCCL_DOOR_SYMBOL. Until the core asks, the plugin wants nothing from NCCL.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_NCCL_DOOR_H
#define INDUCTOP_RANK_NCCL_DOOR_H

#include <stdint.h>

#define NCCL_DOOR_SYMBOL "inductop_nccl_door"
enum { NCCL_DOOR_VERSION = 1 };

/* What NCCL can be asked to do. FUNC(symbol, name); those up to RECV stand where version 1 of the
 * interface, which has numbers instead of names, expects them. */
#define NCCL_FUNCS(FUNC)                                                                           \
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
    FUNC(OTHER, "other")

enum nccl_func {
#define NCCL_FUNC(symbol, name) NCCL_FUNC_##symbol,
    NCCL_FUNCS(NCCL_FUNC)
#undef NCCL_FUNC
        NCCL_FUNC_COUNT
};

/* All from the start. */
struct nccl_func_figures {
    uint64_t count;    /* enqueued */
    uint64_t bytes;    /* that this rank handed over */
    uint64_t host_ns;  /* that enqueueing took */
    uint64_t timed;    /* of `count`, those whose kernels were seen */
    uint64_t timed_ns; /* from the first start to the last end of the kernels of each */
};

struct nccl_figures {
    struct nccl_func_figures funcs[NCCL_FUNC_COUNT];
    uint64_t captured; /* calls that went into a CUDA graph: their replays are not seen */
    uint64_t comms;    /* communicators now */
    uint64_t ranks;    /* of the largest so far; 0: not told, as before version 4 */
    uint64_t version;  /* of the interface that NCCL uses; 0: NCCL has not come yet */
    uint64_t dropped;  /* events that found no room */
    uint64_t strange;  /* events that made no sense: ended twice, of nothing, of unknown type */
};

enum nccl_watch {
    NCCL_WATCH_CALLS = 1 << 0,
    NCCL_WATCH_TIMES = 1 << 1, /* with the time of kernels, where the version has it */
};

struct nccl_door {
    uint32_t version; /* NCCL_DOOR_VERSION */
    /* What is wanted from now on, of `enum nccl_watch`; 0: nothing. Stores only. */
    void (*watch)(unsigned what);
    void (*read)(struct nccl_figures *ret_figures);
};

#endif
