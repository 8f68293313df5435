/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/actives.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/data/pairs.h"
#include "engine/base/banned.h"

static void shown_done(void *thing) {
    struct snapshot_active *shown = thing;
    free((char *)shown->name);
    free((char *)shown->state);
    free((char *)shown->why);
    free((char *)shown->trouble);
    free((char *)shown->ids);
    shared_unref(shown->settings);
    for (size_t i = 0; i < shown->frame_count; i++) {
        free((char *)shown->frames[i].frame);
        free((char *)shown->frames[i].state);
        free((char *)shown->frames[i].why);
    }
}

static char *text_of(const json_t *object, const char *field) {
    const char *text = json_string_value(json_object_get(object, field));
    return text ? mem_strdup(text) : NULL;
}

/* "0/0 1/0"; NULL without any. */
static char *words(const json_t *array) {
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *word = json_string_value(json_array_get(array, i));
        if (word) buf_printf(&text, "%s%s", text.size ? " " : "", word);
    }
    return text.size ? buf_take(&text) : NULL;
}

static void take_frames(struct snapshot_active *shown, const json_t *frames) {
    for (size_t i = 0; i < json_array_size(frames) && shown->frame_count < ACTIVE_FRAMES; i++) {
        const json_t *frame = json_array_get(frames, i), *step = json_object_get(frame, "step");
        shown->frames[shown->frame_count++] = (struct snapshot_active_frame){
            .frame = text_of(frame, "frame"),
            .state = text_of(frame, "state"),
            .why = text_of(frame, "why"),
            .has_step = json_is_integer(step),
            .step = json_integer_value(step),
        };
    }
}

static struct snapshot_active *shown_new(const struct event *event) {
    struct snapshot_active *shown = shared_new(sizeof *shown, shown_done);
    int64_t ran = 0;
    event_int(event, "unit", &shown->unit);
    event_int(event, "units", &shown->units);
    event_int(event, "since", &shown->since);
    shown->has_looked = event_int(event, "looked", &shown->looked);
    event_int(event, "calls", &shown->calls);
    event_int(event, "compiled", &shown->compiled);
    event_int(event, "entered", &shown->entered);
    if (!event_number(event, "lookup_us", &shown->lookup_us)) shown->lookup_us = NAN;
    event_int(event, "skipped", &shown->skipped);
    event_int(event, "limited", &shown->limited);
    shown->has_ran = event_int(event, "ran", &ran);
    shown->ran = (uint32_t)ran;
    shown->name = text_of(event->body, "name");
    shown->state = text_of(event->body, "state");
    shown->why = text_of(event->body, "why");
    shown->trouble = text_of(event->body, "trouble");
    shown->ids = words(json_object_get(event->body, "ids"));
    shown->settings = pairs_new(json_object_get(event->body, "settings"));
    take_frames(shown, json_object_get(event->body, "frames"));
    return shown;
}

static bool place_of(const struct roll *actives, int64_t unit, size_t *ret) {
    for (size_t i = 0; i < actives->count; i++) {
        const struct snapshot_active *shown = roll_at(actives, i);
        *ret = i;
        if (shown->unit == unit) return true;
    }
    return false;
}

const struct snapshot_active *actives_find(const struct roll *actives, int64_t unit) {
    size_t i;
    return place_of(actives, unit, &i) ? roll_at(actives, i) : NULL;
}

void actives_take(struct roll *actives, const struct event *event) {
    struct snapshot_active *shown = shown_new(event);
    size_t i;
    if (place_of(actives, shown->unit, &i))
        roll_set(actives, i, shown);
    else
        roll_add(actives, shown);
}
