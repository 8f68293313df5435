/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/compiles.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/data/pairs.h"
#include "engine/data/snapshot.h"
#include "engine/base/banned.h"

/* The texts that are told are those of the event's body. */
struct compile {
    struct snapshot_compile shown;
    json_t *body;
    char *unit_name;
};

static void compile_done(void *thing) {
    struct compile *compile = thing;
    shared_unref(compile->shown.cache);
    shared_unref(compile->shown.graph);
    shared_unref(compile->shown.limits);
    json_decref(compile->body);
    free(compile->unit_name);
}

static double phase(const struct event *event, const char *name) {
    const json_t *ms = json_object_get(json_object_get(event->body, "phases"), name);
    return json_is_number(ms) ? json_number_value(ms) : NAN;
}

void compiles_take(struct roll *compiles, const struct event *event, uint64_t step,
                   const char *unit_name) {
    struct compile *compile = shared_new(sizeof *compile, compile_done);
    struct snapshot_compile *shown = &compile->shown;
    int64_t variant = 0;
    compile->body = json_incref(event->body);
    compile->unit_name = unit_name ? mem_strdup(unit_name) : NULL;
    shown->seq = compiles->total;
    shown->t = event->t;
    shown->rank = event->rank;
    shown->has_step = true;
    shown->step = step;
    shown->has_unit = event_int(event, "unit", &shown->unit);
    shown->unit_name = compile->unit_name;
    event_int(event, "variant", &variant);
    shown->variant = (uint32_t)variant;
    shown->id = event_text(event, "id");
    shown->frame = event_text(event, "frame");
    shown->trigger = event_text(event, "trigger");
    shown->cause = event_text(event, "cause");
    shown->failed = event_text(event, "failed");
    shown->cause_id = event_text(event, "cause_id");
    shown->words = event_text(event, "words");
    shown->source = event_text(event, "source");
    shown->remedy = event_text(event, "remedy");
    shown->file = event_text(event, "file");
    shown->has_line = event_int(event, "line", &shown->line);
    if (!event_number(event, "ms", &shown->ms)) shown->ms = NAN;
    shown->cache = pairs_new(json_object_get(event->body, "cache"));
    shown->graph = pairs_new(json_object_get(event->body, "graph"));
    shown->limits = pairs_new(json_object_get(event->body, "limits"));
    shown->dynamo_ms = phase(event, "dynamo");
    shown->aot_ms = phase(event, "aot");
    shown->inductor_ms = phase(event, "inductor");
    shown->codegen_ms = phase(event, "codegen");
    shown->backend_ms = phase(event, "backend");
    shown->rest_ms = phase(event, "rest");
    roll_add(compiles, compile);
}
