/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/core.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/rank/bridge/loader.h"
#include "engine/rank/collectives.h"
#include "engine/rank/phases.h"
#include "engine/rank/sender.h"
#include "engine/wire/page.h"
#include "engine/base/banned.h"

enum { KICK_EVERY = 1024 }; /* records; a quarter of the ring */
#define NEVER UINT64_MAX

enum bridge_state { BRIDGE_NONE, BRIDGE_AWAITED, BRIDGE_IS_THERE, BRIDGE_COUNTS };

enum { OWN_MUCH_NS = 100000 }; /* of our own work in a step, with more than 1 % of it */
enum { MARK_DATA, MARK_FORWARD, MARK_BACKWARD, MARK_OPTIMIZER, MARK_OWN, MARK_COUNT };

static struct core {
    _Atomic bool is_forked, is_in_step;
    bool is_set_up, has_handlers;
    pid_t owner;

    _Atomic uint64_t last_end_ns, last_mark_ns, plan_at;
    _Atomic uint32_t made, dirty, variant, faults, marked;
    _Atomic uint64_t mark[MARK_COUNT];
    struct phases phases; /* under the interpreter's lock */
    _Atomic uint64_t waits, waited_ns, states_lost;

    _Atomic enum bridge_state bridge_state;
    struct bridge bridge;
    char bridge_path[PATH_MAX], bridge_torch[64];
    bool is_gloo_wanted;

    struct core_hooks hooks;
    struct page *page;
    struct gate gate;
    struct memory_sampler memory;
    struct sender sender;
    struct step_ring steps;
    struct frame_ring frames;
    struct states states;
    struct collectives nccl, gloo;
} core;

static uint64_t get(_Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- what the gate asks for */

static bool gate_prepare(void *ctx, uint32_t id, const uint8_t *payload, size_t size,
                         char ret_reason[GATE_REASON_ROOM]) {
    (void)ctx;
    static const char absent[] = "the agent of this process is not ready";
    core_dirty(STEP_WHY_PREPARE);
    if (core.hooks.prepare) return core.hooks.prepare(id, payload, size, ret_reason);
    memcpy(ret_reason, absent, sizeof absent);
    return false;
}

static uint64_t gate_apply(void *ctx, uint32_t id, uint64_t count, uint32_t index) {
    (void)ctx;
    core_dirty(STEP_WHY_SWITCH);
    uint64_t next = core.hooks.apply ? core.hooks.apply(id, count, index) : 0;
    if (next && next <= count) core_fault();
    return next;
}

static void gate_outcome(void *ctx, uint32_t id, uint64_t count, enum gate_outcome outcome) {
    (void)ctx;
    if (core.hooks.outcome) core.hooks.outcome(id, count, gate_outcome_name(outcome));
}

static void gate_waited(void *ctx, uint32_t id, uint64_t from_ns, uint64_t to_ns) {
    (void)ctx, (void)id;
    core_dirty(STEP_WHY_WAITED);
    atomic_fetch_add(&core.waits, 1);
    atomic_fetch_add(&core.waited_ns, to_ns - from_ns);
}

static void *gate_unlock(void *ctx) {
    (void)ctx;
    return core.hooks.unlock ? core.hooks.unlock() : NULL;
}

static void gate_relock(void *ctx, void *state) {
    (void)ctx;
    if (core.hooks.relock) core.hooks.relock(state);
}

static void gate_kick(void *ctx) {
    (void)ctx;
    sender_kick(&core.sender);
}

static const struct gate_ops gate_ops = {
    .prepare = gate_prepare,
    .apply = gate_apply,
    .outcome = gate_outcome,
    .waited = gate_waited,
    .unlock = gate_unlock,
    .relock = gate_relock,
    .kick = gate_kick,
};

/* ---- life */

static void set_up(uint64_t count) {
    gate_init(&core.gate, &gate_ops, NULL, count);
    if (!get(&core.plan_at)) atomic_store(&core.plan_at, NEVER);
    core.memory.fd = -1;
    core.sender.sock = -1;
    core.owner = getpid();
    core.is_set_up = true;
}

static void before_fork(void) {
    sender_before_fork(&core.sender);
}

static void in_parent(void) {
    sender_after_fork_in_parent(&core.sender);
    if (atomic_load(&core.sender.is_paused) && core.hooks.forked) core.hooks.forked();
}

/* Nothing here but stores and close(): the child of a process with threads may do no more. */
static void in_child(void) {
    sender_after_fork_in_child(&core.sender);
    collectives_end(&core.nccl);
    collectives_end(&core.gloo);
    atomic_store(&core.is_forked, true);
    atomic_store(&core.is_in_step, false);
    memory_done(&core.memory);
    gate_abandon(&core.gate);
}

static void set_handlers(void) {
    if (core.has_handlers) return;
    core.has_handlers =
        pthread_atfork(before_fork, in_parent, in_child) == 0 && atexit(core_stop) == 0;
}

/* The buffers may have been caught by the fork in the middle of anything. */
static void begin_anew(void) {
    uint64_t count = gate_count(&core.gate);
    memset(&core.steps, 0, sizeof core.steps);
    memset(&core.frames, 0, sizeof core.frames);
    memset(&core.states, 0, sizeof core.states);
    page_close(core.page);
    core.page = NULL;
    atomic_store(&core.last_end_ns, 0);
    atomic_store(&core.dirty, 0);
    set_up(count);
    atomic_store(&core.is_forked, false);
}

static void get_ready(void) {
    if (!core.is_set_up)
        set_up(0);
    else if (atomic_load(&core.is_forked))
        begin_anew();
    set_handlers();
}

static bool has_sender(void) {
    return atomic_load(&core.sender.is_running) || atomic_load(&core.sender.is_paused);
}

void core_resume(void) {
    sender_resume(&core.sender);
}

void core_set_hooks(const struct core_hooks *hooks) {
    core.hooks = *hooks;
}

int core_join(const char *page_path, const char *key, uint32_t rank, uint32_t world,
              struct core_place *ret_place, struct err *err) {
    get_ready();
    if (atomic_load(&core.gate.has_seat))
        return err_set(err, ERR_BUSY, "this process has its seat already");
    if (has_sender())
        return err_set(err, ERR_BUSY, "the sender was started before the seat was taken");
    if (!core.page) {
        int rc = page_open(page_path, &core.page, err);
        if (rc < 0) return rc;
    }
    int rc = gate_join(&core.gate, core.page, key, rank, world, err);
    if (rc < 0) return rc;
    *ret_place = (struct core_place){
        .group = core.gate.seat.group,
        .slot = core.gate.seat.slot,
        .gen = core.gate.seat.gen,
        .in_force = core.gate.in_force,
        .nonce = core.page->nonce,
        .step = gate_count(&core.gate),
    };
    return 0;
}

/* By the sender thread: the one that trains does not ask the file system. */
static void look_for_bridge(void) {
    enum bridge_state state = BRIDGE_AWAITED;
    if (atomic_load(&core.bridge_state) == state && access(core.bridge_path, F_OK) == 0)
        atomic_compare_exchange_strong(&core.bridge_state, &state, BRIDGE_IS_THERE);
}

static void fill_beat(struct beat_record *ret_beat) {
    look_for_bridge();
    ret_beat->step = gate_count(&core.gate);
    ret_beat->step_ns = get(&core.last_end_ns);
    ret_beat->rss_bytes = get(&core.memory.rss_bytes);
    ret_beat->rss_peak_bytes = get(&core.memory.rss_peak_bytes);
    ret_beat->steps_dropped = get(&core.steps.dropped);
    ret_beat->events_dropped = get(&core.frames.dropped);
    ret_beat->faults = atomic_load_explicit(&core.faults, memory_order_relaxed);
    ret_beat->variant = atomic_load_explicit(&core.variant, memory_order_relaxed);
    ret_beat->decided = atomic_load_explicit(&core.gate.decided, memory_order_relaxed);
    ret_beat->pid = (uint32_t)core.owner;
}

int core_collectives(const char *plugin_path, struct err *err) {
    return collectives_open(&core.nccl, plugin_path, err);
}

/* In the sender's thread. One of the two is told: next to NCCL's, gloo's are what a job does by the
 * way. */
static void tell_collectives(uint64_t now_ns) {
    static char event[COLLECTIVES_EVENT_ROOM];
    struct timespec wall;
    bool was_empty;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t wall_ns = (uint64_t)wall.tv_sec * UINT64_C(1000000000) + (uint64_t)wall.tv_nsec,
             step = gate_count(&core.gate);
    size_t size = collectives_turn(&core.nccl, now_ns, wall_ns, step, event, sizeof event);
    if (collectives_are_used(&core.nccl))
        collectives_rest(&core.gloo);
    else
        size = collectives_turn(&core.gloo, now_ns, wall_ns, step, event, sizeof event);
    if (size) frame_ring_push(&core.frames, FRAME_EVENT, event, size, &was_empty);
}

int core_start(const char *socket_path, const void *hello, size_t size, struct err *err) {
    get_ready();
    if (has_sender()) return err_set(err, ERR_BUSY, "the sender runs already");
    if (core.memory.fd < 0) memory_init(&core.memory);
    const struct sender_sources from = {
        .steps = &core.steps,
        .frames = &core.frames,
        .states = &core.states,
        .gate = &core.gate,
        .memory = &core.memory,
        .fill_beat = fill_beat,
        .each_beat = tell_collectives,
    };
    collectives_begin(&core.nccl, gate_count(&core.gate));
    collectives_begin(&core.gloo, gate_count(&core.gate));
    int failed = sender_start(&core.sender, &from, socket_path, hello, size);
    return failed ? err_set_errno(err, failed, "could not start the sender") : 0;
}

void core_stop(void) {
    if (!core.is_set_up || atomic_load(&core.is_forked) || core.owner != getpid()) return;
    sender_stop(&core.sender);
    collectives_end(&core.nccl);
    collectives_end(&core.gloo);
    gate_leave(&core.gate);
}

/* ---- the bridge to libtorch */

static void begin_gloo(void) {
    bool is_there = atomic_load(&core.bridge_state) == BRIDGE_COUNTS;
    if (!core.is_gloo_wanted || !core.is_set_up || !is_there) return;
    const struct collective_door *door = core.bridge.table->gloo();
    if (door)
        collectives_take(&core.gloo, door, gate_count(&core.gate));
    else
        core_fault();
}

void core_gloo(void) {
    core.is_gloo_wanted = true;
    begin_gloo();
}

int core_bridge(const char *path, const char *torch, struct err *err) {
    enum bridge_state state = atomic_load(&core.bridge_state);
    if (state == BRIDGE_COUNTS) return 1;
    if (state == BRIDGE_AWAITED || state == BRIDGE_IS_THERE) return 0;
    if (access(path, F_OK) == 0) {
        int rc = bridge_load(&core.bridge, path, torch, err);
        if (rc) return rc;
        atomic_store(&core.bridge_state, BRIDGE_COUNTS);
        begin_gloo();
        return 1;
    }
    if (strlen(path) >= sizeof core.bridge_path || strlen(torch) >= sizeof core.bridge_torch)
        return err_set(err, ERR_LIMIT, "the path of the bridge is too long");
    memcpy(core.bridge_path, path, strlen(path) + 1);
    memcpy(core.bridge_torch, torch, strlen(torch) + 1);
    atomic_store(&core.bridge_state, BRIDGE_AWAITED);
    return 0;
}

/* Between two steps, by the thread that trains. */
static void bridge_came(uint64_t count) {
    struct err err;
    core_dirty(STEP_WHY_PREPARE);
    int rc = bridge_load(&core.bridge, core.bridge_path, core.bridge_torch, &err);
    atomic_store(&core.bridge_state, rc ? BRIDGE_NONE : BRIDGE_COUNTS);
    begin_gloo();
    if (core.hooks.bridged) core.hooks.bridged(count, rc ? err.message : NULL);
}

static void tell_devices(uint64_t now) {
    char text[BRIDGE_EVENT_ROOM];
    size_t size = bridge_event(&core.bridge, now, text);
    if (size) core_event(text, size);
}

/* ---- a step */

static void put_marks(struct step_record *record) {
    uint32_t marked = atomic_exchange_explicit(&core.marked, 0, memory_order_relaxed);
    uint64_t value[MARK_COUNT];
    for (int i = 0; i < MARK_COUNT; i++)
        value[i] = atomic_exchange_explicit(&core.mark[i], 0, memory_order_relaxed);
    record->data_ns = value[MARK_DATA];
    record->forward_ns = value[MARK_FORWARD];
    record->backward_ns = value[MARK_BACKWARD];
    record->optimizer_ns = value[MARK_OPTIMIZER];
    record->own_ns = (uint32_t)(value[MARK_OWN] < UINT32_MAX ? value[MARK_OWN] : UINT32_MAX);
    record->valid |= marked;
    if (record->own_ns > OWN_MUCH_NS && record->own_ns > record->dur_ns / 100)
        record->why |= STEP_WHY_OWN;
}

static void put_share(struct phase_share share) {
    if (!share.bit) return;
    atomic_fetch_add_explicit(&core.mark[__builtin_ffs((int)share.bit) - 1], share.ns,
                              memory_order_relaxed);
    atomic_fetch_or_explicit(&core.marked, share.bit, memory_order_relaxed);
}

static uint64_t since(uint64_t begun_ns) {
    uint64_t now = clock_now_ns();
    return now > begun_ns ? now - begun_ns : 0;
}

static void make_record(uint32_t why) {
    uint64_t now = clock_now_ns();
    put_share(phases_stepped(&core.phases, (uintptr_t)pthread_self(), now));
    put_share(phases_boundary(&core.phases, (uintptr_t)pthread_self(), now));
    uint64_t last = atomic_load_explicit(&core.last_end_ns, memory_order_relaxed);
    uint64_t rss = get(&core.memory.rss_bytes);
    uint32_t seq = atomic_load_explicit(&core.made, memory_order_relaxed);
    if (atomic_load_explicit(&core.dirty, memory_order_relaxed))
        why |= atomic_exchange_explicit(&core.dirty, 0, memory_order_relaxed);
    struct step_record record = {
        .step = gate_count(&core.gate),
        .end_ns = now,
        .dur_ns = last ? now - last : 0,
        .rss_bytes = rss,
        .variant = atomic_load_explicit(&core.variant, memory_order_relaxed),
        .valid = rss ? STEP_HAS_RSS : 0,
        .why = last ? why : why | STEP_WHY_FIRST,
        .seq = seq,
    };
    if (atomic_load_explicit(&core.marked, memory_order_relaxed)) put_marks(&record);
    if (atomic_load_explicit(&core.bridge_state, memory_order_relaxed) == BRIDGE_COUNTS)
        bridge_step(&core.bridge, &record);
    atomic_store_explicit(&core.made, seq + 1, memory_order_relaxed);
    atomic_store_explicit(&core.last_end_ns, now, memory_order_relaxed);
    atomic_store_explicit(&core.last_mark_ns, now, memory_order_relaxed);
    uint64_t number = step_ring_push(&core.steps, &record);
    if (__builtin_expect(number && number % KICK_EVERY == 0, 0)) sender_kick(&core.sender);
    if (record.valid & STEP_HAS_DEVICE) tell_devices(now);
}

/* All ranks have the same plan, so they all drop a schedule at the same count. */
static void run_plan(uint64_t count) {
    atomic_store_explicit(&core.plan_at, NEVER, memory_order_relaxed);
    if (!core.hooks.plan) return;
    gate_drop_schedule(&core.gate, count);
    core_dirty(STEP_WHY_SWITCH);
    uint64_t next = core.hooks.plan(count);
    if (next > count)
        core_plan_next(next);
    else if (next)
        core_fault();
}

uint64_t core_step(uint32_t why, uint64_t begun_ns) {
    if (!core.is_set_up) set_up(0);
    if (atomic_load_explicit(&core.is_forked, memory_order_relaxed))
        return gate_boundary(&core.gate);
    if (atomic_load_explicit(
            &core.is_in_step,
            memory_order_relaxed)) { /* from a hook, or from another thread at a wait */
        core_fault();
        return gate_count(&core.gate);
    }
    atomic_store_explicit(&core.is_in_step, true, memory_order_relaxed);
    sender_resume(&core.sender);
    make_record(why);
    uint64_t count = gate_boundary(&core.gate);
    if (__builtin_expect(
            atomic_load_explicit(&core.bridge_state, memory_order_relaxed) == BRIDGE_IS_THERE, 0))
        bridge_came(count);
    if (__builtin_expect(count >= atomic_load_explicit(&core.plan_at, memory_order_relaxed), 0))
        run_plan(count);
    if (begun_ns) put_share((struct phase_share){STEP_HAS_OWN, since(begun_ns)});
    atomic_store_explicit(&core.is_in_step, false, memory_order_relaxed);
    return count;
}

void core_phase_begin(uint32_t bit) {
    put_share(phases_begin(&core.phases, (uintptr_t)pthread_self(), bit, clock_now_ns()));
}

void core_phase_end(void) {
    put_share(phases_end(&core.phases, (uintptr_t)pthread_self(), clock_now_ns()));
}

void core_stepped(void) {
    put_share(phases_stepped(&core.phases, (uintptr_t)pthread_self(), clock_now_ns()));
}

uint64_t core_count(void) {
    return core.is_set_up ? gate_count(&core.gate) : 0;
}

void core_plan_next(uint64_t count) {
    atomic_store_explicit(&core.plan_at, count ? count : NEVER, memory_order_relaxed);
}

void core_set_variant(uint32_t key) {
    atomic_store_explicit(&core.variant, key, memory_order_relaxed);
}

void core_dirty(uint32_t why) {
    atomic_fetch_or_explicit(&core.dirty, why, memory_order_relaxed);
}

void core_fault(void) {
    atomic_fetch_add_explicit(&core.faults, 1, memory_order_relaxed);
}

bool core_mark(uint32_t bit, double value) {
    int at = __builtin_ffs((int)bit) - 1;
    if (at < 0 || at >= MARK_COUNT || bit != 1u << at) return false;
    if (atomic_load_explicit(&core.is_forked, memory_order_relaxed)) return true;
    uint64_t amount = (uint64_t)(value < 0 ? 0 : value);
    if (value < 0) {
        uint64_t now = clock_now_ns(),
                 last = atomic_exchange_explicit(&core.last_mark_ns, now, memory_order_relaxed);
        if (!last) return true;
        amount = now - last;
    }
    atomic_fetch_add_explicit(&core.mark[at], amount, memory_order_relaxed);
    atomic_fetch_or_explicit(&core.marked, bit, memory_order_relaxed);
    return true;
}

/* ---- events */

static uint64_t push(uint8_t type, const void *bytes, size_t size) {
    bool was_empty = false;
    uint64_t end = frame_ring_push(&core.frames, type, bytes, size, &was_empty);
    sender_resume(&core.sender);
    if (was_empty) sender_kick(&core.sender);
    return end;
}

bool core_event(const void *bytes, size_t size) {
    return !atomic_load(&core.is_forked) && push(FRAME_EVENT, bytes, size);
}

bool core_state(const char *kind, int64_t key, const void *bytes, size_t size) {
    if (atomic_load(&core.is_forked)) return false;
    uint64_t queued = push(FRAME_STATE, bytes, size);
    bool kept = states_put(&core.states, kind, key, bytes, size, queued);
    if (!kept) atomic_fetch_add(&core.states_lost, 1);
    return queued || kept;
}

void core_get_stats(struct core_stats *ret) {
    *ret = (struct core_stats){
        .steps = atomic_load(&core.made),
        .steps_sent = get(&core.sender.sent_steps),
        .steps_dropped = get(&core.steps.dropped),
        .steps_queued = step_ring_used(&core.steps),
        .sent = get(&core.sender.sent_frames),
        .sent_bytes = get(&core.sender.sent_bytes),
        .dropped = get(&core.frames.dropped),
        .queued = frame_ring_used(&core.frames),
        .states_lost = get(&core.states_lost),
        .connected = atomic_load(&core.sender.is_connected),
        .connects = get(&core.sender.connects),
        .beats = get(&core.sender.beats),
        .votes = get(&core.sender.votes),
        .decided = atomic_load(&core.gate.decided),
        .waits = get(&core.waits),
        .waited_ns = get(&core.waited_ns),
        .faults = atomic_load(&core.faults),
        .frames_unknown = get(&core.sender.frames_unknown),
        .frames_bad = get(&core.sender.frames_bad),
        .rss_bytes = get(&core.memory.rss_bytes),
        .rss_peak_bytes = get(&core.memory.rss_peak_bytes),
        .running = has_sender(),
        .forked = atomic_load(&core.is_forked),
    };
    /* A forked child may have got a lock that nobody gives back. */
    if (!ret->forked) ret->states = states_count(&core.states);
}
