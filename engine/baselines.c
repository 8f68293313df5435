/* Comparisons in each group, with eager and with other settings: the judge's state machine, fed with steps, its schedules brought
 * to the ranks as proposals.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/settings_json.h"
#include "engine/base/banned.h"

struct group {
    struct group *next;
    char key[GROUP_TEXT];
    uint32_t index;
    uint64_t highest; /* step told */
    uint32_t variant; /* of the last step told */
    uint64_t start;   /* of the schedule that was committed; 0: none is */
    struct baseline *baseline;
    json_t *other;    /* settings that a person wants the present ones compared with, NULL: nobody asked */
    uint32_t asked;   /* their key */
    json_t *tag;      /* of who asked */
};

struct baselines {
    struct engine *engine;
    enum baseline_mode mode;
    uint32_t eager;
    struct group *groups;
};

static json_t *eager_settings(void) {
    return json_pack("{ss}", "scope", "eager");
}

static uint32_t eager_key(void) {
    json_t *eager = eager_settings();
    uint32_t key = settings_json_key(eager);
    json_decref(eager);
    return key;
}

struct baselines *baselines_new(struct engine *engine, const char *mode) {
    struct baselines *baselines = mem_new(sizeof *baselines);
    int found = baseline_mode_find(mode);
    *baselines = (struct baselines){.engine = engine, .mode = found < 0 ? BASELINE_OFF : (enum baseline_mode)found,
                                    .eager = eager_key()};
    return baselines;
}

void baselines_free(struct baselines *baselines) {
    if (!baselines) return;
    for (struct group *group = baselines->groups, *next; group; group = next) {
        next = group->next;
        baseline_free(group->baseline);
        json_decref(group->other);
        json_decref(group->tag);
        free(group);
    }
    free(baselines);
}

static struct group *group_of(struct baselines *baselines, const struct guest *guest) {
    for (struct group *group = baselines->groups; group; group = group->next)
        if (strcmp(group->key, guest->group) == 0) return group;
    struct group *group = mem_new(sizeof *group);
    memcpy(group->key, guest->group, sizeof group->key);
    group->index = guest->group_index;
    group->baseline = baseline_new(baselines->mode, baselines->eager, baselines->engine->start_ns ^ guest->group_index);
    group->next = baselines->groups;
    baselines->groups = group;
    return group;
}

/* Off: nothing is looked at until somebody asks. */
static bool is_watching(const struct baselines *baselines) {
    return baselines->mode != BASELINE_OFF || baselines->groups;
}

void baselines_step(struct baselines *baselines, const struct guest *guest, const struct step_record *record) {
    if (!is_watching(baselines)) return;
    struct group *group = group_of(baselines, guest);
    if (record->step > group->highest) group->highest = record->step;
    group->variant = record->variant;
    bool clean = record->why == 0 && record->dur_ns;
    struct judge_times times = {.ms = (double)record->dur_ns / 1e6};
    shares_of_step(record, times.phases);
    baseline_step(group->baseline, guest->rank, record->step, &times, record->variant, clean);
}

void baselines_switch(struct baselines *baselines, const struct event *event, const struct guest *guest) {
    const char *by = event_text(event, "by"), *status = event_text(event, "status");
    int64_t variant = 0;
    if (!is_watching(baselines)) return;
    struct group *group = group_of(baselines, guest);
    bool is_own = strcmp(by, "baseline") == 0;
    if (strcmp(status, "applied") == 0 && !is_own) {
        if (event_int(event, "variant", &variant)) baseline_applied(group->baseline, (uint32_t)variant);
        if (group->start) baseline_dropped(group->baseline, engine_time(baselines->engine), "another switch came in between");
        group->start = 0;
    }
}

void baselines_gone(struct baselines *baselines, const struct guest *guest) {
    if (is_watching(baselines)) baseline_gone(group_of(baselines, guest)->baseline, guest->rank);
}

void baselines_told(struct baselines *baselines, const struct proposal *proposal) {
    if (strcmp(proposal->by, "baseline")) return;
    double t = engine_time(baselines->engine);
    for (struct group *group = baselines->groups; group; group = group->next) {
        if (group->index != proposal->group) continue;
        if (strcmp(proposal->status, "committed") == 0) {
            group->start = proposal->at;
            baseline_agreed(group->baseline, proposal->at);
        } else if (proposal->is_over) {
            if (!group->start) baseline_refused(group->baseline, t, proposal->reason);
            else if (strcmp(proposal->status, "applied")) baseline_dropped(group->baseline, t, proposal->reason);
            group->start = 0;
        }
    }
}

/* Steps until the plan's next entry, seen from the highest step told. */
static uint64_t room_of(const struct engine *engine, uint64_t highest) {
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(engine->start, "plan"), i, entry) {
        uint64_t step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
        if (step > highest) return step - highest;
    }
    return UINT64_MAX;
}

/* A job that compiles nothing by itself is eager as written. */
static bool has_own_units(const struct store *store, const char *key) {
    for (size_t i = 0; i < store_rank_count(store); i++) {
        const struct store_rank *rank = store_rank(store, i);
        for (size_t k = 0; strcmp(rank->group, key) == 0 && k < rank->unit_count; k++) {
            const char *origin = store_unit(store, i, k)->origin;
            if (!origin || strcmp(origin, "inductop")) return true;
        }
    }
    return false;
}

/* Whatever else they say. */
static bool has_scope_eager(const json_t *settings) {
    const char *scope = json_string_value(json_object_get(settings, "scope"));
    return scope && strcmp(scope, "eager") == 0;
}

static bool is_eager(const struct baselines *baselines, const struct group *group, json_t *settings) {
    if (json_object_size(settings) == 0 && !has_own_units(baselines->engine->store, group->key)) return true;
    return group->variant == baselines->eager || has_scope_eager(settings);
}

static size_t world_of(const struct engine *engine, uint32_t index) {
    return atomic_load(&engine->page->group[index].world);
}

static bool is_member(const struct guest *guest, const char *key) {
    return guest->role == GUEST_RANK && !guest->is_over && strcmp(guest->group, key) == 0;
}

/* NULL: all ranks of the group are here. */
static const char *absent(const struct engine *engine, const struct group *group) {
    static char reason[96];
    size_t here = 0, world = world_of(engine, group->index);
    for (const struct guest *guest = engine->guests; guest; guest = guest->next) here += is_member(guest, group->key);
    if (here >= world) return NULL;
    snprintf(reason, sizeof reason, "only %zu of %zu ranks are here: all must take part", here, world);
    return reason;
}

const char *baselines_ask(struct baselines *baselines, const struct guest *member, const json_t *settings, json_t *tag) {
    struct engine *engine = baselines->engine;
    struct group *group = group_of(baselines, member);
    const struct store_rank *facts = store_find_rank(engine->store, member->group, member->rank);
    if (facts && facts->has_variant) group->variant = facts->variant;
    if (facts && facts->step > group->highest) group->highest = facts->step;
    json_t *other = !settings || has_scope_eager(settings) ? eager_settings() : json_deep_copy(settings);
    uint32_t key = settings_json_key(other);
    const char *reason = NULL;
    if (key == baselines->eager && is_eager(baselines, group, store_current(engine->store, group->key)))
        reason = "these settings are eager: there is nothing to compare";
    else if (key == group->variant) reason = "these settings are in force: there is nothing to compare";
    else if (baseline_is_busy(group->baseline)) reason = "a measurement is under way";
    else if (!(reason = absent(engine, group))) reason = headroom_objection(engine, group->key, group->variant, key);
    if (reason) {
        json_decref(other);
        return reason;
    }
    for (const struct guest *guest = engine->guests; guest; guest = guest->next)
        if (is_member(guest, group->key)) baseline_rank(group->baseline, guest->rank);
    json_decref(group->other);
    json_decref(group->tag);
    group->other = other;
    group->asked = key;
    group->tag = json_incref(tag);
    baseline_ask(group->baseline, key);
    return NULL;
}

static void want(struct baselines *baselines, struct group *group) {
    struct engine *engine = baselines->engine;
    struct schedule schedule;
    json_t *current = store_current(engine->store, group->key);
    struct baseline_now now = {.t = engine_time(engine), .variant = group->variant,
                               .is_eager = is_eager(baselines, group, current), .ranks = world_of(engine, group->index),
                               .room = room_of(engine, group->highest)};
    if (proposer_is_busy(engine->proposer, group->index) || !baseline_want(group->baseline, &now, &schedule)) return;
    uint32_t key = baseline_other(group->baseline);
    const char *objection = headroom_objection(engine, group->key, now.variant, key);
    if (objection) {
        baseline_refused(group->baseline, now.t, objection);
        return;
    }
    json_t *other = group->other && key == group->asked ? json_incref(group->other) : eager_settings();
    proposer_propose(engine->proposer, &(struct proposal){.group = group->index, .by = "baseline", .from = json_incref(current),
                                                          .schedule = schedule_json(&schedule, other, current),
                                                          .device_bytes = headroom_device_bytes(engine, group->key, now.variant, key)});
    json_decref(other);
}

static const struct store_use *use_in(const struct store *store, const char *group, int rank, uint32_t variant, double *ret_ms) {
    for (size_t i = 0; i < store_rank_count(store); i++) {
        const struct store_rank *facts = store_rank(store, i);
        for (size_t k = 0; facts->rank == rank && strcmp(facts->group, group) == 0 && k < facts->use_count; k++) {
            const struct store_use *use = store_use(store, i, k);
            if (use->variant != variant) continue;
            *ret_ms = store_use_quick_median_ms(store, i, k);
            return use;
        }
    }
    return NULL;
}

/* When what it took to compile is gained back, over what it is compared with. */
static void put_break_even(const struct baselines *baselines, const struct group *group, struct event *event) {
    const struct store *store = baselines->engine->store;
    double ratio, ms = NAN, other_ms;
    int64_t variant = 0, against = baselines->eager;
    event_int(event, "variant", &variant);
    event_int(event, "against", &against);
    if (!event_number(event, "ratio", &ratio) || strcmp(event_text(event, "verdict"), "faster")) return;
    const struct store_use *use = use_in(store, group->key, event->rank, (uint32_t)variant, &ms),
                           *other = use_in(store, group->key, event->rank, (uint32_t)against, &other_ms);
    if (!use) return;
    double even = stats_break_even(use->compile_s - (other ? other->compile_s : 0), ratio, ms);
    if (even >= 0 && even < 1e15) json_object_set_new(event->body, "break_even", json_integer((json_int_t)ceil(even)));
}

static void take_results(struct baselines *baselines, struct group *group) {
    struct event event;
    bool is_asked = group->tag && baseline_other(group->baseline) == group->asked;
    while (baseline_next(group->baseline, engine_time(baselines->engine), &event)) {
        if (event.kind == EVENT_SPEEDUP) put_break_even(baselines, group, &event);
        if (is_asked) json_object_set(event.body, "tag", group->tag);
        engine_tell(baselines->engine, &event, group->key);
    }
}

void baselines_turn(struct baselines *baselines) {
    for (struct group *group = baselines->groups; group; group = group->next) {
        take_results(baselines, group); /* of what was compared, before something else is */
        want(baselines, group);
        take_results(baselines, group);
    }
}

void baselines_end(struct baselines *baselines) {
    for (struct group *group = baselines->groups; group; group = group->next) {
        baseline_end(group->baseline);
        take_results(baselines, group);
    }
}
