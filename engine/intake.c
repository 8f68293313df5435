/* What ranks and viewers send, taken in.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/base/banned.h"

static void hello_rank(struct engine *engine, struct guest *guest, const json_t *hello) {
    const char *group = json_string_value(json_object_get(hello, "group"));
    const char *nonce = json_string_value(json_object_get(hello, "nonce"));
    guest->role = GUEST_RANK;
    guest->group_index = (uint32_t)json_integer_value(json_object_get(hello, "group_index"));
    guest->slot = (uint32_t)json_integer_value(json_object_get(hello, "slot"));
    guest->gen = (uint32_t)json_integer_value(json_object_get(hello, "gen"));
    guest->pid = (pid_t)json_integer_value(json_object_get(hello, "pid"));
    guest->rank = (int)guest->slot;
    snprintf(guest->group, sizeof guest->group, "%s", group ? group : "");
    bool same_page = nonce && strtoull(nonce, NULL, 16) == engine->page->nonce;
    if (same_page)
        proposer_join(engine->proposer, &(struct proposer_rank){.peer = guest->peer, .group = guest->group_index,
                                                                .slot = guest->slot, .gen = guest->gen});
}

static void take_hello(struct engine *engine, struct guest *guest, const struct frame *frame) {
    json_t *hello = json_loadb((const char *)frame->payload, frame->size, 0, NULL);
    const char *role = json_string_value(json_object_get(hello, "role"));
    if (guest->role != GUEST_NEW || !role || json_integer_value(json_object_get(hello, "v")) != WIRE_VERSION) {
        peer_close(guest->peer);
    } else if (strcmp(role, "rank") == 0) {
        hello_rank(engine, guest, hello);
    } else {
        viewers_hello(engine->viewers, guest, hello);
    }
    json_decref(hello);
}

static void take_steps(struct engine *engine, struct guest *guest, const struct frame *frame) {
    struct step_record record;
    for (size_t at = 0; at + sizeof record <= frame->size; at += sizeof record) {
        memcpy(&record, frame->payload + at, sizeof record);
        uint32_t gap = guest->has_seq ? record.seq - guest->seq - 1 : record.seq;
        if (gap && gap < UINT32_MAX / 2 && (guest->has_seq || !engine->options.takes_over))
            store_dropped(engine->store, guest->group, guest->rank, LOSS_STEPS, gap);
        guest->has_seq = true;
        guest->seq = record.seq;
        engine_step(engine, &record, guest);
        baselines_step(engine->baselines, guest, &record);
    }
    viewers_steps(engine->viewers, guest, frame);
}

static void note_rank(struct guest *guest, const struct event *event) {
    const char *state = event_text(event, "state");
    if (event->has_rank) guest->rank = event->rank;
    json_decref(guest->identity);
    guest->identity = json_deep_copy(event->body);
    guest->is_over = strcmp(state, "finished") == 0 || strcmp(state, "exited") == 0;
    proposer_rank_is(guest->engine->proposer, guest->peer, state);
    if (guest->is_over) baselines_gone(guest->engine->baselines, guest);
}

static void take_event(struct engine *engine, struct guest *guest, const struct frame *frame) {
    struct event event = EVENT_INIT;
    struct err err;
    int rc = event_parse((const char *)frame->payload, frame->size, engine->start_ns, &event, &err);
    if (rc < 0) {
        store_dropped(engine->store, guest->group, guest->rank, LOSS_BAD, 1);
        if (!guest->bad++) engine_problem(engine, "event", err.message, NULL);
        return;
    }
    if (event.kind == EVENT_RANK) note_rank(guest, &event);
    else if (!event.has_rank) event_set_rank(&event, guest->rank);
    if (event.kind == EVENT_SWITCH) {
        proposer_result(engine->proposer, guest->peer, &event);
        if (!json_object_get(event.body, "forgot")) baselines_switch(engine->baselines, &event, guest);
    }
    if (event.kind == EVENT_BRIDGE && !engine->ended_ns) bridge_wanted(engine, &event);
    bool is_hooked = event.kind == EVENT_RANK && strcmp(event_text(&event, "state"), "hooked") == 0;
    if (event.kind == EVENT_COMPILING) {
        advice_compiling(engine);
        compilers_compiling(engine, guest, event_text(&event, "state"));
    }
    engine_tell(engine, &event, guest->group);
    if (is_hooked) restart_offer(engine, guest);
}

static void take_beat(struct engine *engine, struct guest *guest, const struct frame *frame) {
    struct beat_record beat;
    if (frame->size < sizeof beat) return;
    memcpy(&beat, frame->payload, sizeof beat);
    if (beat.events_dropped > guest->events_dropped) {
        store_dropped(engine->store, guest->group, guest->rank, LOSS_EVENTS, beat.events_dropped - guest->events_dropped);
        guest->events_dropped = beat.events_dropped;
    }
}

static void take_vote(struct engine *engine, struct guest *guest, const struct frame *frame) {
    struct vote_record vote;
    char reason[400];
    if (frame->size < sizeof vote) return;
    memcpy(&vote, frame->payload, sizeof vote);
    snprintf(reason, sizeof reason, "%.*s", (int)(frame->size - sizeof vote), (const char *)frame->payload + sizeof vote);
    proposer_vote(engine->proposer, guest->peer, vote.id, vote.ready, reason);
}

static struct guest *guest_of(struct engine *engine, struct peer *peer) {
    struct guest *guest = peer_data(peer);
    if (guest) return guest;
    guest = mem_new(sizeof *guest);
    guest->engine = engine;
    guest->peer = peer;
    guest->next = engine->guests;
    engine->guests = guest;
    peer_set_data(peer, guest);
    return guest;
}

static void took(void *ctx, struct peer *peer, const struct frame *frame) {
    struct engine *engine = ctx;
    struct guest *guest = guest_of(engine, peer);
    if (frame->type == FRAME_HELLO) take_hello(engine, guest, frame);
    else if (guest->role == GUEST_VIEWER && frame->type == FRAME_COMMAND) command_take(engine, guest, frame);
    else if (guest->role != GUEST_RANK) peer_close(peer);
    else if (frame->type == FRAME_STEPS) take_steps(engine, guest, frame);
    else if (frame->type == FRAME_EVENT || frame->type == FRAME_STATE) take_event(engine, guest, frame);
    else if (frame->type == FRAME_BEAT) take_beat(engine, guest, frame);
    else if (frame->type == FRAME_VOTE) take_vote(engine, guest, frame);
}

void intake_lost(struct engine *engine, struct guest *guest, const char *state, const char *reason) {
    if (!guest->identity) return;
    struct event event = event_make(EVENT_RANK, engine_time(engine), "{}");
    json_object_update(event.body, guest->identity);
    json_object_set_new(event.body, "state", json_string(state));
    json_object_set_new(event.body, "reason", event_string(reason));
    event_set_rank(&event, guest->rank);
    engine_tell(engine, &event, guest->group);
}

static void gone(void *ctx, struct peer *peer) {
    struct engine *engine = ctx;
    struct guest *guest = peer_data(peer);
    if (!guest) return;
    for (struct guest **at = &engine->guests; *at; at = &(*at)->next)
        if (*at == guest) {
            *at = guest->next;
            break;
        }
    peer_set_data(peer, NULL);
    if (guest->role == GUEST_RANK) {
        proposer_leave(engine->proposer, peer);
        baselines_gone(engine->baselines, guest);
        if (!guest->is_over && !engine->is_closing) {
            bool lives = process_start(guest->pid) != 0;
            intake_lost(engine, guest, lives ? "stalled" : "lost",
                        lives ? "the connection ended, the process lives" : "the process ended without a word: killed?");
            if (lives) {
                stalled_add(engine, guest);
                return;
            }
        }
    }
    viewers_gone(engine->viewers, guest);
    json_decref(guest->identity);
    free(guest);
}

const struct hub_ops intake_ops = {.frame = took, .gone = gone};
