/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/viewers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/data/summary.h"
#include "engine/parts.h"
#include "engine/past.h"
#include "engine/base/banned.h"

enum { SUMMARY_RANKS = 32, QUEUE_LOW = VIEWERS_QUEUE / 16 };

/* What is known of a viewer: guest.watching. */
struct watching {
    bool is_screen, is_behind, is_known, has_steps;
    uint64_t order; /* screens come one after the other */
    uint64_t seq;   /* of the last event told */
    uint64_t missed_events, missed_steps;
};

struct viewers {
    struct engine *engine;
    struct past *past;
    char *id;
    uint64_t orders;
    struct guest *in_charge;
    struct buf frame;
};

struct viewers *viewers_new(struct engine *engine) {
    struct viewers *viewers = mem_new(sizeof *viewers);
    viewers->engine = engine;
    viewers->past = past_new();
    viewers->id = mem_printf("%d-%llu", (int)getpid(), (unsigned long long)clock_now_ns());
    return viewers;
}

struct viewers *viewers_free(struct viewers *viewers) {
    if (!viewers) return NULL;
    past_free(viewers->past);
    buf_done(&viewers->frame);
    free(viewers->id);
    free(viewers);
    return NULL;
}

static bool is_screen(const struct guest *guest) {
    return guest->role == GUEST_VIEWER && guest->watching && guest->watching->is_screen;
}

/* ---- sending */

static bool has_room(const struct guest *guest, size_t size) {
    return peer_queued_bytes(guest->peer) + size <= VIEWERS_QUEUE;
}

static size_t screens(const struct viewers *viewers) {
    size_t count = 0;
    for (const struct guest *guest = viewers->engine->guests; guest; guest = guest->next)
        count += is_screen(guest);
    return count;
}

static json_t *status_of(const struct viewers *viewers, const struct guest *guest) {
    const struct watching *watching = guest->watching;
    const json_t *start = viewers->engine->start, *baseline = json_object_get(start, "baseline");
    return json_pack(
        "{si ss sI ss sb ss sb sI sb si s{sI sI}}", "v", WIRE_VERSION, "engine", viewers->id,
        "start_ns", (json_int_t)viewers->engine->start_ns, "name", viewers->engine->session->name,
        "readonly", json_is_true(json_object_get(start, "readonly")), "baseline",
        json_is_string(baseline) ? json_string_value(baseline) : "off", "known", watching->is_known,
        "seq", (json_int_t)watching->seq, "in_charge", viewers->in_charge == guest, "screens",
        (int)screens(viewers), "missed", "events", (json_int_t)watching->missed_events, "steps",
        (json_int_t)watching->missed_steps);
}

static void send_status(struct viewers *viewers, struct guest *guest, bool is_past,
                        const json_t *command) {
    json_t *status = status_of(viewers, guest), *tag = json_object_get(command, "tag");
    json_object_set_new(status, "past", json_boolean(is_past));
    if (command) json_object_set(status, "did", json_object_get(command, "do"));
    if (tag) json_object_set(status, "tag", tag);
    char *text = json_dumps(status, JSON_COMPACT);
    json_decref(status);
    if (text && has_room(guest, 0)) peer_send(guest->peer, FRAME_STATUS, text, strlen(text));
    free(text);
}

static void send_all_status(struct viewers *viewers) {
    for (struct guest *guest = viewers->engine->guests, *next; guest; guest = next) {
        next = guest->next;
        if (is_screen(guest) && !guest->watching->is_behind)
            send_status(viewers, guest, false, NULL);
    }
}

static const struct buf *event_frame(struct viewers *viewers, const struct past_line *line) {
    struct rank_event_record head = {.seq = line->seq, .group_size = (uint32_t)strlen(line->group)};
    buf_clear(&viewers->frame);
    buf_add(&viewers->frame, &head, sizeof head);
    buf_add(&viewers->frame, line->group, head.group_size);
    buf_add(&viewers->frame, line->line, line->size);
    return &viewers->frame;
}

/* False: there is no room now. What no frame can hold is left out. */
static bool send_event(struct viewers *viewers, struct guest *guest, const struct past_line *line) {
    const struct buf *frame = event_frame(viewers, line);
    if (frame->size > FRAME_PAYLOAD_MAX) {
        guest->watching->missed_events++;
        return true;
    }
    return has_room(guest, frame->size) &&
           peer_send(guest->peer, FRAME_RANK_EVENT, frame->data, frame->size);
}

/* The totals, a part of the ranks at a time: one frame would not hold thousands. */
static bool send_totals(struct viewers *viewers, struct guest *guest) {
    const struct store *store = viewers->engine->store;
    bool is_sent = true;
    for (size_t i = 0; is_sent && (i == 0 || i < store_rank_count(store)); i += SUMMARY_RANKS) {
        struct event event;
        struct buf line = BUF_INIT;
        summary_part(store, i, SUMMARY_RANKS, &event);
        event_print(&event, &line);
        is_sent = send_event(
            viewers, guest, &(struct past_line){.group = "", .line = line.data, .size = line.size});
        event_done(&event);
        buf_done(&line);
    }
    return is_sent;
}

static const struct buf *steps_frame(struct viewers *viewers, const char *group, int rank,
                                     const void *records, size_t size) {
    const struct store_rank *facts = store_find_rank(viewers->engine->store, group, rank);
    struct rank_steps_record head = {.rank = rank, .group_size = (uint32_t)strlen(group)};
    if (facts) {
        head.steps_dropped = facts->dropped[LOSS_STEPS];
        head.events_dropped = facts->dropped[LOSS_EVENTS];
        head.bad = facts->dropped[LOSS_BAD];
    }
    buf_clear(&viewers->frame);
    buf_add(&viewers->frame, &head, sizeof head);
    buf_add(&viewers->frame, group, head.group_size);
    buf_add(&viewers->frame, records, size);
    return &viewers->frame;
}

/* ---- the past */

struct telling_past {
    struct viewers *viewers;
    struct guest *guest;
    uint64_t count;
};

static bool tell_past_event(void *ctx, const struct past_line *line) {
    struct telling_past *telling = ctx;
    telling->count++;
    return send_event(telling->viewers, telling->guest, line);
}

static bool tell_past_steps(void *ctx, const char *group, int rank,
                            const struct step_record *records, size_t count) {
    struct telling_past *telling = ctx;
    const struct buf *frame =
        steps_frame(telling->viewers, group, rank, records, count * sizeof *records);
    return has_room(telling->guest, frame->size) &&
           peer_send(telling->guest->peer, FRAME_RANK_STEPS, frame->data, frame->size);
}

/* When it does not get through, it is tried again as a whole: states do no harm twice, and the
 * totals put the rest right. */
static bool tell_past(struct viewers *viewers, struct guest *guest) {
    struct watching *watching = guest->watching;
    struct telling_past telling = {.viewers = viewers, .guest = guest};
    send_status(viewers, guest, true, NULL);
    if (!past_each_event(viewers->past, watching->seq, tell_past_event, &telling)) return false;
    if (!watching->has_steps &&
        !past_each_rank(viewers->past, VIEWERS_PAST_STEPS, tell_past_steps, &telling))
        return false;
    watching->has_steps = true;
    if (!send_totals(viewers, guest)) return false;
    uint64_t behind = past_seq(viewers->past) - watching->seq;
    if (watching->seq && behind > telling.count) watching->missed_events += behind - telling.count;
    watching->seq = past_seq(viewers->past);
    return true;
}

static void catch_up(struct viewers *viewers, struct guest *guest) {
    guest->watching->is_behind = !tell_past(viewers, guest);
    if (!guest->watching->is_behind) send_status(viewers, guest, false, NULL);
}

void viewers_turn(struct viewers *viewers) {
    for (struct guest *guest = viewers->engine->guests, *next; guest; guest = next) {
        next = guest->next;
        if (is_screen(guest) && guest->watching->is_behind &&
            peer_queued_bytes(guest->peer) <= QUEUE_LOW)
            catch_up(viewers, guest);
    }
}

/* ---- coming and going */

/* The screen that came first. */
static struct guest *oldest_screen(const struct viewers *viewers) {
    struct guest *oldest = NULL;
    for (struct guest *guest = viewers->engine->guests; guest; guest = guest->next)
        if (is_screen(guest) && (!oldest || guest->watching->order < oldest->watching->order))
            oldest = guest;
    return oldest;
}

void viewers_hello(struct viewers *viewers, struct guest *guest, const json_t *hello) {
    const char *id = json_string_value(json_object_get(hello, "engine"));
    struct watching *watching = guest->watching = mem_new(sizeof *watching);
    guest->role = GUEST_VIEWER;
    watching->is_screen = json_is_true(json_object_get(hello, "screen"));
    watching->is_known = id && strcmp(id, viewers->id) == 0;
    if (!watching->is_screen) return;
    json_int_t since = json_integer_value(json_object_get(hello, "since"));
    if (watching->is_known && since > 0 && (uint64_t)since <= past_seq(viewers->past))
        watching->seq = (uint64_t)since;
    watching->has_steps =
        watching->is_known; /* it has those that it saw; a gap is better than some twice */
    watching->order = ++viewers->orders;
    watching->is_behind = true;
    if (!viewers->in_charge) viewers->in_charge = guest;
    catch_up(viewers, guest);
    send_all_status(viewers);
}

void viewers_gone(struct viewers *viewers, struct guest *guest) {
    if (guest->role != GUEST_VIEWER) return;
    bool was_screen = is_screen(guest);
    free(guest->watching);
    guest->watching = NULL;
    if (viewers->in_charge == guest) viewers->in_charge = oldest_screen(viewers);
    if (was_screen && !viewers->engine->is_closing) send_all_status(viewers);
}

/* ---- what is told */

static void tell_screen(struct viewers *viewers, struct guest *guest,
                        const struct past_line *line) {
    struct watching *watching = guest->watching;
    if (!watching->is_behind && send_event(viewers, guest, line))
        watching->seq = line->seq;
    else
        watching->is_behind = true;
}

void viewers_event(struct viewers *viewers, const struct event *event, const char *group,
                   const char *line, size_t size) {
    bool is_summary = event->kind == EVENT_SUMMARY; /* screens get it in parts */
    struct past_line told = {.group = group ? group : "", .line = line, .size = size};
    if (!is_summary) told.seq = past_event(viewers->past, event, told.group, line, size);
    for (struct guest *guest = viewers->engine->guests, *next; guest; guest = next) {
        next = guest->next;
        if (guest->role != GUEST_VIEWER) continue;
        if (!is_screen(guest))
            peer_send(guest->peer, FRAME_EVENT, line, size);
        else if (!is_summary)
            tell_screen(viewers, guest, &told);
        else if (!guest->watching->is_behind)
            send_totals(viewers, guest);
    }
}

void viewers_steps(struct viewers *viewers, const struct guest *rank, const struct frame *frame) {
    size_t count = frame->size / sizeof(struct step_record);
    const struct buf *out = NULL;
    past_steps(viewers->past, rank->group, rank->rank, frame->payload, count);
    for (struct guest *guest = viewers->engine->guests, *next; guest; guest = next) {
        next = guest->next;
        if (!is_screen(guest)) continue;
        if (!out)
            out = steps_frame(viewers, rank->group, rank->rank, frame->payload,
                              count * sizeof(struct step_record));
        bool is_sent = !guest->watching->is_behind && has_room(guest, out->size) &&
                       peer_send(guest->peer, FRAME_RANK_STEPS, out->data, out->size);
        if (!is_sent) guest->watching->missed_steps += count;
    }
}

bool viewers_are_idle(const struct viewers *viewers) {
    for (const struct guest *guest = viewers->engine->guests; guest; guest = guest->next)
        if (guest->role == GUEST_VIEWER && peer_queued_bytes(guest->peer)) return false;
    return true;
}

/* ---- commands */

const char *viewers_objection(const struct viewers *viewers, const struct guest *guest) {
    if (!is_screen(guest) || viewers->in_charge == guest) return NULL;
    return "another screen is in charge of this job: take over first";
}

void viewers_take_over(struct viewers *viewers, struct guest *guest) {
    if (!is_screen(guest)) return;
    viewers->in_charge = guest;
    send_all_status(viewers);
}

void viewers_did(struct viewers *viewers, struct guest *guest, const json_t *command) {
    if (guest->watching) send_status(viewers, guest, false, command);
}

void viewers_refuse(struct viewers *viewers, struct guest *guest, const json_t *command,
                    const char *reason) {
    const char *what = json_string_value(json_object_get(command, "do"));
    struct event event =
        event_make(EVENT_PROBLEM, engine_time(viewers->engine), "{so so}", "what",
                   event_string(what ? what : "command"), "text", event_string(reason));
    json_t *tag = json_object_get(command, "tag");
    if (tag) json_object_set(event.body, "tag", tag);
    struct buf line = BUF_INIT;
    event_print(&event, &line);
    if (is_screen(guest))
        send_event(viewers, guest,
                   &(struct past_line){.group = "", .line = line.data, .size = line.size});
    else
        peer_send(guest->peer, FRAME_EVENT, line.data, line.size);
    buf_done(&line);
    event_done(&event);
}
