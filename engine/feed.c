/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/feed.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/store.h"
#include "engine/data/summary.h"
#include "engine/event/event.h"
#include "engine/run/viewer.h"
#include "engine/settings_json.h"
#include "engine/tape/replay.h"
#include "engine/base/banned.h"

struct feed {
    struct feed_options options;
    struct store *store;
    struct viewer *viewer; /* one of the two */
    struct replay *replay;
    uint64_t now_ns;
};

/* ---- what the source tells */

static void tell_change(struct feed *feed) {
    if (feed->options.changed) feed->options.changed(feed->options.ctx);
}

static void take_event(void *ctx, const struct event *event, const char *group) {
    struct feed *feed = ctx;
    store_take(feed->store, event, group);
    tell_change(feed);
}

static void take_steps(void *ctx, const struct source_steps *steps) {
    struct feed *feed = ctx;
    const char *at = steps->records;
    for (size_t i = 0; i < steps->count; i++, at += sizeof(struct step_record)) {
        struct step_record record;
        memcpy(&record, at, sizeof record);
        store_step(feed->store, &record, steps->rank, steps->group, steps->start_ns);
    }
    if (steps->has_dropped)
        store_set_dropped(feed->store, steps->group, steps->rank, steps->dropped);
    tell_change(feed);
}

static void begin(struct feed *feed) {
    store_free(feed->store);
    feed->store = store_new();
    store_keep_views(feed->store);
}

static void begin_again(void *ctx) {
    begin(ctx);
    tell_change(ctx);
}

static void state_changed(void *ctx) {
    tell_change(ctx);
}

static struct source_sink sink_of(struct feed *feed) {
    return (struct source_sink){.event = take_event,
                                .steps = take_steps,
                                .again = begin_again,
                                .changed = state_changed,
                                .ctx = feed};
}

/* ---- coming and going */

static struct feed *feed_new(const struct feed_options *options) {
    struct feed *feed = mem_new(sizeof *feed);
    feed->options = *options;
    begin(feed);
    return feed;
}

struct feed *feed_attach(const struct feed_options *options) {
    struct feed *feed = feed_new(options);
    const struct viewer_options viewer = {.loop = options->loop,
                                          .session = options->session,
                                          .sink = sink_of(feed),
                                          .is_attached = options->is_attached,
                                          .start_engine = options->start_engine};
    feed->viewer = viewer_new(&viewer);
    return feed;
}

int feed_tape(const struct feed_options *options, const char *path, struct feed **ret,
              struct err *err) {
    struct feed *feed = feed_new(options);
    struct source_sink sink = sink_of(feed);
    int rc = replay_open(path, &sink, &feed->replay, err);
    if (rc)
        feed_free(feed);
    else
        *ret = feed;
    return rc;
}

void feed_free(struct feed *feed) {
    if (!feed) return;
    viewer_free(feed->viewer);
    replay_free(feed->replay);
    store_free(feed->store);
    free(feed);
}

bool feed_turn(struct feed *feed, uint64_t now_ns) {
    feed->now_ns = now_ns;
    return feed->replay && replay_turn(feed->replay, now_ns);
}

/* ---- pictures */

/* A job that is over stands still. */
static double live_now(const struct feed *feed, const struct viewer_facts *facts) {
    double last = store_time(feed->store);
    if (!facts->has_status || facts->state == SOURCE_ENDED || feed->now_ns < facts->start_ns)
        return last;
    double now = (double)(feed->now_ns - facts->start_ns) / 1e9;
    return now > last ? now : last;
}

static double now_of(const struct feed *feed) {
    if (feed->replay) return replay_facts(feed->replay).t;
    struct viewer_facts facts = viewer_facts(feed->viewer);
    return live_now(feed, &facts);
}

const struct snapshot *feed_snapshot(struct feed *feed) {
    return snapshot_take(feed->store, now_of(feed));
}

static struct feed_facts facts_of_tape(const struct feed *feed) {
    struct replay_facts facts = replay_facts(feed->replay);
    return (struct feed_facts){.is_tape = true,
                               .state = facts.state,
                               .reason = "",
                               .now = facts.t,
                               .bad = facts.bad,
                               .bad_text = facts.bad_text,
                               .is_readonly = true,
                               .baseline = "off",
                               .length = facts.length,
                               .speed = facts.speed,
                               .progress = facts.progress,
                               .has_step = facts.has_step,
                               .step = facts.step};
}

struct feed_facts feed_facts(const struct feed *feed) {
    if (feed->replay) return facts_of_tape(feed);
    struct viewer_facts facts = viewer_facts(feed->viewer);
    return (struct feed_facts){.state = facts.state,
                               .reason = facts.reason,
                               .now = live_now(feed, &facts),
                               .bad = facts.bad,
                               .is_readonly = facts.is_readonly,
                               .is_in_charge = facts.is_in_charge,
                               .baseline = facts.baseline,
                               .screens = facts.screens,
                               .losses = facts.losses,
                               .missed_events = facts.missed_events,
                               .missed_steps = facts.missed_steps,
                               .did = facts.did,
                               .tag = facts.tag,
                               .did_count = facts.did_count,
                               .progress = 1};
}

void feed_summary(const struct feed *feed, int width, struct buf *ret) {
    summary_table(feed->store, ret, width);
}

/* ---- what a person asks for */

static int command(struct feed *feed, const char *what, json_t *body, const char *group,
                   const char *tag, struct err *err) {
    if (group) json_object_set_new(body, "group", event_string(group));
    if (tag) json_object_set_new(body, "tag", event_string(tag));
    if (feed->viewer) return viewer_command(feed->viewer, what, body, err);
    json_decref(body);
    return err_set(err, ERR_REFUSED, "this is a tape: nothing can be changed");
}

int feed_propose(struct feed *feed, const struct settings *change, const char *group,
                 const char *tag, struct err *err) {
    return command(feed, "propose", json_pack("{so}", "change", settings_to_json(change)), group, tag, err);
}

int feed_forget(struct feed *feed, const struct settings *settings, const char *group,
                const char *tag, struct err *err) {
    return command(feed, "propose", json_pack("{so}", "forget", settings_to_json(settings)), group, tag, err);
}

int feed_compare(struct feed *feed, const struct settings *change, const char *group,
                 const char *tag, struct err *err) {
    return command(feed, "compare", json_pack("{so}", "change", settings_to_json(change)), group, tag, err);
}

int feed_baseline(struct feed *feed, const char *group, const char *tag, struct err *err) {
    return command(feed, "baseline", json_object(), group, tag, err);
}

int feed_take_over(struct feed *feed, const char *tag, struct err *err) {
    return command(feed, "take over", json_object(), NULL, tag, err);
}

/* ---- tapes */

void feed_play(struct feed *feed, bool is_playing) {
    if (feed->replay) replay_play(feed->replay, is_playing);
}

void feed_set_speed(struct feed *feed, double speed) {
    if (feed->replay) replay_set_speed(feed->replay, speed);
}

void feed_seek(struct feed *feed, double t) {
    if (feed->replay) replay_seek(feed->replay, t);
}

void feed_seek_step(struct feed *feed, uint64_t step) {
    if (feed->replay) replay_seek_step(feed->replay, step);
}

void feed_step(struct feed *feed, int64_t steps) {
    if (feed->replay) replay_step(feed->replay, steps);
}
