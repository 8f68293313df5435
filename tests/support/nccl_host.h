/* NCCL's part of the profiler interface, for tests: makes the calls that NCCL makes, in each version from 1 to 6, with
 * records laid out by hand as that version's published header has them, so that a wrong declaration of ours is seen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TESTS_SUPPORT_NCCL_HOST_H
#define INDUCTOP_TESTS_SUPPORT_NCCL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HOST_VERSIONS = 6, HOST_RECORD = 160 };
enum host_kind {
    HOST_GROUP = 1 << 0, HOST_COLL = 1 << 1, HOST_P2P = 1 << 2, HOST_PROXY_OP = 1 << 3, HOST_PROXY_STEP = 1 << 4,
    HOST_PROXY_CTRL = 1 << 5, HOST_KERNEL = 1 << 6, HOST_NET = 1 << 7, HOST_GROUP_API = 1 << 8, HOST_COLL_API = 1 << 9,
    HOST_P2P_API = 1 << 10, HOST_LAUNCH = 1 << 11, HOST_COPY = 1 << 12,
};
enum { HOST_KERNEL_STOP = 22 };

/* Where members lie in an event's record; 0: this version has none. */
struct host_layout {
    size_t coll_func, coll_count, coll_type, p2p_func, p2p_count, p2p_type, timer, coll_captured, p2p_captured, copy_func;
};
static const struct host_layout host_layouts[HOST_VERSIONS + 1] = {
    [1] = {48, 72, 84, 40, 64, 56, 0, 0, 0, 0},  [2] = {48, 72, 88, 40, 64, 56, 0, 0, 0, 0},
    [3] = {48, 72, 88, 40, 64, 56, 0, 0, 0, 0},  [4] = {32, 56, 72, 24, 48, 40, 32, 0, 0, 0},
    [5] = {32, 56, 72, 24, 48, 40, 32, 64, 56, 0}, [6] = {32, 56, 72, 24, 48, 40, 32, 64, 56, 32},
};

/* Any version's table: init differs, the rest takes pointers only. */
struct host_table {
    const char *name;
    void *init;
    int (*start)(void *comm, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *args);
    int (*finalize)(void *comm);
};

/* One NCCL in a process. */
struct host {
    unsigned version;
    const struct host_table *table;
    int mask;
    unsigned refusals; /* answers that were not 0 */
};

static inline bool host_has_times(const struct host *host) { return host->version >= 3; }

static inline void *host_init(struct host *host, int ranks) {
    void *comm = NULL;
    int rc;
    if (host->version <= 3)
        rc = ((int (*)(void **, int *))host->table->init)(&comm, &host->mask);
    else if (host->version == 4)
        rc = ((int (*)(void **, int *, const char *, uint64_t, int, int, int, void *))host->table->init)(
            &comm, &host->mask, "default_pg", 0xabc, 1, ranks, 0, NULL);
    else
        rc = ((int (*)(void **, uint64_t, int *, const char *, int, int, int, void *))host->table->init)(
            &comm, 0xabc, &host->mask, "default_pg", 1, ranks, 0, NULL);
    host->refusals += rc != 0;
    return comm;
}

static inline void host_put(uint8_t *record, size_t at, const void *value, size_t size) { memcpy(record + at, value, size); }

/* Version 1 has numbers. */
static inline void host_put_name(const struct host *host, uint8_t *record, size_t at, const char *name) {
    static const struct { const char *name; uint8_t number; } numbers[] = {
        {"Broadcast", 0}, {"Reduce", 1}, {"AllGather", 2}, {"ReduceScatter", 3}, {"AllReduce", 4}, {"Send", 6}, {"Recv", 7},
        {"ncclInt8", 0}, {"ncclInt64", 4}, {"ncclFloat16", 6}, {"ncclFloat32", 7}, {"ncclFloat64", 8}, {"ncclBfloat16", 9},
    };
    if (host->version > 1) host_put(record, at, &name, sizeof name);
    for (size_t i = 0; host->version == 1 && i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(name, numbers[i].name) == 0) record[at] = numbers[i].number;
}

static inline void *host_start(struct host *host, void *comm, uint64_t kind, void *parent, uint8_t *record) {
    void *handle = (void *)1;
    host_put(record, 0, &kind, host->version < 5 ? 1 : 8);
    host_put(record, 8, &parent, sizeof parent);
    host->refusals += host->table->start(comm, &handle, record) != 0;
    return handle;
}

static inline void *host_bare(struct host *host, void *comm, uint64_t kind, void *parent) {
    uint8_t record[HOST_RECORD] = {0};
    return host_start(host, comm, kind, parent, record);
}

/* COLL, P2P or COPY. */
static inline void *host_call(struct host *host, void *comm, uint64_t kind, const char *func, size_t count, const char *type) {
    uint8_t record[HOST_RECORD] = {0};
    const struct host_layout *layout = &host_layouts[host->version];
    bool is_p2p = kind == HOST_P2P;
    host_put_name(host, record, is_p2p ? layout->p2p_func : layout->coll_func, func);
    host_put_name(host, record, is_p2p ? layout->p2p_type : layout->coll_type, type);
    host_put(record, is_p2p ? layout->p2p_count : layout->coll_count, &count, sizeof count);
    return host_start(host, comm, kind, NULL, record);
}

static inline void host_api(struct host *host, void *comm, bool is_p2p, bool is_captured) {
    uint8_t record[HOST_RECORD] = {0};
    const struct host_layout *layout = &host_layouts[host->version];
    record[is_p2p ? layout->p2p_captured : layout->coll_captured] = is_captured;
    void *handle = host_start(host, comm, is_p2p ? HOST_P2P_API : HOST_COLL_API, NULL, record);
    if (handle) host->table->stop(handle);
}

static inline void *host_kernel(struct host *host, void *comm, void *parent, uint8_t channel, uint64_t timer) {
    uint8_t record[HOST_RECORD] = {0};
    record[24] = channel;
    if (host->version >= 4) host_put(record, host_layouts[host->version].timer, &timer, sizeof timer);
    return host_start(host, comm, HOST_KERNEL, parent, record);
}

static inline void host_stop(struct host *host, void *handle) {
    if (handle) host->refusals += host->table->stop(handle) != 0;
}

static inline void host_kernel_end(struct host *host, void *handle, uint64_t timer) {
    if (handle && host->version >= 4)
        host->refusals += host->table->state(handle, HOST_KERNEL_STOP, &timer) != 0;
    host_stop(host, handle);
}

static inline void host_finalize(struct host *host, void *comm) {
    if (comm) host->refusals += host->table->finalize(comm) != 0;
}

#endif
