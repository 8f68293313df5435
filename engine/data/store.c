/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/process.h"
#include "engine/data/store_parts.h"
#include "engine/base/banned.h"

struct store *store_new(void) {
    struct store *store = mem_new(sizeof *store);
    store->as_written = json_object();
    causes_init(&store->causes);
    return store;
}

static void problem_done(struct store_problem *problem) {
    free((char *)problem->what);
    free((char *)problem->text);
    free((char *)problem->hint);
}

static void free_maps(struct store *store) {
    struct variant *variant, *next_variant;
    struct group *group, *next_group;
    HASH_CLEAR(hh, store->by_key);
    HASH_ITER(hh, store->variants, variant, next_variant) {
        HASH_DEL(store->variants, variant);
        shared_unref(variant->frozen);
        json_decref(variant->settings);
        free(variant->label);
        free(variant);
    }
    HASH_ITER(hh, store->groups, group, next_group) {
        HASH_DEL(store->groups, group);
        shared_unref(group->settings_frozen);
        shared_unref(group->ran_frozen);
        json_decref(group->settings);
        json_decref(group->ran);
        free(group->key);
        free(group);
    }
}

struct store *store_free(struct store *store) {
    if (!store) return NULL;
    views_free(store);
    free_maps(store);
    for (size_t i = 0; i < store->count; i++) process_free(store->processes[i]);
    for (size_t i = 0; i < PROBLEMS_KEPT; i++) problem_done(&store->problems[i]);
    switches_done(&store->switches);
    causes_done(&store->causes);
    shared_unref(store->job_frozen);
    json_decref(store->job);
    json_decref(store->as_written);
    free(store->processes);
    free(store->latest);
    free(store);
    return NULL;
}

/* ---- ranks ---- */

struct group *store_group(struct store *store, const char *key) {
    struct group *group;
    HASH_FIND_STR(store->groups, key, group);
    if (group) return group;
    group = mem_new(sizeof *group);
    group->key = mem_strdup(key);
    group->index = HASH_COUNT(store->groups);
    HASH_ADD_KEYPTR(hh, store->groups, group->key, strlen(group->key), group);
    return group;
}

static struct process *latest_of(const struct store *store, int rank) {
    return (size_t)rank < store->latest_room ? store->latest[rank] : NULL;
}

static void set_latest(struct store *store, struct process *process) {
    size_t rank = (size_t)process->facts.rank;
    if (rank >= store->latest_room) {
        size_t room = rank + 1 > 2 * store->latest_room ? rank + 1 : 2 * store->latest_room;
        store->latest = mem_resize(store->latest, room, sizeof store->latest[0]);
        memset(store->latest + store->latest_room, 0,
               (room - store->latest_room) * sizeof store->latest[0]);
        store->latest_room = room;
    }
    store->latest[rank] = process;
}

static struct process *add_process(struct store *store, const char *key, const char *group,
                                   int rank) {
    struct process *process = process_new(key, group, rank);
    process->group = store_group(store, group)->index;
    if (store->count == store->room) {
        store->room = store->room ? 2 * store->room : 16;
        store->processes = mem_resize(store->processes, store->room, sizeof store->processes[0]);
    }
    store->processes[store->count++] = process;
    HASH_ADD_KEYPTR(hh, store->by_key, process->key, strlen(process->key), process);
    views_process(store, process);
    return process;
}

struct process *store_process(struct store *store, const char *group, int rank) {
    if (rank < 0 || rank >= RANKS_MOST) return NULL;
    struct process *process = latest_of(store, rank);
    if (process && (!group || strcmp(process->facts.group, group) == 0)) return process;
    if (!group) group = "";
    CLEANUP(cleanup_free) char *key = mem_printf("%d %s", rank, group);
    HASH_FIND_STR(store->by_key, key, process);
    if (!process) process = add_process(store, key, group, rank);
    if (!latest_of(store, rank)) set_latest(store, process);
    return process;
}

/* A process that is only asleep or refused sends no steps: those of its number are another's. */
static bool takes_part(const struct event *event) {
    static const char *const others[] = {"asleep", "refused", "exited", "lost", "finished"};
    const char *state = event_text(event, "state");
    for (size_t i = 0; state && i < ARRAY_SIZE(others); i++)
        if (strcmp(others[i], state) == 0) return false;
    return true;
}

/* What a tape tells of a rank before its first hello belongs to that hello's group. */
static void adopt(struct store *store, const struct event *event, const char *group) {
    struct process *process, *nameless;
    if (!group || !group[0] || !takes_part(event)) return;
    CLEANUP(cleanup_free) char *key = mem_printf("%d %s", event->rank, group);
    CLEANUP(cleanup_free) char *no_key = mem_printf("%d ", event->rank);
    HASH_FIND_STR(store->by_key, no_key, nameless);
    HASH_FIND_STR(store->by_key, key, process);
    if (process || !nameless) return;
    HASH_DEL(store->by_key, nameless);
    process_rename(nameless, key, group);
    nameless->group = store_group(store, group)->index;
    HASH_ADD_KEYPTR(hh, store->by_key, nameless->key, strlen(nameless->key), nameless);
}

static void take_hello(struct store *store, struct process *process, const struct event *event) {
    if (takes_part(event) && latest_of(store, process->facts.rank) != process)
        set_latest(store, process);
}

/* ---- the rest of the kinds ---- */

static struct variant *variant_of(const struct store *store, uint32_t key) {
    struct variant *variant;
    HASH_FIND(hh, store->variants, &key, sizeof key, variant);
    return variant;
}

struct variant *store_need_variant(struct store *store, uint32_t key) {
    struct variant *variant = variant_of(store, key);
    if (variant) return variant;
    variant = mem_new(sizeof *variant);
    variant->key = key;
    variant->label = key ? mem_printf("variant %u", key) : mem_strdup("as written");
    HASH_ADD(hh, store->variants, key, sizeof variant->key, variant);
    return variant;
}

void store_label(struct variant *variant, const char *label) {
    if (!label || !label[0]) return;
    free(variant->label);
    variant->label = mem_strdup(label);
}

static void take_variant(struct store *store, const struct event *event) {
    int64_t key = 0;
    event_int(event, "variant", &key);
    struct variant *variant = store_need_variant(store, (uint32_t)key);
    store_label(variant, event_text(event, "label"));
    json_t *settings = json_object_get(event->body, "settings");
    json_incref(settings);
    json_decref(variant->settings);
    variant->settings = settings;
    shared_unref(variant->frozen);
    variant->frozen = NULL;
}

static void set_json(json_t **place, const struct snapshot_pairs **frozen, json_t *value) {
    json_incref(value);
    json_decref(*place);
    *place = value;
    shared_unref(*frozen);
    *frozen = NULL;
}

static void set_current(struct store *store, const struct switch_facts *facts) {
    struct group *group = store_group(store, facts->group);
    set_json(&group->settings, &group->settings_frozen, facts->to);
    set_json(&group->ran, &group->ran_frozen, facts->ran);
}

static void take_switch(struct store *store, const struct event *event, const char *group) {
    const struct switch_facts *facts = switches_take(&store->switches, event, group);
    const char *status = event_text(event, "status");
    if (status && strcmp(status, "applied") == 0 && strcmp(facts->by, "baseline") != 0 && facts->to)
        set_current(store, facts);
    views_switch(store, event, facts);
}

static void take_problem(struct store *store, const struct event *event) {
    struct store_problem *problem = &store->problems[store->problem_total++ % PROBLEMS_KEPT];
    const char *what = event_text(event, "what"), *text = event_text(event, "text"),
               *hint = event_text(event, "hint");
    problem_done(problem);
    *problem = (struct store_problem){
        .t = event->t,
        .rank = event->has_rank ? event->rank : -1,
        .what = mem_strdup(what ? what : ""),
        .text = mem_strdup(text ? text : ""),
        .hint = hint ? mem_strdup(hint) : NULL,
    };
}

static void take_job(struct store *store, const struct event *event) {
    json_incref(event->body);
    json_decref(store->job);
    store->job = event->body;
    shared_unref(store->job_frozen);
    store->job_frozen = NULL;
}

static void take_compile(struct store *store, const struct process *process,
                         const struct event *event) {
    if (process) causes_take(&store->causes, event, pace_step_at(&process->pace, event->t));
}

json_t *store_causes(const struct store *store) {
    return causes_json(&store->causes);
}

/* ---- the door ---- */

static void take_kind(struct store *store, const struct process *process, const struct event *event,
                      const char *group) {
    switch ((int)event->kind) {
    case EVENT_VARIANT: take_variant(store, event); break;
    case EVENT_SWITCH: take_switch(store, event, group); break;
    case EVENT_COMPILE: take_compile(store, process, event); break;
    case EVENT_PROBLEM: take_problem(store, event); break;
    case EVENT_JOB: take_job(store, event); break;
    case EVENT_SUMMARY: totals_take(store, event); break;
    default: break;
    }
}

void store_take(struct store *store, const struct event *event, const char *group) {
    struct process *process = NULL;
    if (event->kind == EVENT_STEP) {
        struct step_record record;
        event_to_step(event, &record);
        store_step(store, &record, event->has_rank ? event->rank : -1, group, 0);
        return;
    }
    if (event->kind == EVENT_RANK && event_text(event, "group")) group = event_text(event, "group");
    if (event->has_rank && event->kind == EVENT_RANK) adopt(store, event, group);
    if (event->has_rank) process = store_process(store, group, event->rank);
    bool is_news = views_is_news(store, process, event);
    if (process) process_take(process, event);
    if (process && event->kind == EVENT_RANK) take_hello(store, process, event);
    if (process && !group) group = process->facts.group;
    if (event->t > store->t) store->t = event->t;
    store->version++;
    int64_t variant;
    if (event_int(event, "variant", &variant)) store_need_variant(store, (uint32_t)variant);
    take_kind(store, process, event, group);
    views_take(store, process, event, group, is_news);
}

void store_step(struct store *store, const struct step_record *record, int rank, const char *group,
                uint64_t start_ns) {
    struct process *process = store_process(store, group, rank);
    double t = (double)((int64_t)record->end_ns - (int64_t)start_ns) / 1e9;
    if (t > store->t) store->t = t;
    store->version++;
    store_need_variant(store, record->variant);
    if (process) process_step(process, record, t);
}

void store_dropped(struct store *store, const char *group, int rank, enum store_loss loss,
                   uint64_t count) {
    struct process *process = store_process(store, group, rank);
    store->dropped[loss] += count;
    store->version++;
    if (!process) return;
    process->facts.dropped[loss] += count;
    process_changed(process);
}

void store_set_dropped(struct store *store, const char *group, int rank,
                       const uint64_t dropped[STORE_LOSS_COUNT]) {
    const struct process *process = store_process(store, group, rank);
    for (int i = 0; process && i < STORE_LOSS_COUNT; i++) {
        uint64_t before = process->facts.dropped[i];
        if (dropped[i] > before)
            store_dropped(store, group, rank, (enum store_loss)i, dropped[i] - before);
    }
}

/* ---- questions ---- */

uint64_t store_dropped_total(const struct store *store, enum store_loss loss) {
    return store->dropped[loss];
}

size_t store_rank_count(const struct store *store) {
    return store->count;
}

const struct store_rank *store_rank(const struct store *store, size_t i) {
    return &store->processes[i]->facts;
}

const struct store_rank *store_find_rank(const struct store *store, const char *group, int rank) {
    struct process *process;
    CLEANUP(cleanup_free) char *key = mem_printf("%d %s", rank, group);
    HASH_FIND_STR(store->by_key, key, process);
    return process ? &process->facts : NULL;
}

const struct store_unit *store_unit(const struct store *store, size_t rank, size_t i) {
    return &store->processes[rank]->units[i];
}

const struct store_use *store_use(const struct store *store, size_t rank, size_t i) {
    return &store->processes[rank]->uses[i]->facts;
}

double store_use_median_ms(const struct store *store, size_t rank, size_t i) {
    const struct use *use = store->processes[rank]->uses[i];
    return use->told_clean > use->ms.added ? use->told_median : series_median(&use->ms);
}

double store_use_quick_median_ms(const struct store *store, size_t rank, size_t i) {
    const struct use *use = store->processes[rank]->uses[i];
    return use->told_clean > use->ms.added ? use->told_median
                                           : series_quick_median(&use->ms, STORE_QUICK_MEDIAN);
}

bool is_eager_variant(const struct store *store, const struct process *process, uint32_t variant) {
    const char *scope =
        json_string_value(json_object_get(store_variant_settings(store, variant), "scope"));
    if (scope && strcmp(scope, "eager") == 0) return true;
    for (size_t i = 0; variant == 0 && i < process->facts.unit_count; i++) {
        const char *origin = process->units[i].origin;
        if (!origin || strcmp(origin, "inductop") != 0) return false;
    }
    return variant == 0;
}

double memory_of_use_over_eager(const struct store *store, const struct process *process,
                                const struct use *use) {
    if (isnan(memory_peak(&use->facts.peaks))) return NAN;
    for (size_t i = 0; i < process->facts.use_count; i++) {
        const struct use *eager = process->uses[i];
        if (!is_eager_variant(store, process, eager->facts.variant)) continue;
        double ratio = memory_over_eager(&process->memory, &use->facts.peaks, &eager->facts.peaks);
        if (!isnan(ratio)) return ratio;
    }
    return NAN;
}

double store_use_memory_over_eager(const struct store *store, size_t rank, size_t i) {
    const struct process *process = store->processes[rank];
    return memory_of_use_over_eager(store, process, process->uses[i]);
}

const char *store_variant_label(const struct store *store, uint32_t key) {
    const struct variant *variant = variant_of(store, key);
    return variant ? variant->label : key ? "not known" : "as written";
}

json_t *store_variant_settings(const struct store *store, uint32_t key) {
    const struct variant *variant = variant_of(store, key);
    return variant ? variant->settings : NULL;
}

json_t *store_current(const struct store *store, const char *key) {
    struct group *group;
    HASH_FIND_STR(store->groups, key, group);
    return group && group->settings ? group->settings : store->as_written;
}

size_t store_switch_count(const struct store *store) {
    return store->switches.count;
}

const struct switch_facts *store_switch(const struct store *store, size_t i) {
    return &store->switches.list[i];
}

bool store_rank_is_shown(const struct store *store, size_t i) {
    const struct store_rank *rank = &store->processes[i]->facts;
    bool is_idle =
        rank->state && (strcmp(rank->state, "asleep") == 0 || strcmp(rank->state, "refused") == 0);
    return rank->steps > 0 || !is_idle;
}

/* Of the ranks that take part. */
static size_t group_size(const struct store *store, const char *group) {
    size_t size = 0;
    for (size_t i = 0; i < store->count; i++)
        size +=
            store_rank_is_shown(store, i) && strcmp(store->processes[i]->facts.group, group) == 0;
    return size;
}

enum switch_status store_switch_status(const struct store *store, size_t i) {
    const struct switch_facts *facts = store_switch(store, i);
    return switch_overall(facts, group_size(store, facts->group));
}

size_t store_problem_count(const struct store *store) {
    return store->problem_total < PROBLEMS_KEPT ? (size_t)store->problem_total : PROBLEMS_KEPT;
}

const struct store_problem *store_problem(const struct store *store, size_t i) {
    uint64_t first = store->problem_total - store_problem_count(store);
    return &store->problems[(first + i) % PROBLEMS_KEPT];
}

uint64_t store_problem_total(const struct store *store) {
    return store->problem_total;
}

json_t *store_job(const struct store *store) {
    return store->job;
}

double store_time(const struct store *store) {
    return store->t;
}
