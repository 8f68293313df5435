/* What snapshots need beyond the figures, kept as events come. Part of the store.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/compiles.h"
#include "engine/data/notes.h"
#include "engine/data/recent.h"
#include "engine/data/snapshot.h"
#include "engine/data/store_parts.h"
#include "engine/base/banned.h"

/* Chunks of one kind in a curve: rich for few ranks, thin for many. */
enum { CHUNKS_FEW = 32, RANKS_FEW = 16 };

void store_keep_views(struct store *store) {
    store_keep_findings(store);
    store->views->for_screens = true;
}

void store_keep_findings(struct store *store) {
    struct views *views = mem_new(sizeof *views);
    roll_init(&views->events, SNAPSHOT_EVENTS);
    roll_init(&views->compiles, SNAPSHOT_COMPILES);
    roll_init(&views->switches, SNAPSHOT_SWITCHES);
    roll_init(&views->problems, SNAPSHOT_GROUPED);
    roll_init(&views->findings, SNAPSHOT_GROUPED);
    roll_init(&views->outputs, SNAPSHOT_OUTPUTS);
    places_init(&views->places);
    differences_init(&views->differences);
    views->chunks_each = CHUNKS_FEW;
    store->views = views;
}

void views_free(struct store *store) {
    struct views *views = store->views;
    if (!views) return;
    roll_done(&views->events);
    roll_done(&views->compiles);
    roll_done(&views->switches);
    roll_done(&views->problems);
    roll_done(&views->findings);
    roll_done(&views->outputs);
    places_done(&views->places);
    differences_done(&views->differences);
    snapshot_unref(views->last);
    free(views);
    store->views = NULL;
}

static void fit_curves(struct store *store) {
    size_t each = CHUNKS_FEW;
    for (size_t ranks = RANKS_FEW; ranks < store->count && each > CURVE_CHUNKS_LEAST; ranks *= 2)
        each /= 2;
    if (each == store->views->chunks_each) return;
    store->views->chunks_each = each;
    for (size_t i = 0; i < store->count; i++) store->processes[i]->curve.chunks_each = each;
}

void views_process(struct store *store, struct process *process) {
    if (!store->views || !store->views->for_screens) return;
    curve_init(&process->curve, store->views->chunks_each);
    fit_curves(store);
}

static bool is_same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : (!a || !a[0]) && (!b || !b[0]);
}

static bool is_rank_news(const struct store_rank *facts, const struct event *event) {
    const char *switching = event_text(event, "switching");
    return !is_same_text(facts->state, event_text(event, "state")) ||
           !is_same_text(facts->reason, event_text(event, "reason")) ||
           (switching && !is_same_text(facts->switching, switching));
}

static bool is_unit_news(const struct process *process, const struct event *event) {
    int64_t unit = 0;
    event_int(event, "unit", &unit);
    for (size_t i = 0; i < process->facts.unit_count; i++)
        if (process->units[i].unit == unit &&
            is_same_text(process->units[i].name, event_text(event, "name")))
            return false;
    return true;
}

bool views_is_news(const struct store *store, const struct process *process,
                   const struct event *event) {
    if (!store->views || !store->views->for_screens) return false;
    const char *state = json_string_value(json_object_get(store->job, "state"));
    switch ((int)event->kind) {
    case EVENT_JOB: return !is_same_text(state, event_text(event, "state"));
    case EVENT_RANK: return !process || is_rank_news(&process->facts, event);
    case EVENT_UNIT: return !process || is_unit_news(process, event);
    default: return true;
    }
}

static void add_line(struct store *store, const struct process *process, const struct event *event,
                     const char *group) {
    int64_t variant = 0, against = 0;
    struct line line;
    event_int(event, "variant", &variant);
    bool is_versus = event_int(event, "against", &against);
    struct telling telling = {
        .group = group,
        .label = store_variant_label(store, (uint32_t)variant),
        .against = is_versus ? store_variant_label(store, (uint32_t)against) : "eager",
        .has_step = process != NULL,
        .step = process ? pace_step_at(&process->pace, event->t) : 0,
    };
    if (!line_of_event(event, &telling, &line)) return;
    recent_add(&store->views->events, event, &line);
    telling_line_done(&line);
}

static const char *unit_name(const struct process *process, const struct event *event) {
    int64_t unit;
    if (!event_int(event, "unit", &unit)) return NULL;
    for (size_t i = 0; i < process->facts.unit_count; i++)
        if (process->units[i].unit == unit) return process->units[i].name;
    return NULL;
}

void views_take(struct store *store, struct process *process, const struct event *event,
                const char *group, bool is_news) {
    struct views *views = store->views;
    if (!views) return;
    bool is_met = process && (event->kind == EVENT_COMPILE || event->kind == EVENT_BREAK);
    uint64_t step = is_met ? pace_step_at(&process->pace, event->t) : 0;
    if (is_met) differences_take(&views->differences, event, group, step);
    switch ((int)event->kind) {
    case EVENT_COMPILE:
        if (process) compiles_take(&views->compiles, event, step, unit_name(process, event));
        break;
    case EVENT_BREAK: is_news &= process && places_take(&views->places, event, group); break;
    case EVENT_PROBLEM: notes_problem(&views->problems, event); break;
    case EVENT_FINDING: notes_finding(&views->findings, event); break;
    case EVENT_OUTPUT:
        if (views->for_screens) notes_output(&views->outputs, event);
        break;
    default: break;
    }
    if (is_news) add_line(store, process, event, group);
}

void views_switch(struct store *store, const struct event *event,
                  const struct switch_facts *facts) {
    struct line line;
    if (!store->views || !store->views->for_screens) return;
    const char *forgot = facts->has_forgot ? store_variant_label(store, (uint32_t)facts->forgot) : NULL;
    if (!line_of_switch(facts, store_switch_status(store, (size_t)facts->seq), forgot, &line)) return;
    recent_set(&store->views->events, event, &line, &facts->ranks);
    telling_line_done(&line);
}

json_t *store_findings(const struct store *store) {
    return store->views ? notes_findings(&store->views->findings) : json_array();
}
