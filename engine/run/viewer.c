/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

enum { READ_SIZE = 64 << 10 };

/* One connection, from the first try to its end. */
struct link {
    uv_pipe_t pipe;
    uv_connect_t connect;
    struct viewer *viewer; /* NULL: nobody wants it any more */
    bool is_closing;
};

struct viewer {
    struct viewer_options options;
    uv_timer_t retry;
    struct link *link;
    bool is_connected, is_freed, has_job_ended, is_successor;
    struct buf in;
    uint64_t seq; /* of the last event told */
    char *engine; /* id of the engine that told it, or NULL */
    json_t *status;
    char *did, *tag;
    char reason[512];
    unsigned tries;
    uint64_t
        started_ns; /* when an engine was asked for last, or may be starting by itself; 0: never */
    struct viewer_facts facts;
    int handles; /* not closed yet */
    char room[READ_SIZE];
};

struct send {
    uv_write_t request;
    uint8_t header[FRAME_HEADER_SIZE];
    char payload[];
};

static void changed(struct viewer *viewer) {
    viewer->options.sink.changed(viewer->options.sink.ctx);
}

static void set_state(struct viewer *viewer, enum source_state state, const char *reason) {
    bool is_same = viewer->facts.state == state && strcmp(viewer->reason, reason) == 0;
    viewer->facts.state = state;
    snprintf(viewer->reason, sizeof viewer->reason, "%s", reason);
    if (!is_same) changed(viewer);
}

/* ---- its end */

static void closed(struct viewer *viewer) {
    if (--viewer->handles || !viewer->is_freed) return;
    buf_done(&viewer->in);
    json_decref(viewer->status);
    free(viewer->engine);
    free(viewer->did);
    free(viewer->tag);
    free(viewer);
}

static void link_closed(uv_handle_t *handle) {
    struct link *link = handle->data;
    struct viewer *viewer = link->viewer;
    free(link);
    closed(viewer);
}

static void timer_closed(uv_handle_t *handle) {
    closed(handle->data);
}

static void close_link(struct viewer *viewer) {
    struct link *link = viewer->link;
    viewer->link = NULL;
    viewer->is_connected = false;
    buf_clear(&viewer->in);
    if (!link || link->is_closing) return;
    link->is_closing = true;
    uv_close((uv_handle_t *)&link->pipe, link_closed);
}

void viewer_free(struct viewer *viewer) {
    if (!viewer || viewer->is_freed) return;
    viewer->is_freed = true;
    close_link(viewer);
    uv_close((uv_handle_t *)&viewer->retry, timer_closed);
}

/* ---- sending */

static void sent(uv_write_t *request, int status) {
    (void)status; /* the read side sees the end too */
    free(request->data);
}

static bool send_frame(struct viewer *viewer, uint8_t type, const json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0;
    struct send *send = mem_new(sizeof *send + size);
    frame_header(send->header, type, (uint32_t)size);
    if (size) memcpy(send->payload, text, size);
    free(text);
    send->request.data = send;
    uv_buf_t parts[2] = {uv_buf_init((char *)send->header, FRAME_HEADER_SIZE),
                         uv_buf_init(send->payload, (unsigned)size)};
    if (size <= FRAME_PAYLOAD_MAX &&
        uv_write(&send->request, (uv_stream_t *)&viewer->link->pipe, parts, 2, sent) == 0)
        return true;
    free(send);
    return false;
}

int viewer_command(struct viewer *viewer, const char *what, json_t *command, struct err *err) {
    json_t *whole = command ? command : json_object();
    json_object_set_new(whole, "v", json_integer(WIRE_VERSION));
    json_object_set_new(whole, "do", json_string(what));
    bool is_sent = viewer->is_connected && send_frame(viewer, FRAME_COMMAND, whole);
    json_decref(whole);
    return is_sent ? 0 : err_set(err, ERR_MISSING, "no engine is connected: %s", viewer->reason);
}

static void send_hello(struct viewer *viewer) {
    json_t *hello = json_pack("{si ss sb}", "v", WIRE_VERSION, "role", "viewer", "screen", 1);
    if (viewer->engine) {
        json_object_set_new(hello, "engine", json_string(viewer->engine));
        json_object_set_new(hello, "since", json_integer((json_int_t)viewer->seq));
    }
    send_frame(viewer, FRAME_HELLO, hello);
    json_decref(hello);
}

/* ---- what the engine tells */

static uint64_t whole(const json_t *object, const char *name) {
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static void take_answer(struct viewer *viewer, const json_t *status) {
    const char *did = json_string_value(json_object_get(status, "did"));
    json_t *tag = json_object_get(status, "tag");
    if (!did) return;
    free(viewer->did);
    free(viewer->tag);
    viewer->did = mem_strdup(did);
    viewer->tag = tag ? json_dumps(tag, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    viewer->facts.did_count++;
}

/* Another engine than the one that told us before knows less than we do: its totals are not for us.
 */
static void take_engine(struct viewer *viewer, const json_t *status) {
    const char *id = json_string_value(json_object_get(status, "engine"));
    if (!id || (viewer->engine && strcmp(viewer->engine, id) == 0)) return;
    viewer->is_successor |= viewer->engine != NULL;
    free(viewer->engine);
    viewer->engine = mem_strdup(id);
    viewer->seq = 0;
}

static void take_status(struct viewer *viewer, const struct frame *frame) {
    json_t *status = json_loadb((const char *)frame->payload, frame->size, 0, NULL);
    struct viewer_facts *facts = &viewer->facts;
    if (!json_is_object(status)) {
        facts->bad++;
        json_decref(status);
        return;
    }
    json_decref(viewer->status);
    viewer->status = status;
    bool is_past = json_is_true(json_object_get(status, "past"));
    const json_t *missed = json_object_get(status, "missed");
    take_engine(viewer, status);
    if (!is_past) viewer->seq = whole(status, "seq");
    facts->has_status = true;
    facts->start_ns = whole(status, "start_ns");
    facts->is_readonly = json_is_true(json_object_get(status, "readonly"));
    facts->is_in_charge = json_is_true(json_object_get(status, "in_charge"));
    facts->screens = (int)whole(status, "screens");
    facts->missed_events = whole(missed, "events");
    facts->missed_steps = whole(missed, "steps");
    take_answer(viewer, status);
    facts->state = is_past ? SOURCE_CATCHING_UP : SOURCE_LIVE;
    viewer->reason[0] = 0;
    viewer->tries = 0;
    changed(viewer);
}

static bool has_ended(const struct event *event) {
    const char *state = event_text(event, "state");
    return event->kind == EVENT_JOB && state &&
           (strcmp(state, "ended") == 0 || strcmp(state, "lost") == 0);
}

static void take_event(struct viewer *viewer, const struct frame *frame) {
    struct rank_event_record head;
    struct event event = EVENT_INIT;
    memcpy(&head, frame->payload, frame->size < sizeof head ? 0 : sizeof head);
    if (frame->size < sizeof head || frame->size - sizeof head < head.group_size) {
        viewer->facts.bad++;
        return;
    }
    const char *group = (const char *)frame->payload + sizeof head, *line = group + head.group_size;
    size_t size = frame->size - sizeof head - head.group_size;
    if (event_parse(line, size, viewer->facts.start_ns, &event, NULL) < 0) {
        viewer->facts.bad++;
        return;
    }
    char *key = head.group_size ? mem_strndup(group, head.group_size) : NULL;
    if (head.seq && viewer->facts.state == SOURCE_LIVE) viewer->seq = head.seq;
    viewer->has_job_ended |= has_ended(&event);
    if (event.kind != EVENT_SUMMARY || !viewer->is_successor)
        viewer->options.sink.event(viewer->options.sink.ctx, &event, key);
    free(key);
    event_done(&event);
}

static void take_steps(struct viewer *viewer, const struct frame *frame) {
    struct rank_steps_record head;
    memcpy(&head, frame->payload, frame->size < sizeof head ? 0 : sizeof head);
    if (frame->size < sizeof head || frame->size - sizeof head < head.group_size || head.rank < 0) {
        viewer->facts.bad++;
        return;
    }
    const char *group = (const char *)frame->payload + sizeof head;
    char *key = mem_strndup(group, head.group_size);
    struct source_steps steps = {.rank = head.rank,
                                 .group = key,
                                 .start_ns = viewer->facts.start_ns,
                                 .records = group + head.group_size,
                                 .count = (frame->size - sizeof head - head.group_size) /
                                          sizeof(struct step_record),
                                 .has_dropped = true,
                                 .dropped = {head.steps_dropped, head.events_dropped, head.bad}};
    viewer->options.sink.steps(viewer->options.sink.ctx, &steps);
    free(key);
}

static void take_frame(struct viewer *viewer, const struct frame *frame) {
    if (frame->type == FRAME_RANK_STEPS)
        take_steps(viewer, frame);
    else if (frame->type == FRAME_RANK_EVENT)
        take_event(viewer, frame);
    else if (frame->type == FRAME_STATUS)
        take_status(viewer, frame);
    else
        viewer->facts.bad++;
}

/* ---- connecting */

static void try_again(struct viewer *viewer, const char *reason);

static void lose(struct viewer *viewer, const char *reason) {
    if (viewer->is_connected) viewer->facts.losses++;
    close_link(viewer);
    try_again(viewer, reason);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret) {
    struct link *link = handle->data;
    (void)wanted;
    *ret = uv_buf_init(link->viewer->room, READ_SIZE);
}

static void got(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes) {
    struct link *link = stream->data;
    struct viewer *viewer = link->viewer;
    if (link->is_closing || size == 0) return;
    if (size < 0) {
        lose(viewer, "the engine went away");
        return;
    }
    size_t used = 0;
    long n = 0;
    buf_add(&viewer->in, bytes->base, (size_t)size);
    while (viewer->link == link) { /* a sink may free the viewer */
        struct frame frame;
        n = frame_parse((const uint8_t *)viewer->in.data + used, viewer->in.size - used, &frame);
        if (n <= 0) break;
        used += (size_t)n;
        take_frame(viewer, &frame);
    }
    if (viewer->link != link) return;
    buf_drop(&viewer->in, used);
    if (n < 0) viewer->facts.bad++, lose(viewer, "the engine sent what is no frame");
}

static void connected(uv_connect_t *request, int status) {
    struct link *link = request->handle->data;
    struct viewer *viewer = link->viewer;
    if (link->is_closing) return;
    if (status == 0) status = uv_read_start((uv_stream_t *)&link->pipe, give_room, got);
    if (status < 0) {
        lose(viewer, "the engine does not answer");
        return;
    }
    viewer->is_connected = true;
    send_hello(viewer);
}

static void connect_now(uv_timer_t *timer) {
    struct viewer *viewer = timer->data;
    char *path = session_path(viewer->options.session, "sock");
    struct link *link = viewer->link = mem_new(sizeof *link);
    link->viewer = viewer;
    viewer->handles++;
    uv_pipe_init(viewer->options.loop, &link->pipe, 0);
    link->pipe.data = link;
    uv_pipe_connect(&link->connect, &link->pipe, path, connected);
    free(path);
}

/* Asks for an engine when none holds the lock. */
static void need_engine(struct viewer *viewer) {
    const struct viewer_options *options = &viewer->options;
    uint64_t now = clock_now_ns();
    bool is_soon =
        viewer->started_ns && now - viewer->started_ns < VIEWER_START_MS * UINT64_C(1000000);
    struct err err;
    if (!options->start_engine || is_soon || session_has_engine(options->session)) return;
    viewer->started_ns = now;
    if (options->start_engine(options->session, &err))
        snprintf(viewer->reason, sizeof viewer->reason, "%s", err.message);
}

static void try_again(struct viewer *viewer, const char *reason) {
    if (viewer->is_freed) return;
    if (viewer->has_job_ended || session_is_ended(viewer->options.session)) {
        set_state(viewer, SOURCE_ENDED, "the job has ended");
        return;
    }
    set_state(viewer, viewer->facts.has_status ? SOURCE_LOST : SOURCE_CONNECTING, reason);
    if (viewer->is_freed) return;
    need_engine(viewer);
    uint64_t wait_ms = VIEWER_RETRY_MS << (viewer->tries < 5 ? viewer->tries++ : 5);
    uv_timer_start(&viewer->retry, connect_now,
                   wait_ms < VIEWER_RETRY_MOST_MS ? wait_ms : VIEWER_RETRY_MOST_MS, 0);
}

struct viewer *viewer_new(const struct viewer_options *options) {
    struct viewer *viewer = mem_new(sizeof *viewer);
    viewer->options = *options;
    viewer->facts.state = SOURCE_CONNECTING;
    viewer->handles = 1;
    uv_timer_init(options->loop, &viewer->retry);
    viewer->retry.data = viewer;
    uv_timer_start(&viewer->retry, connect_now, 0, 0);
    if (!options->is_attached) viewer->started_ns = clock_now_ns();
    return viewer;
}

struct viewer_facts viewer_facts(const struct viewer *viewer) {
    struct viewer_facts facts = viewer->facts;
    const char *baseline = json_string_value(json_object_get(viewer->status, "baseline"));
    facts.reason = viewer->reason;
    facts.baseline = baseline ? baseline : "off";
    facts.did = viewer->did;
    facts.tag = viewer->tag;
    return facts;
}
