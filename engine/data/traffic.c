/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/traffic.h"

#include <math.h>
#include <string.h>

#include "engine/event/event.h"

#include "engine/base/banned.h"

struct traffic_figures traffic_figures(const struct traffic *traffic) {
    if (traffic->is_told) return traffic->figures;
    return (struct traffic_figures){.count = NAN, .bytes = NAN, .host_ms = NAN, .ms = NAN};
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

void traffic_take(struct traffic *traffic, const struct event *event) {
    double steps = number_of(event, "steps"), timed = number_of(event, "timed"),
           timed_ms = number_of(event, "timed_ms"), ms = traffic_figures(traffic).ms;
    if (!(steps > 0)) return;
    double count = number_of(event, "count") / steps;
    if (timed > 0 && timed_ms >= 0) ms = timed_ms / timed * count;
    traffic->is_told = true;
    traffic->figures = (struct traffic_figures){
        .count = count,
        .bytes = number_of(event, "bytes") / steps,
        .host_ms = number_of(event, "host_ms") / steps,
        .ms = ms,
        .captured = count_of(event, "captured"),
        .backend = backend_of(event),
        .dropped = count_of(event, "dropped"),
    };
}
