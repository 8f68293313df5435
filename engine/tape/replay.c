/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tape/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/tape/reader.h"
#include "engine/base/banned.h"

enum goal { GOAL_NONE, GOAL_TIME, GOAL_STEP };

/* A line that was read and is not told yet. */
struct held {
    bool is_there, is_step;
    double t;
    uint64_t step;
    struct event event;
    struct step_record record;
    int rank;
};

struct replay {
    struct reader reader;
    struct source_sink sink;
    struct held held;
    bool is_playing, is_over; /* over: no line is left just now */
    bool has_now, has_step;
    uint64_t now_ns, step;
    double t, length, speed;
    enum goal goal;
    double goal_t, from_t;
    uint64_t goal_step, from_step;
    uint64_t bad, lines;
    struct err why; /* of the first bad line */
};

int replay_open(const char *path, const struct source_sink *sink, struct replay **ret,
                struct err *err) {
    struct reader reader;
    int rc = reader_open(&reader, path, err);
    if (rc) return rc;
    struct replay *replay = mem_new(sizeof *replay);
    replay->reader = reader;
    replay->sink = *sink;
    replay->speed = 1;
    replay->length = reader_last_t(&replay->reader);
    *ret = replay;
    return 0;
}

static void drop_held(struct replay *replay) {
    if (replay->held.is_there && !replay->held.is_step) event_done(&replay->held.event);
    replay->held.is_there = false;
}

struct replay *replay_free(struct replay *replay) {
    if (!replay) return NULL;
    drop_held(replay);
    reader_done(&replay->reader);
    free(replay);
    return NULL;
}

static void changed(struct replay *replay) {
    replay->sink.changed(replay->sink.ctx);
}

/* ---- lines ---- */

static bool take_line(struct replay *replay, const char *line, size_t size) {
    struct held *held = &replay->held;
    struct err why;
    if (event_step_parse(line, size, &held->record, &held->rank)) {
        held->is_step = true;
        held->t = (double)held->record.end_ns / 1e9;
        held->step = held->record.step;
        return held->is_there = true;
    }
    if (event_parse(line, size, 0, &held->event, &why) < 0) {
        if (!replay->bad++) replay->why = why;
        return false;
    }
    held->is_step = false;
    held->t = held->event.t;
    held->step = held->event.step;
    return held->is_there = true;
}

/* False when no line is left. `budget` is what may still be read. */
static bool hold_next(struct replay *replay, size_t *budget) {
    const char *line;
    size_t size;
    while (!replay->held.is_there) {
        if (!*budget) return false;
        if (!reader_next(&replay->reader, &line, &size)) {
            replay->is_over = true;
            return false;
        }
        replay->is_over = false;
        *budget -= size + 1 < *budget ? size + 1 : *budget;
        if (strspn(line, " \t\r") < size) take_line(replay, line, size);
    }
    return true;
}

static bool ends_step(const struct held *held) {
    return held->is_step || held->event.kind == EVENT_STEP;
}

static void tell_held(struct replay *replay) {
    struct held *held = &replay->held;
    replay->lines++;
    if (ends_step(held) && (!replay->has_step || held->step > replay->step)) {
        replay->has_step = true;
        replay->step = held->step;
    }
    if (held->t > replay->length) replay->length = held->t;
    held->is_there = false;
    if (held->is_step) {
        struct source_steps steps = {.rank = held->rank, .records = &held->record, .count = 1};
        replay->sink.steps(replay->sink.ctx, &steps);
    } else {
        struct event event = held->event;
        replay->sink.event(replay->sink.ctx, &event, NULL);
        event_done(&event);
    }
}

static bool is_due(const struct replay *replay) {
    const struct held *held = &replay->held;
    if (replay->goal == GOAL_TIME) return held->t <= replay->goal_t;
    if (replay->goal == GOAL_STEP) return !ends_step(held) || held->step <= replay->goal_step;
    return held->t <= replay->t;
}

/* ---- time ---- */

static void reach(struct replay *replay) {
    if (replay->goal == GOAL_TIME) replay->t = fmin(replay->goal_t, replay->length);
    replay->goal = GOAL_NONE;
    changed(replay);
}

static void pass_time(struct replay *replay, uint64_t now_ns) {
    if (replay->has_now && replay->is_playing && replay->goal == GOAL_NONE &&
        now_ns > replay->now_ns)
        replay->t += replay->speed * (double)(now_ns - replay->now_ns) / 1e9;
    replay->now_ns = now_ns;
    replay->has_now = true;
}

bool replay_turn(struct replay *replay, uint64_t now_ns) {
    size_t budget = REPLAY_TURN_BYTES;
    bool was_over = replay->is_over;
    pass_time(replay, now_ns);
    while (hold_next(replay, &budget)) {
        if (!is_due(replay)) {
            if (replay->goal != GOAL_NONE) reach(replay);
            return false;
        }
        if (replay->goal != GOAL_NONE) replay->t = fmax(replay->t, replay->held.t);
        tell_held(replay);
    }
    if (!replay->is_over) return true;
    replay->t = fmin(replay->t, replay->length);
    if (replay->goal != GOAL_NONE) {
        replay->t = replay->length;
        reach(replay);
    } else if (!was_over) {
        changed(replay);
    }
    return false;
}

void replay_play(struct replay *replay, bool is_playing) {
    replay->is_playing = is_playing;
    changed(replay);
}

void replay_set_speed(struct replay *replay, double speed) {
    replay->speed = fmin(fmax(speed, REPLAY_SPEED_LEAST), REPLAY_SPEED_MOST);
    changed(replay);
}

/* ---- moving ---- */

static void begin_again(struct replay *replay) {
    drop_held(replay);
    reader_rewind(&replay->reader);
    replay->t = 0;
    replay->has_step = false;
    replay->step = 0;
    replay->bad = replay->lines = 0;
    replay->is_over = false;
    replay->sink.again(replay->sink.ctx);
}

static void go(struct replay *replay, enum goal goal) {
    replay->goal = goal;
    replay->from_t = replay->t;
    replay->from_step = replay->step;
    changed(replay);
}

void replay_seek(struct replay *replay, double t) {
    t = fmax(t, 0); /* NaN is 0 */
    if (t < replay->t) begin_again(replay);
    replay->goal_t = t;
    go(replay, GOAL_TIME);
}

void replay_seek_step(struct replay *replay, uint64_t step) {
    if (replay->has_step && step < replay->step) begin_again(replay);
    replay->goal_step = step;
    go(replay, GOAL_STEP);
}

void replay_step(struct replay *replay, int64_t steps) {
    int64_t from = replay->has_step ? (int64_t)replay->step : -1;
    if (replay->goal == GOAL_STEP) from = (int64_t)replay->goal_step;
    replay->is_playing = false;
    if (from + steps < 0)
        replay_seek(replay, 0);
    else
        replay_seek_step(replay, (uint64_t)(from + steps));
}

/* ---- questions ---- */

static double progress_of(const struct replay *replay) {
    double part = 1;
    if (replay->goal == GOAL_TIME)
        part = (replay->t - replay->from_t) / (replay->goal_t - replay->from_t);
    if (replay->goal == GOAL_STEP)
        part = ((double)replay->step - (double)replay->from_step) /
               ((double)replay->goal_step - (double)replay->from_step);
    return part > 0 && part < 1 ? part : replay->goal == GOAL_NONE ? 1 : 0;
}

struct replay_facts replay_facts(const struct replay *replay) {
    uint64_t bad = replay->bad + replay->reader.too_long + reader_has_rest(&replay->reader);
    bool is_ended = replay->is_over && !replay->held.is_there && replay->t >= replay->length;
    return (struct replay_facts){
        .state = replay->goal != GOAL_NONE ? SOURCE_CATCHING_UP
                 : is_ended                ? SOURCE_ENDED
                 : replay->is_playing      ? SOURCE_LIVE
                                           : SOURCE_PAUSED,
        .t = replay->t,
        .length = replay->length,
        .speed = replay->speed,
        .has_step = replay->has_step,
        .step = replay->step,
        .progress = progress_of(replay),
        .bad = bad,
        .bad_text = replay->bad ? replay->why.message : NULL,
        .lines = replay->lines,
    };
}
