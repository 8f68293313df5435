/* The baseline of each group: the judge's state machine, fed with steps, its schedules brought to the ranks as proposals.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/setup/settings.h"
#include "engine/base/banned.h"

struct group {
    struct group *next;
    char key[GROUP_TEXT];
    uint32_t index;
    uint64_t highest; /* step told */
    uint32_t variant; /* of the last step told */
    uint64_t start;   /* of the schedule that was committed; 0: none is */
    struct baseline *baseline;
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
    struct settings set = SETTINGS_INIT;
    settings_put(&set, "scope", "eager");
    uint32_t key = settings_key(&set);
    settings_done(&set);
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
    baseline_step(group->baseline, guest->rank, record->step, (double)record->dur_ns / 1e6, record->variant, clean);
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

static bool is_eager(const struct baselines *baselines, const struct group *group, json_t *settings) {
    if (json_object_size(settings) == 0 && !has_own_units(baselines->engine->store, group->key)) return true;
    const char *scope = json_string_value(json_object_get(settings, "scope"));
    return group->variant == baselines->eager || (scope && strcmp(scope, "eager") == 0);
}

const char *baselines_ask(struct baselines *baselines, const struct guest *member) {
    struct engine *engine = baselines->engine;
    struct group *group = group_of(baselines, member);
    const struct store_rank *facts = store_find_rank(engine->store, member->group, member->rank);
    if (facts && facts->has_variant) group->variant = facts->variant;
    if (facts && facts->step > group->highest) group->highest = facts->step;
    if (is_eager(baselines, group, store_current(engine->store, group->key)))
        return "these settings are eager: there is nothing to compare";
    if (baseline_is_busy(group->baseline)) return "a measurement is under way";
    for (const struct guest *guest = engine->guests; guest; guest = guest->next)
        if (guest->role == GUEST_RANK && !guest->is_over && strcmp(guest->group, group->key) == 0)
            baseline_rank(group->baseline, guest->rank);
    baseline_ask(group->baseline);
    return NULL;
}

static size_t ranks_of(const struct engine *engine, const struct group *group) {
    return atomic_load(&engine->page->group[group->index].world);
}

static void want(struct baselines *baselines, struct group *group) {
    struct engine *engine = baselines->engine;
    struct schedule schedule;
    json_t *current = store_current(engine->store, group->key);
    struct baseline_now now = {.t = engine_time(engine), .variant = group->variant,
                               .is_eager = is_eager(baselines, group, current), .ranks = ranks_of(engine, group),
                               .room = room_of(engine, group->highest)};
    if (proposer_is_busy(engine->proposer, group->index) || !baseline_want(group->baseline, &now, &schedule)) return;
    json_t *eager = eager_settings();
    proposer_propose(engine->proposer, &(struct proposal){.group = group->index, .by = "baseline", .from = json_incref(current),
                                                          .schedule = schedule_json(&schedule, eager, current)});
    json_decref(eager);
}

static void take_results(struct baselines *baselines, struct group *group) {
    struct event event;
    while (baseline_next(group->baseline, engine_time(baselines->engine), &event))
        engine_tell(baselines->engine, &event, group->key);
}

void baselines_turn(struct baselines *baselines) {
    for (struct group *group = baselines->groups; group; group = group->next) {
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
