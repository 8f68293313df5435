/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/traffic.h"

#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/event/event.h"

#include "engine/base/banned.h"

struct traffic_figures traffic_figures(const struct traffic *traffic) {
    if (traffic->is_told) return traffic->figures;
    return (struct traffic_figures){
        .count = NAN, .bytes = NAN, .host_ms = NAN, .ms = NAN, .meeting_ms = NAN};
}

static double number_of(const struct event *event, const char *field) {
    double value;
    return event_number(event, field, &value) ? value : NAN;
}

static uint64_t count_of(const struct event *event, const char *field) {
    int64_t value = 0;
    event_int(event, field, &value);
    return value > 0 ? (uint64_t)value : 0;
}

static const char *backend_of(const struct event *event) {
    const char *name = event_text(event, "backend");
    return name && strcmp(name, "gloo") == 0 ? "gloo" : "NCCL";
}

/* Of one step; NaN: no times, or none of those that all wait in. */
static double meeting_ms_of(const struct event *event, double steps) {
    static const char *const meetings[] = {"AllReduce",  "AllGather", "ReduceScatter",
                                           "AllGatherV", "AlltoAll",  "Barrier"};
    const json_t *by = json_object_get(event->body, "by");
    double sum = NAN;
    for (size_t i = 0; i < ARRAY_SIZE(meetings); i++) {
        const json_t *of = json_object_get(by, meetings[i]);
        double timed = json_number_value(json_object_get(of, "timed")),
               ms = json_number_value(json_object_get(of, "timed_ms")),
               count = json_number_value(json_object_get(of, "count"));
        if (timed > 0 && ms >= 0) sum = (isnan(sum) ? 0 : sum) + ms / timed * count / steps;
    }
    return sum;
}

void traffic_take(struct traffic *traffic, const struct event *event) {
    double steps = number_of(event, "steps"), timed = number_of(event, "timed"),
           timed_ms = number_of(event, "timed_ms");
    struct traffic_figures before = traffic_figures(traffic);
    if (!(steps > 0)) return;
    double count = number_of(event, "count") / steps;
    bool has_times = timed > 0 && timed_ms >= 0;
    traffic->is_told = true;
    traffic->figures = (struct traffic_figures){
        .count = count,
        .bytes = number_of(event, "bytes") / steps,
        .host_ms = number_of(event, "host_ms") / steps,
        .ms = has_times ? timed_ms / timed * count : before.ms,
        .meeting_ms = has_times ? meeting_ms_of(event, steps) : before.meeting_ms,
        .captured = count_of(event, "captured"),
        .backend = backend_of(event),
        .dropped = count_of(event, "dropped"),
    };
}
