/* What NCCL passes to a profiler plugin, in versions 1 to 6 of that interface: our own
 * declarations, of what we read and of what lies before it. NCCL makes these records and keeps
 * them; members that a later NCCL adds to a union change nothing here. Where each member must lie
 * is checked by the unit test of this header.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_NCCL_ABI_H
#define INDUCTOP_RANK_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kinds of events; the mask that a plugin answers with is made of them. */
enum nccl_kind {
    NCCL_KIND_GROUP = 1 << 0,
    NCCL_KIND_COLL = 1 << 1,
    NCCL_KIND_P2P = 1 << 2,
    NCCL_KIND_PROXY_OP = 1 << 3,
    NCCL_KIND_PROXY_STEP = 1 << 4,
    NCCL_KIND_PROXY_CTRL = 1 << 5,
    NCCL_KIND_KERNEL = 1 << 6, /* one channel of a kernel; since version 3 */
    NCCL_KIND_NET = 1 << 7,
    NCCL_KIND_GROUP_API = 1 << 8, /* since version 5 */
    NCCL_KIND_COLL_API = 1 << 9,
    NCCL_KIND_P2P_API = 1 << 10,
    NCCL_KIND_LAUNCH = 1 << 11,
    NCCL_KIND_COPY = 1 << 12, /* a collective by copy engines; since version 6 */
};

enum { NCCL_STATE_KERNEL_STOP = 22 };

/* A plugin's functions return this; anything but 0 from init turns the plugin off. */
typedef int nccl_result;

struct nccl_v1_coll {
    const char *comm_name;
    uint64_t comm_hash, seq;
    uint8_t func; /* a number: enum collective_func up to RECV */
    const void *from;
    void *to;
    size_t count;
    int root;
    uint8_t type; /* a number: see size_by_number() */
    uint32_t op;
    size_t traffic;
    uint8_t channels, warps, algo, proto;
    int is_collnet, is_nvls;
};

struct nccl_v1_p2p {
    const char *comm_name;
    uint64_t comm_hash;
    uint8_t func;
    void *at;
    uint8_t type;
    size_t count;
    int peer;
};

struct nccl_v2_coll {
    const char *comm_name;
    uint64_t comm_hash, seq;
    const char *func;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *type;
    size_t traffic;
    uint8_t channels, warps;
    const char *algo, *proto;
};

struct nccl_v3_coll {
    const char *comm_name;
    uint64_t comm_hash, seq;
    const char *func;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algo, *proto;
};

struct nccl_v2_p2p {
    const char *comm_name;
    uint64_t comm_hash;
    const char *func;
    void *at;
    const char *type;
    size_t count;
    int peer;
};

struct nccl_v4_coll {
    uint64_t seq;
    const char *func;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algo, *proto;
};

struct nccl_v4_p2p {
    const char *func;
    void *at;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};

struct nccl_v5_coll {
    struct nccl_v4_coll coll;
    void *group;
};

struct nccl_v5_p2p {
    const char *func;
    void *at;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
    void *group;
};

struct nccl_v5_coll_api {
    const char *func;
    size_t count;
    const char *type;
    int root;
    void *stream;
    bool is_captured;
};

struct nccl_v5_p2p_api {
    const char *func;
    size_t count;
    const char *type;
    void *stream;
    bool is_captured;
};

struct nccl_v6_copy {
    uint64_t seq;
    const char *func;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *type;
    const char *sync;
    bool is_batch_synced;
    uint32_t batch, batches, copy_seq;
    void *stream;
};

struct nccl_proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer, steps, chunk, is_send;
};

struct nccl_v3_kernel {
    uint8_t channel;
};

struct nccl_v4_kernel {
    uint8_t channel;
    uint64_t timer; /* ns of the device's own clock */
};

struct nccl_v1_event {
    uint8_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v1_coll coll;
        struct nccl_v1_p2p p2p;
        struct nccl_proxy_op proxy_op;
    };
};

struct nccl_v2_event {
    uint8_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v2_coll coll;
        struct nccl_v2_p2p p2p;
        struct nccl_proxy_op proxy_op;
    };
};

struct nccl_v3_event {
    uint8_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v3_coll coll;
        struct nccl_v2_p2p p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_v3_kernel kernel;
    };
};

struct nccl_v4_event {
    uint8_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v4_coll coll;
        struct nccl_v4_p2p p2p;
        struct nccl_proxy_op proxy_op;
        struct nccl_v4_kernel kernel;
    };
};

struct nccl_v5_event {
    uint64_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v5_coll coll;
        struct nccl_v5_p2p p2p;
        struct nccl_v5_coll_api coll_api;
        struct nccl_v5_p2p_api p2p_api;
        struct nccl_proxy_op proxy_op;
        struct nccl_v4_kernel kernel;
    };
};

struct nccl_v6_event {
    uint64_t kind;
    void *parent;
    int rank;
    union {
        struct nccl_v5_coll coll;
        struct nccl_v5_p2p p2p;
        struct nccl_v5_coll_api coll_api;
        struct nccl_v5_p2p_api p2p_api;
        struct nccl_proxy_op proxy_op;
        struct nccl_v4_kernel kernel;
        struct nccl_v6_copy copy;
    };
};

/* What recordEventState() gets since version 4; the members that we do not read are left out. */
union nccl_v4_state {
    struct {
        uint64_t timer;
    } kernel;
};

#define NCCL_PROFILER(version, ...)                                                                \
    struct nccl_profiler_v##version {                                                              \
        const char *name;                                                                          \
        nccl_result (*init)(__VA_ARGS__);                                                          \
        nccl_result (*start)(void *comm, void **ret_handle,                                        \
                             struct nccl_v##version##_event *event);                               \
        nccl_result (*stop)(void *handle);                                                         \
        nccl_result (*state)(void *handle, int state, void *args);                                 \
        nccl_result (*finalize)(void *comm);                                                       \
    }
NCCL_PROFILER(1, void **ret_comm, int *mask);
NCCL_PROFILER(2, void **ret_comm, int *mask);
NCCL_PROFILER(3, void **ret_comm, int *mask);
NCCL_PROFILER(4, void **ret_comm, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
              int rank, void *log);
NCCL_PROFILER(5, void **ret_comm, uint64_t id, int *mask, const char *name, int nodes, int ranks,
              int rank, void *log);
NCCL_PROFILER(6, void **ret_comm, uint64_t id, int *mask, const char *name, int nodes, int ranks,
              int rank, void *log);
#undef NCCL_PROFILER

#endif
