/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/nccl/counting.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "engine/base/clock.h"
#include "engine/base/banned.h"

/* A slot's tag: its generation and one of these. */
enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_OPEN, SLOT_CLOSED, SLOT_STATES };

/* A call, or one channel of a kernel. All atomic: a thread that holds an old handle may read it
 * while another one fills it anew. */
struct slot {
    _Atomic uint64_t tag;
    _Atomic uint64_t start_ns; /* call: our clock; kernel: the device's, or ours without a timer */
    _Atomic uint64_t stop_ns;  /* kernel: 0, not told */
    _Atomic uint64_t link;     /* kernel: the call's handle; call: where its span counts from */
    _Atomic uint64_t span;     /* call: see add_span() */
    _Atomic uint32_t func;
    _Atomic uint32_t comm; /* its index, COUNTING_COMMS: unknown */
};

struct pool {
    struct slot *slots;
    size_t count;
    _Atomic uint64_t next;
};

enum pool_index { POOL_CALLS, POOL_KERNELS, POOL_COUNT };

struct comm {
    _Atomic uint32_t is_taken;
    _Atomic(int *) mask;
    _Atomic(const struct nccl_version *) version;
};

struct func_counters {
    _Atomic uint64_t count, bytes, host_ns, timed, timed_ns;
};

static struct slot calls[COUNTING_CALLS], kernels[COUNTING_KERNELS];
static struct pool pools[POOL_COUNT] = {
    [POOL_CALLS] = {.slots = calls, .count = COUNTING_CALLS},
    [POOL_KERNELS] = {.slots = kernels, .count = COUNTING_KERNELS},
};
static struct comm comms[COUNTING_COMMS];
static struct func_counters funcs[COLLECTIVE_FUNC_COUNT];
static _Atomic uint64_t captured, comm_count, ranks_most, version_seen, dropped, strange;
static _Atomic unsigned watched;
static _Atomic bool is_writing; /* counting_watch() is among the masks, which are NCCL's memory */

static void add(_Atomic uint64_t *counter, uint64_t value) {
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void set(_Atomic uint64_t *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

/* ---- handles: generation, place in its pool, pool, and a last bit that no address has */

enum { HANDLE_POOL = 1, HANDLE_PLACE = 4, HANDLE_GENERATION = 20 };
static_assert(COUNTING_CALLS <= 1 << 16 && COUNTING_KERNELS <= 1 << 16, "a place has 16 bits");

static uint64_t generation_in(uint64_t handle) {
    return handle >> HANDLE_GENERATION;
}

static uint64_t generation_of(uint64_t tag) {
    return tag / SLOT_STATES & UINT64_MAX >> HANDLE_GENERATION;
}

static uint64_t handle_of(enum pool_index pool, const struct slot *slot) {
    uint64_t place = (uint64_t)(slot - pools[pool].slots);
    return generation_of(get(&slot->tag)) << HANDLE_GENERATION | place << HANDLE_PLACE |
           (uint64_t)pool << HANDLE_POOL | 1;
}

/* The slot that the handle is still about, with its tag; NULL: of nothing, or long gone. */
static struct slot *slot_of(uint64_t handle, enum pool_index *ret_pool, uint64_t *ret_tag) {
    uint64_t pool = handle >> HANDLE_POOL & ((1 << (HANDLE_PLACE - HANDLE_POOL)) - 1);
    uint64_t place = handle >> HANDLE_PLACE & UINT16_MAX;
    if (!(handle & 1) || pool >= POOL_COUNT || place >= pools[pool].count) return NULL;
    struct slot *slot = &pools[pool].slots[place];
    *ret_tag = atomic_load_explicit(&slot->tag, memory_order_acquire);
    *ret_pool = (enum pool_index)pool;
    return generation_of(*ret_tag) == generation_in(handle) ? slot : NULL;
}

/* ---- slots */

/* The next slot that nobody needs: a call that was enqueued long ago, or a free one. */
static struct slot *slot_take(enum pool_index index) {
    enum { TRIES = 16 };
    struct pool *pool = &pools[index];
    for (int i = 0; i < TRIES; i++) {
        struct slot *slot =
            &pool->slots[atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed) %
                         pool->count];
        uint64_t tag = get(&slot->tag);
        bool is_in_use = tag % SLOT_STATES == SLOT_FILLING || tag % SLOT_STATES == SLOT_OPEN;
        uint64_t taken = (tag / SLOT_STATES + 1) * SLOT_STATES + SLOT_FILLING;
        if (!is_in_use && atomic_compare_exchange_strong_explicit(
                              &slot->tag, &tag, taken, memory_order_acquire, memory_order_relaxed))
            return slot;
    }
    add(&dropped, 1);
    return NULL;
}

static void *slot_open(enum pool_index pool, struct slot *slot, const void *comm) {
    const struct comm *of = comm;
    bool is_known = of >= comms && of < comms + COUNTING_COMMS;
    uint32_t index = is_known ? (uint32_t)(of - comms) : COUNTING_COMMS;
    atomic_store_explicit(&slot->comm, index, memory_order_relaxed);
    atomic_store_explicit(&slot->tag, get(&slot->tag) - SLOT_FILLING + SLOT_OPEN,
                          memory_order_release);
    return (void *)(uintptr_t)handle_of(pool, slot); /* NOLINT: a number that NCCL keeps for us */
}

/* False: another thread was faster, or it was closed before. */
static bool slot_close(struct slot *slot, uint64_t tag, enum slot_state to) {
    return tag % SLOT_STATES == SLOT_OPEN &&
           atomic_compare_exchange_strong_explicit(&slot->tag, &tag, tag - SLOT_OPEN + to,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* ---- communicators */

static int mask_for(const struct nccl_version *version, unsigned what) {
    int mask = 0;
    if (what & COLLECTIVE_WATCH_CALLS) mask |= version->calls;
    if (what & COLLECTIVE_WATCH_CALLS && what & COLLECTIVE_WATCH_TIMES) mask |= version->times;
    return mask;
}

static void put_mask(int *mask, int value) {
    __atomic_store_n(mask, value, __ATOMIC_RELAXED);
}

static void raise_to(_Atomic uint64_t *counter, uint64_t value) {
    uint64_t old = get(counter);
    while (old < value && !atomic_compare_exchange_weak_explicit(
                              counter, &old, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

void *counting_open(const struct nccl_version *version, int *mask, int ranks) {
    set(&version_seen, version->number);
    if (ranks > 0) raise_to(&ranks_most, (uint64_t)ranks);
    struct comm *comm = NULL;
    for (size_t i = 0; i < COUNTING_COMMS && !comm; i++) {
        uint32_t is_taken = 0;
        if (atomic_compare_exchange_strong(&comms[i].is_taken, &is_taken, 1)) comm = &comms[i];
    }
    if (comm) {
        add(&comm_count, 1);
        atomic_store(&comm->version, version);
        atomic_store(&comm->mask, mask);
    } else {
        add(&dropped, 1);
    }
    /* Behind the stores above: whoever begins to watch now sees them, or is seen here. */
    put_mask(mask, mask_for(version, atomic_load(&watched)));
    return comm;
}

static void forget_open(uint32_t comm) {
    for (size_t p = 0; p < POOL_COUNT; p++)
        for (size_t i = 0; i < pools[p].count; i++) {
            struct slot *slot = &pools[p].slots[i];
            uint64_t tag = atomic_load_explicit(&slot->tag, memory_order_acquire);
            if (atomic_load_explicit(&slot->comm, memory_order_relaxed) == comm)
                slot_close(slot, tag, SLOT_FREE);
        }
}

void counting_close(void *closed) {
    struct comm *comm = closed;
    if (comm < comms || comm >= comms + COUNTING_COMMS || !atomic_load(&comm->is_taken)) {
        if (closed) counting_strange();
        return;
    }
    atomic_store(&comm->mask, NULL);
    /* NCCL frees the mask behind us: who has read its address is let finish, some stores long. */
    while (atomic_load(&is_writing)) sched_yield();
    forget_open((uint32_t)(comm - comms));
    add(&comm_count, (uint64_t)-1);
    atomic_store(&comm->is_taken, 0);
}

/* ---- events */

static bool is_watched(void) {
    return atomic_load_explicit(&watched, memory_order_relaxed) != 0;
}

void *counting_call(void *comm, enum collective_func func, uint64_t bytes) {
    if (!is_watched()) return NULL;
    add(&funcs[func].count, 1);
    add(&funcs[func].bytes, bytes);
    struct slot *slot = slot_take(POOL_CALLS);
    if (!slot) return NULL;
    set(&slot->start_ns, clock_now_ns());
    set(&slot->link, 0);
    set(&slot->span, 0);
    atomic_store_explicit(&slot->func, func, memory_order_relaxed);
    return slot_open(POOL_CALLS, slot, comm);
}

void *counting_kernel(void *comm, const struct nccl_version *version, void *call, uint64_t timer) {
    if (!is_watched()) return NULL;
    struct slot *slot = slot_take(POOL_KERNELS);
    if (!slot) return NULL;
    set(&slot->start_ns, version->has_timer ? timer : clock_now_ns());
    set(&slot->stop_ns, 0);
    set(&slot->link, (uintptr_t)call);
    set(&slot->span, version->has_timer);
    return slot_open(POOL_KERNELS, slot, comm);
}

void counting_captured(void) {
    if (is_watched()) add(&captured, 1);
}

void counting_strange(void) {
    add(&strange, 1);
}

void counting_kernel_ended(void *handle, uint64_t timer) {
    enum pool_index pool;
    uint64_t tag;
    struct slot *slot = slot_of((uintptr_t)handle, &pool, &tag);
    if (!slot || pool != POOL_KERNELS || tag % SLOT_STATES != SLOT_OPEN)
        counting_strange();
    else
        set(&slot->stop_ns, timer);
}

/* The span of a call counts from `link`, the start of the kernel that came first, in units of
 * 16 ns: how far before it a start lies, above, and how far behind it an end lies, below; up to
 * 68 s each. So it can grow in one swap, and each bit of it is counted as it comes: nobody has to
 * know which kernel is the last. */
enum { SPAN_UNIT_NS = 16 };

static uint64_t span_units(uint64_t from, uint64_t to) {
    uint64_t units = to > from ? (to - from) / SPAN_UNIT_NS : 0;
    return units < UINT32_MAX ? units : UINT32_MAX;
}

static uint64_t span_ns(uint64_t span) {
    return ((span >> 32) + (span & UINT32_MAX)) * SPAN_UNIT_NS;
}

static void add_span(struct slot *call, uint64_t start, uint64_t stop) {
    struct func_counters *counters =
        &funcs[atomic_load_explicit(&call->func, memory_order_relaxed) % COLLECTIVE_FUNC_COUNT];
    uint64_t base = 0, old = get(&call->span), grown;
    if (atomic_compare_exchange_strong(&call->link, &base, start)) {
        base = start;
        add(&counters->timed, 1);
    }
    uint64_t before = span_units(start, base), behind = span_units(base, stop);
    do {
        uint64_t above = old >> 32, below = old & UINT32_MAX;
        grown = (before > above ? before : above) << 32 | (behind > below ? behind : below);
        if (grown == old) return;
    } while (!atomic_compare_exchange_weak_explicit(&call->span, &old, grown, memory_order_relaxed,
                                                    memory_order_relaxed));
    add(&counters->timed_ns, span_ns(grown) - span_ns(old));
}

static void kernel_stopped(uint64_t call_handle, uint64_t start, uint64_t stop) {
    enum pool_index pool;
    uint64_t tag;
    struct slot *call = slot_of(call_handle, &pool, &tag);
    bool is_there = call && pool == POOL_CALLS && tag % SLOT_STATES >= SLOT_OPEN;
    if (!is_there || !start || stop < start)
        counting_strange();
    else
        add_span(call, start, stop);
}

void counting_stop(void *handle) {
    enum pool_index pool;
    uint64_t tag;
    if (!handle) return;
    struct slot *slot = slot_of((uintptr_t)handle, &pool, &tag);
    if (!slot) {
        counting_strange();
        return;
    }
    uint64_t start = get(&slot->start_ns), stop = get(&slot->stop_ns), link = get(&slot->link);
    bool has_timer = get(&slot->span);
    uint32_t func = atomic_load_explicit(&slot->func, memory_order_relaxed) % COLLECTIVE_FUNC_COUNT;
    if (!slot_close(slot, tag, pool == POOL_CALLS ? SLOT_CLOSED : SLOT_FREE))
        counting_strange();
    else if (pool == POOL_KERNELS)
        kernel_stopped(link, start, has_timer ? stop : clock_now_ns());
    else
        add(&funcs[func].host_ns, clock_now_ns() - start);
}

/* ---- the core's side */

void counting_watch(unsigned what) {
    atomic_store(&watched, what);
    atomic_store(&is_writing, true);
    for (size_t i = 0; i < COUNTING_COMMS; i++) {
        int *mask = atomic_load(&comms[i].mask);
        const struct nccl_version *version = atomic_load(&comms[i].version);
        if (mask && version) put_mask(mask, mask_for(version, what));
    }
    atomic_store(&is_writing, false);
}

void counting_read(struct collective_figures *ret) {
    for (size_t i = 0; i < COLLECTIVE_FUNC_COUNT; i++)
        ret->funcs[i] = (struct collective_func_figures){
            .count = get(&funcs[i].count),
            .bytes = get(&funcs[i].bytes),
            .host_ns = get(&funcs[i].host_ns),
            .timed = get(&funcs[i].timed),
            .timed_ns = get(&funcs[i].timed_ns),
        };
    ret->captured = get(&captured);
    ret->comms = get(&comm_count);
    ret->ranks = get(&ranks_most);
    ret->version = get(&version_seen);
    ret->dropped = get(&dropped);
    ret->strange = get(&strange);
}
