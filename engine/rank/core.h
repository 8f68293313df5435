/* The rank core: what lives of us in a training process, without a line of Python. There is one,
 * made of static memory; it allocates nothing after its start, never blocks (a gate apart, 50 ms at
 * most), never aborts, and drops and counts what it cannot keep. After fork() the child's core is
 * inert: its steps are counted and nothing else happens, until core_join() or core_start() is
 * called in the child, which begins anew there.
 *
 * core_step() is for one thread at a time. Everything else may be called from any thread, but for
 * core_join(), core_start(), core_stop() and core_set_hooks(), which the caller keeps apart from
 * each other and from core_step().
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_CORE_H
#define INDUCTOP_RANK_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/rank/gate.h"

/* Called inside core_step(), by its thread; see struct gate_ops. All may be NULL: proposals are
 * refused then. */
struct core_hooks {
    bool (*prepare)(uint32_t id, const uint8_t *payload, size_t size,
                    char ret_reason[GATE_REASON_ROOM]);
    uint64_t (*apply)(uint32_t id, uint64_t count, uint32_t index);
    void (*outcome)(uint32_t id, uint64_t count, const char *status);
    uint64_t (*plan)(uint64_t count); /* returns the next planned count, 0: none */
    void *(*unlock)(void);
    void (*relock)(void *state);
    /* Called within fork(), in the parent: core_resume() is to be called soon, from outside of it.
     */
    void (*forked)(void);
    /* The bridge that was waited for counts since `count` steps; or it does not, and `fault` says
     * why. */
    void (*bridged)(uint64_t count, const char *fault);
};
void core_set_hooks(const struct core_hooks *hooks);

struct core_place {
    uint32_t group, slot, gen, in_force; /* in_force: see struct gate */
    uint64_t nonce, step;
};

/* Takes the seat on the page. Before core_start(). */
int core_join(const char *page_path, const char *key, uint32_t rank, uint32_t world,
              struct core_place *ret_place, struct err *err);

/* Starts the sender thread. */
int core_start(const char *socket_path, const void *hello, size_t size, struct err *err);

/* Opens the plugin that NCCL is to find (collectives.h); from core_start() on it counts. Before NCCL
 * makes its first communicator, and then only once. */
int core_collectives(const char *plugin_path, struct err *err);

/* Gloo's collectives are wanted: they are told once the bridge is there. Between two steps. */
void core_gloo(void);

/* Sends what is left (200 ms at most), ends the thread, leaves the seat. Done by itself at exit. */
void core_stop(void);

/* Starts the sender again, which was paused for a fork. The next step or event does it too. */
void core_resume(void);

/* The end of a step: its record, then the gate, then the plan. `why` is or-ed into the record.
 * `begun_ns`: when our work at this boundary began, by clock_now_ns(), 0: not known; until the
 * return it is told as our own work in the next step's record. Returns the steps done. */
uint64_t core_step(uint32_t why, uint64_t begun_ns);

uint64_t core_count(void);
void core_plan_next(uint64_t count); /* 0: never */
void core_set_variant(uint32_t key);
void core_dirty(uint32_t why); /* the step in progress is not clean */
void core_fault(void);

/* Torch's own figures of memory by the bridge's library (bridge/loader.h), in each step's record
 * from now on. A file that is not there yet is waited for: the first step after it came loads it,
 * and hooks.bridged() is called. `torch`: its version. Returns 1 when it counts, 0 when it is
 * waited for. */
int core_bridge(const char *path, const char *torch, struct err *err);

/* One reading of the step in progress: `bit` of enum step_valid (DATA to OPS). Times add up. With
 * value < 0 the time since the mark or boundary before. False: no such reading. */
bool core_mark(uint32_t bit, double value);

/* Phases of the step in progress (see phases.h), on the thread that steps; others are ignored. Under
 * the interpreter's lock. core_stepped: an optimizer that is not at a boundary has stepped. */
void core_phase_begin(uint32_t bit);
void core_phase_end(void);
void core_stepped(void);

/* False: dropped and counted. `size` up to EVENT_MAX. */
bool core_event(const void *bytes, size_t size);
bool core_state(const char *kind, int64_t key, const void *bytes, size_t size);

/* CORE_STAT(name, help), all counts from the start. */
#define CORE_STATS(CORE_STAT)                                                                      \
    CORE_STAT(steps, "step records made")                                                          \
    CORE_STAT(steps_sent, "")                                                                      \
    CORE_STAT(steps_dropped, "")                                                                   \
    CORE_STAT(steps_queued, "waiting in the ring")                                                 \
    CORE_STAT(sent, "events and states that went out")                                             \
    CORE_STAT(sent_bytes, "")                                                                      \
    CORE_STAT(dropped, "events and states that were dropped")                                      \
    CORE_STAT(queued, "bytes of events waiting in the ring")                                       \
    CORE_STAT(states, "states that are kept")                                                      \
    CORE_STAT(states_lost, "states that could not be kept")                                        \
    CORE_STAT(connected, "1: to an engine just now")                                               \
    CORE_STAT(connects, "connections made")                                                        \
    CORE_STAT(beats, "beats sent")                                                                 \
    CORE_STAT(votes, "votes sent")                                                                 \
    CORE_STAT(decided, "id of the last proposal applied here")                                     \
    CORE_STAT(waits, "waits at a gate")                                                            \
    CORE_STAT(waited_ns, "")                                                                       \
    CORE_STAT(faults, "errors of ours that were caught")                                           \
    CORE_STAT(frames_unknown, "frames that were skipped")                                          \
    CORE_STAT(frames_bad, "connections closed for a bad frame")                                    \
    CORE_STAT(rss_bytes, "")                                                                       \
    CORE_STAT(rss_peak_bytes, "")                                                                  \
    CORE_STAT(running, "1: the sender thread lives")                                               \
    CORE_STAT(forked, "1: this is a forked child, all is inert")

struct core_stats {
#define CORE_STAT(name, help) uint64_t name;
    CORE_STATS(CORE_STAT)
#undef CORE_STAT
};
void core_get_stats(struct core_stats *ret_stats);

#endif
