/* The NCCL profiler plugin: six tables of functions, one for each version of NCCL's interface, over
 * one count (counting.h). NCCL is always told that all went well; only what is exported here is
 * seen from outside.
 *
 * NCCL finds the plugin by its name alone: without NCCL_PROFILER_PLUGIN it asks the loader for
 * `libnccl-profiler.so`, and that is the name which this library carries inside, so the loader
 * answers with the copy that the rank core has opened before. The environment stays as it is, and
 * whoever names a plugin of his own gets that one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/rank/nccl/abi.h"
#include "engine/rank/nccl/counting.h"
#include "engine/base/banned.h"

enum { CALLS = NCCL_KIND_COLL | NCCL_KIND_P2P, CALLS_V6 = CALLS | NCCL_KIND_COPY };

/* VERSION(number, calls, times, has_timer) */
#define VERSIONS(VERSION)                                                                          \
    VERSION(1, CALLS, 0, false)                                                                    \
    VERSION(2, CALLS, 0, false)                                                                    \
    VERSION(3, CALLS, NCCL_KIND_KERNEL, false)                                                     \
    VERSION(4, CALLS, NCCL_KIND_KERNEL, true)                                                      \
    VERSION(5, CALLS, NCCL_KIND_KERNEL, true)                                                      \
    VERSION(6, CALLS_V6, NCCL_KIND_KERNEL, true)

#define VERSION(number, calls, times, has_timer)                                                   \
    static const struct nccl_version version_##number = {number, calls, times, has_timer};
VERSIONS(VERSION)
#undef VERSION

/* An event of any version, as far as we read it. */
struct reading {
    uint64_t kind;
    void *parent;
    enum collective_func func;
    uint64_t bytes, timer;
    bool is_captured;
};

/* ---- names and sizes */

static enum collective_func func_by_name(const char *name) {
    static const char *const names[] = {
#define FUNC(symbol, text) text,
        COLLECTIVE_FUNCS(FUNC)
#undef FUNC
    };
    for (size_t i = 0; name && i < COLLECTIVE_FUNC_OTHER; i++)
        if (strcmp(name, names[i]) == 0) return (enum collective_func)i;
    return COLLECTIVE_FUNC_OTHER;
}

static enum collective_func func_by_number(uint8_t number) {
    return number <= COLLECTIVE_FUNC_RECV ? (enum collective_func)number : COLLECTIVE_FUNC_OTHER;
}

/* In the order of NCCL's numbers. */
static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
};

static unsigned size_by_number(uint8_t number) {
    if (number < ARRAY_SIZE(types)) return types[number].bytes;
    counting_strange();
    return 0;
}

static unsigned size_by_name(const char *name) {
    for (size_t i = 0; name && i < ARRAY_SIZE(types); i++)
        if (strcmp(name, types[i].name) == 0) return types[i].bytes;
    counting_strange();
    return 0;
}

/* ---- versions: from NCCL's record to ours */

#define READ_NUMBERS(event, ret)                                                                   \
    do {                                                                                           \
        (ret)->func = func_by_number((event).func);                                                \
        (ret)->bytes = (event).count * size_by_number((event).type);                               \
    } while (0)
#define READ_NAMES(event, ret)                                                                     \
    do {                                                                                           \
        (ret)->func = func_by_name((event).func);                                                  \
        (ret)->bytes = (event).count * size_by_name((event).type);                                 \
    } while (0)

static void read_v1(const struct nccl_v1_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NUMBERS(event->coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NUMBERS(event->p2p, ret);
}

static void read_v2(const struct nccl_v2_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NAMES(event->coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NAMES(event->p2p, ret);
}

static void read_v3(const struct nccl_v3_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NAMES(event->coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NAMES(event->p2p, ret);
}

static void read_v4(const struct nccl_v4_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NAMES(event->coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NAMES(event->p2p, ret);
    if (event->kind == NCCL_KIND_KERNEL) ret->timer = event->kernel.timer;
}

static void read_v5(const struct nccl_v5_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NAMES(event->coll.coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NAMES(event->p2p, ret);
    if (event->kind == NCCL_KIND_KERNEL) ret->timer = event->kernel.timer;
    if (event->kind == NCCL_KIND_COLL_API) ret->is_captured = event->coll_api.is_captured;
    if (event->kind == NCCL_KIND_P2P_API) ret->is_captured = event->p2p_api.is_captured;
}

static void read_v6(const struct nccl_v6_event *event, struct reading *ret) {
    if (event->kind == NCCL_KIND_COLL) READ_NAMES(event->coll.coll, ret);
    if (event->kind == NCCL_KIND_P2P) READ_NAMES(event->p2p, ret);
    if (event->kind == NCCL_KIND_COPY) READ_NAMES(event->copy, ret);
    if (event->kind == NCCL_KIND_KERNEL) ret->timer = event->kernel.timer;
    if (event->kind == NCCL_KIND_COLL_API) ret->is_captured = event->coll_api.is_captured;
    if (event->kind == NCCL_KIND_P2P_API) ret->is_captured = event->p2p_api.is_captured;
}

/* ---- what NCCL calls */

/* Kinds that are not asked for come too, as parents of those that are: they get no handle. */
static void *start(void *comm, const struct nccl_version *version, const struct reading *event) {
    if (event->kind & (uint64_t)version->calls)
        return counting_call(comm, event->func, event->bytes);
    if (event->kind & (uint64_t)version->times)
        return counting_kernel(comm, version, event->parent, event->timer);
    if (event->is_captured) counting_captured();
    return NULL;
}

#define VERSION(number, calls, times, has_timer)                                                   \
    static nccl_result start_##number(void *comm, void **ret_handle,                               \
                                      struct nccl_v##number##_event *event) {                      \
        struct reading reading = {.kind = event->kind, .parent = event->parent};                   \
        read_v##number(event, &reading);                                                           \
        *ret_handle = start(comm, &version_##number, &reading);                                    \
        return 0;                                                                                  \
    }
VERSIONS(VERSION)
#undef VERSION

static nccl_result stop(void *handle) {
    counting_stop(handle);
    return 0;
}

static nccl_result state_none(void *handle, int state, void *args) {
    (void)handle, (void)state, (void)args;
    return 0;
}

static nccl_result state_kernel(void *handle, int state, void *args) {
    const union nccl_v4_state *told = args;
    if (handle && told && state == NCCL_STATE_KERNEL_STOP)
        counting_kernel_ended(handle, told->kernel.timer);
    return 0;
}

static nccl_result finalize(void *comm) {
    counting_close(comm);
    return 0;
}

#define INIT_V1(number)                                                                            \
    static nccl_result init_##number(void **ret_comm, int *mask) {                                 \
        *ret_comm = counting_open(&version_##number, mask, 0);                                     \
        return 0;                                                                                  \
    }
INIT_V1(1)
INIT_V1(2)
INIT_V1(3)

static nccl_result init_4(void **ret_comm, int *mask, const char *name, uint64_t hash, int nodes,
                          int ranks, int rank, void *log) {
    (void)name, (void)hash, (void)nodes, (void)rank, (void)log;
    *ret_comm = counting_open(&version_4, mask, ranks);
    return 0;
}

#define INIT_V5(number)                                                                            \
    static nccl_result init_##number(void **ret_comm, uint64_t id, int *mask, const char *name,    \
                                     int nodes, int ranks, int rank, void *log) {                  \
        (void)id, (void)name, (void)nodes, (void)rank, (void)log;                                  \
        *ret_comm = counting_open(&version_##number, mask, ranks);                                 \
        return 0;                                                                                  \
    }
INIT_V5(5)
INIT_V5(6)

#define VERSION(number, calls, times, has_timer)                                                   \
    extern struct nccl_profiler_v##number ncclProfiler_v##number;                                  \
    ATTR_EXPORT struct nccl_profiler_v##number ncclProfiler_v##number = {                          \
        .name = "inductop",                                                                        \
        .init = init_##number,                                                                     \
        .start = start_##number,                                                                   \
        .stop = stop,                                                                              \
        .state = (has_timer) ? state_kernel : state_none,                                          \
        .finalize = finalize,                                                                      \
    };
VERSIONS(VERSION)
#undef VERSION

extern const struct collective_door inductop_nccl_door;
ATTR_EXPORT const struct collective_door inductop_nccl_door = {
    .version = COLLECTIVE_DOOR_VERSION,
    .backend = "nccl",
    .has_both = false,
    .watch = counting_watch,
    .read = counting_read,
};
