/* The engine's parts, for the files of engine/ itself alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_PARTS_H
#define INDUCTOP_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "engine/data/store.h"
#include "engine/engine.h"
#include "engine/event/event.h"
#include "engine/run/hub.h"
#include "engine/run/proposer.h"
#include "engine/run/session.h"
#include "engine/setup/settings.h"
#include "engine/tune/baseline.h"
#include "engine/tune/findings.h"
#include "engine/viewers.h"
#include "engine/wire/page.h"

enum { GROUP_TEXT = 96 };

/* Who is at the other end of a connection; the peer's data. */
struct guest {
    struct engine *engine;
    struct peer *peer;
    struct guest *next;
    enum guest_role { GUEST_NEW, GUEST_RANK, GUEST_VIEWER } role;
    char group[GROUP_TEXT];
    uint32_t group_index, slot, gen;
    int rank;
    pid_t pid;
    bool has_seq, is_over; /* over: it said that it has finished */
    uint32_t seq;          /* of the last step record */
    uint64_t events_dropped, bad;
    json_t *identity; /* body of its last rank event */
    struct watching *watching; /* of a viewer; viewers.c */
};

struct engine {
    uv_loop_t *loop;
    struct engine_options options;
    struct session *session;
    int lock;
    struct hub *hub;
    struct guest *guests;
    struct guest *stalled; /* ranks that are not connected any more; stalled.c */
    struct store *store;
    struct viewers *viewers;
    struct page *page;
    struct proposer *proposer;
    struct baselines *baselines;
    struct findings *findings; /* advice.c */
    uint64_t next_look_ns;
    struct held *held; /* commands that wait for ranks; commands.c */
    struct bridge_build *builds; /* compilers that run, and those that ran; bridges.c */
    struct compiled_for *compilers; /* compilers.c */
    uint64_t next_compilers_ns;
    json_t *start; /* start.json */
    uint64_t start_ns;
    uv_poll_t job_end;
    uv_timer_t tick;
    int job_fd;
    uint64_t ended_ns; /* when the job was seen to have ended; 0: it runs */
    bool is_closing;
    uint64_t closing_ns; /* since when */
    struct buf line;
};

/* engine.c: stores the event, gives it to sinks and viewers, and ends it. `group` of the rank it comes from, or NULL. */
void engine_tell(struct engine *engine, struct event *event, const char *group);
void engine_step(struct engine *engine, const struct step_record *record, const struct guest *rank);
double engine_time(const struct engine *engine);
void engine_problem(struct engine *engine, const char *what, const char *text, const char *hint);

/* intake.c: frames from ranks and viewers. */
extern const struct hub_ops intake_ops;
void intake_lost(struct engine *engine, struct guest *guest, const char *state, const char *reason);

/* advice.c: findings. */
void advice_turn(struct engine *engine);
void advice_compiling(struct engine *engine); /* somebody begins or ends to compile: look within a tenth of a second */
void advice_look(struct engine *engine); /* now */

/* stalled.c: takes over the guest of a rank whose connection ended while its process lived. */
void stalled_add(struct engine *engine, struct guest *guest);
void stalled_turn(struct engine *engine);
void stalled_end(struct engine *engine);

/* commands.c: what viewers ask for, and what becomes of proposals. */
void command_take(struct engine *engine, struct guest *guest, const struct frame *frame);
void command_turn(struct engine *engine);
void command_end(struct engine *engine);
void command_told(void *ctx, const struct proposal *proposal);
void command_ready(void *ctx, const struct proposal *proposal, const struct peer *peer);

/* headroom.c: what a rank's device must have free for it, at the most of a rank. */
uint64_t headroom_device_bytes(const struct engine *engine, const char *group, uint32_t current, uint32_t other);

/* NULL, or why what runs under `current` in this group must not try `other` for lack of memory. Good until the next call. */
const char *headroom_objection(const struct engine *engine, const char *group, uint32_t current, uint32_t other);

/* restarts.c: a rank of a new round is hooked. */
void restart_offer(struct engine *engine, const struct guest *guest);

/* bridges.c: a rank's bridge event; one that wants a library gets it built. bridges_leave(): a compiler that still runs goes on by
 * itself; its handle needs a turn of the loop before bridges_free(). */
void bridge_wanted(struct engine *engine, const struct event *event);
void bridges_leave(struct engine *engine);
void bridges_free(struct engine *engine);

/* compilers.c: what compiles for the ranks in other processes. A rank's compiling event; at the end what was not told yet is. */
void compilers_compiling(struct engine *engine, const struct guest *guest, const char *state);
void compilers_turn(struct engine *engine);
void compilers_end(struct engine *engine);
void compilers_free(struct engine *engine);

/* baselines.c: comparisons with eager and other settings, in each group. */
struct baselines *baselines_new(struct engine *engine, const char *mode);
void baselines_free(struct baselines *baselines);

/* Compares the settings in force in the group of this rank with `settings` (an object; NULL: eager), also with --baseline off. What
 * comes of it is told with `tag` (may be NULL). NULL, or why that cannot be. */
const char *baselines_ask(struct baselines *baselines, const struct guest *member, const json_t *settings, json_t *tag);
void baselines_step(struct baselines *baselines, const struct guest *guest, const struct step_record *record);
void baselines_switch(struct baselines *baselines, const struct event *event, const struct guest *guest);
void baselines_told(struct baselines *baselines, const struct proposal *proposal);
void baselines_gone(struct baselines *baselines, const struct guest *guest);
void baselines_turn(struct baselines *baselines);
void baselines_end(struct baselines *baselines);

#endif
