/* A step record as an event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/event/event.h"

#include <string.h>

#include "engine/base/banned.h"

static void put_ms(json_t *body, const char *name, uint64_t ns) {
    json_object_set_new_nocheck(body, name, json_real((double)ns / 1e6));
}

static void put_int(json_t *body, const char *name, uint64_t value) {
    json_object_set_new_nocheck(body, name, json_integer((json_int_t)value));
}

static json_t *why_names(uint32_t why) {
    json_t *names = json_array();
    for (unsigned bit = 0; bit < 32; bit++) {
        if (!(why >> bit & 1)) continue;
        const char *name = step_why_name(bit);
        json_array_append_new(names, json_string(name ? name : "unknown"));
    }
    return names;
}

static void put_times(json_t *body, const struct step_record *record) {
    if (record->dur_ns) put_ms(body, "ms", record->dur_ns);
    if (record->valid & STEP_HAS_DATA) put_ms(body, "data_ms", record->data_ns);
    if (record->valid & STEP_HAS_FORWARD) put_ms(body, "forward_ms", record->forward_ns);
    if (record->valid & STEP_HAS_BACKWARD) put_ms(body, "backward_ms", record->backward_ns);
    if (record->valid & STEP_HAS_OPTIMIZER) put_ms(body, "optimizer_ms", record->optimizer_ns);
    if (record->valid & STEP_HAS_OWN) put_ms(body, "own_ms", record->own_ns);
}

static void put_memory(json_t *body, const struct step_record *record) {
    if (record->valid & STEP_HAS_RSS) put_int(body, "rss", record->rss_bytes);
    if (record->valid & STEP_HAS_CPU) {
        put_int(body, "cpu_bytes", record->cpu_bytes);
        put_int(body, "cpu_peak", record->cpu_peak_bytes);
    }
    if (record->valid & STEP_HAS_DEVICE) {
        put_int(body, "device_bytes", record->device_bytes);
        put_int(body, "device_peak", record->device_peak_bytes);
    }
    if (record->valid & STEP_HAS_ALLOCS) put_int(body, "allocs", record->allocs);
}

void event_from_step(const struct step_record *record, int rank, uint64_t start_ns,
                     struct event *ret) {
    json_t *body = json_object();
    put_times(body, record);
    put_int(body, "variant", record->variant);
    json_object_set_new_nocheck(body, "clean", json_boolean(record->why == 0));
    if (record->why) json_object_set_new_nocheck(body, "why", why_names(record->why));
    put_memory(body, record);
    *ret = (struct event){
        .kind = EVENT_STEP,
        .t = (double)((int64_t)record->end_ns - (int64_t)start_ns) / 1e9,
        .body = body,
    };
    event_set_rank(ret, rank);
    event_set_step(ret, record->step);
}

/* ---- and back ---- */

static uint32_t why_bit(const char *name) {
    for (unsigned bit = 0; name && step_why_name(bit); bit++)
        if (strcmp(step_why_name(bit), name) == 0) return UINT32_C(1) << bit;
    return STEP_WHY_UNKNOWN;
}

static uint32_t why_of(const struct event *event) {
    uint32_t why = 0;
    size_t i;
    json_t *name;
    if (event_is_true(event, "clean")) return 0;
    json_array_foreach(json_object_get(event->body, "why"), i, name) why |=
        why_bit(json_string_value(name));
    return why ? why : STEP_WHY_UNKNOWN;
}

static bool get_ms(const struct event *event, const char *name, uint64_t *place) {
    double ms;
    if (!event_number(event, name, &ms) || !(ms >= 0 && ms < 9e12)) return false;
    *place = (uint64_t)(ms * 1e6 + 0.5);
    return true;
}

static bool get_int(const struct event *event, const char *name, uint64_t *place) {
    int64_t value;
    if (!event_int(event, name, &value) || value < 0) return false;
    *place = (uint64_t)value;
    return true;
}

void event_to_step(const struct event *event, struct step_record *ret) {
    struct step_record record = {.step = event->step, .why = why_of(event)};
    uint64_t variant = 0, own = 0, allocs = 0;
    if (event->t > 0 && event->t < 9e9) record.end_ns = (uint64_t)(event->t * 1e9 + 0.5);
    get_ms(event, "ms", &record.dur_ns);
    if (get_ms(event, "data_ms", &record.data_ns)) record.valid |= STEP_HAS_DATA;
    if (get_ms(event, "forward_ms", &record.forward_ns)) record.valid |= STEP_HAS_FORWARD;
    if (get_ms(event, "backward_ms", &record.backward_ns)) record.valid |= STEP_HAS_BACKWARD;
    if (get_ms(event, "optimizer_ms", &record.optimizer_ns)) record.valid |= STEP_HAS_OPTIMIZER;
    if (get_int(event, "rss", &record.rss_bytes)) record.valid |= STEP_HAS_RSS;
    if (get_int(event, "cpu_bytes", &record.cpu_bytes)) record.valid |= STEP_HAS_CPU;
    if (get_int(event, "cpu_peak", &record.cpu_peak_bytes)) record.valid |= STEP_HAS_CPU;
    if (get_int(event, "device_bytes", &record.device_bytes)) record.valid |= STEP_HAS_DEVICE;
    if (get_int(event, "device_peak", &record.device_peak_bytes)) record.valid |= STEP_HAS_DEVICE;
    if (get_ms(event, "own_ms", &own)) record.valid |= STEP_HAS_OWN;
    if (get_int(event, "allocs", &allocs)) record.valid |= STEP_HAS_ALLOCS;
    get_int(event, "variant", &variant);
    record.variant = (uint32_t)variant;
    record.own_ns = (uint32_t)(own < UINT32_MAX ? own : UINT32_MAX);
    record.allocs = (uint32_t)allocs;
    *ret = record;
}
