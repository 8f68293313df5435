/* A step record as an event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/event/event.h"

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
}

void event_from_step(const struct step_record *record, int rank, uint64_t start_ns,
                     struct event *ret) {
    json_t *body = json_object();
    put_times(body, record);
    put_int(body, "variant", record->variant);
    json_object_set_new_nocheck(body, "clean", json_boolean(record->why == 0));
    if (record->why) json_object_set_new_nocheck(body, "why", why_names(record->why));
    if (record->valid & STEP_HAS_OPS) put_int(body, "ops", record->ops);
    put_memory(body, record);
    *ret = (struct event){
        .kind = EVENT_STEP,
        .t = (double)((int64_t)record->end_ns - (int64_t)start_ns) / 1e9,
        .body = body,
    };
    event_set_rank(ret, rank);
    event_set_step(ret, record->step);
}
