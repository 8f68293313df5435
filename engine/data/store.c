/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/process.h"
#include "engine/base/banned.h"

enum { PROBLEMS_KEPT = 100, RANKS_MOST = 1 << 20 };

struct variant {
    uint32_t key;
    char *label;
    json_t *settings;
    UT_hash_handle hh;
};

struct current {
    char *group;
    json_t *settings;
    UT_hash_handle hh;
};

struct store {
    struct process **processes, *by_key;
    size_t count, room;
    struct process **latest; /* by rank number */
    size_t latest_room;
    struct variant *variants;
    struct current *currents;
    struct switches switches;
    struct store_problem problems[PROBLEMS_KEPT];
    uint64_t problem_total;
    uint64_t dropped[STORE_LOSS_COUNT];
    json_t *job, *as_written;
    double t;
};

struct store *store_new(void) {
    struct store *store = mem_new(sizeof *store);
    store->as_written = json_object();
    return store;
}

static void problem_done(struct store_problem *problem) {
    free((char *)problem->what);
    free((char *)problem->text);
    free((char *)problem->hint);
}

static void free_maps(struct store *store) {
    struct variant *variant, *next_variant;
    struct current *current, *next_current;
    HASH_CLEAR(hh, store->by_key);
    HASH_ITER(hh, store->variants, variant, next_variant) {
        HASH_DEL(store->variants, variant);
        json_decref(variant->settings);
        free(variant->label);
        free(variant);
    }
    HASH_ITER(hh, store->currents, current, next_current) {
        HASH_DEL(store->currents, current);
        json_decref(current->settings);
        free(current->group);
        free(current);
    }
}

struct store *store_free(struct store *store) {
    if (!store) return NULL;
    free_maps(store);
    for (size_t i = 0; i < store->count; i++) process_free(store->processes[i]);
    for (size_t i = 0; i < PROBLEMS_KEPT; i++) problem_done(&store->problems[i]);
    switches_done(&store->switches);
    json_decref(store->job);
    json_decref(store->as_written);
    free(store->processes);
    free(store->latest);
    free(store);
    return NULL;
}

/* ---- ranks ---- */

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
    if (store->count == store->room) {
        store->room = store->room ? 2 * store->room : 16;
        store->processes = mem_resize(store->processes, store->room, sizeof store->processes[0]);
    }
    store->processes[store->count++] = process;
    HASH_ADD_KEYPTR(hh, store->by_key, process->key, strlen(process->key), process);
    return process;
}

/* NULL for a number that cannot be a rank's. */
static struct process *process_of(struct store *store, const char *group, int rank) {
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
static void take_hello(struct store *store, struct process *process, const struct event *event) {
    const char *state = event_text(event, "state");
    struct process *latest = latest_of(store, process->facts.rank);
    bool is_idle = state && (strcmp(state, "asleep") == 0 || strcmp(state, "refused") == 0);
    bool is_over = state && (strcmp(state, "exited") == 0 || strcmp(state, "lost") == 0 ||
                             strcmp(state, "finished") == 0);
    if (latest == process || is_idle || is_over) return;
    set_latest(store, process);
}

/* ---- the rest of the kinds ---- */

static struct variant *variant_of(const struct store *store, uint32_t key) {
    struct variant *variant;
    HASH_FIND(hh, store->variants, &key, sizeof key, variant);
    return variant;
}

/* Any event may be the first that names a variant. */
static struct variant *need_variant(struct store *store, uint32_t key) {
    struct variant *variant = variant_of(store, key);
    if (variant) return variant;
    variant = mem_new(sizeof *variant);
    variant->key = key;
    variant->label = key ? mem_printf("variant %u", key) : mem_strdup("as written");
    HASH_ADD(hh, store->variants, key, sizeof variant->key, variant);
    return variant;
}

static void take_variant(struct store *store, const struct event *event) {
    int64_t key = 0;
    event_int(event, "variant", &key);
    struct variant *variant = need_variant(store, (uint32_t)key);
    const char *label = event_text(event, "label");
    if (label && label[0]) {
        free(variant->label);
        variant->label = mem_strdup(label);
    }
    json_t *settings = json_object_get(event->body, "settings");
    json_incref(settings);
    json_decref(variant->settings);
    variant->settings = settings;
}

static void set_current(struct store *store, const char *group, json_t *settings) {
    struct current *current;
    HASH_FIND_STR(store->currents, group, current);
    if (!current) {
        current = mem_new(sizeof *current);
        current->group = mem_strdup(group);
        HASH_ADD_KEYPTR(hh, store->currents, current->group, strlen(current->group), current);
    }
    json_incref(settings);
    json_decref(current->settings);
    current->settings = settings;
}

static void take_switch(struct store *store, const struct event *event, const char *group) {
    const struct switch_facts *facts = switches_take(&store->switches, event, group);
    const char *status = event_text(event, "status");
    if (!status || strcmp(status, "applied") != 0 || strcmp(facts->by, "baseline") == 0 ||
        !facts->to)
        return;
    set_current(store, facts->group, facts->to);
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
}

void store_take(struct store *store, const struct event *event, const char *group) {
    struct process *process = NULL;
    if (event->kind == EVENT_RANK && event_text(event, "group")) group = event_text(event, "group");
    if (event->has_rank) process = process_of(store, group, event->rank);
    if (process) process_take(process, event);
    if (process && event->kind == EVENT_RANK) take_hello(store, process, event);
    if (process && !group) group = process->facts.group;
    if (event->t > store->t) store->t = event->t;
    int64_t variant;
    if (event_int(event, "variant", &variant)) need_variant(store, (uint32_t)variant);
    switch ((int)event->kind) {
    case EVENT_VARIANT: take_variant(store, event); break;
    case EVENT_SWITCH: take_switch(store, event, group); break;
    case EVENT_PROBLEM: take_problem(store, event); break;
    case EVENT_JOB: take_job(store, event); break;
    default: break;
    }
}

void store_dropped(struct store *store, const char *group, int rank, enum store_loss loss,
                   uint64_t count) {
    struct process *process = process_of(store, group, rank);
    store->dropped[loss] += count;
    if (process) process->facts.dropped[loss] += count;
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

const struct store_unit *store_unit(const struct store *store, size_t rank, size_t i) {
    return &store->processes[rank]->units[i];
}

const struct store_use *store_use(const struct store *store, size_t rank, size_t i) {
    return &store->processes[rank]->uses[i]->facts;
}

double store_use_median_ms(const struct store *store, size_t rank, size_t i) {
    return series_median(&store->processes[rank]->uses[i]->ms);
}

const char *store_variant_label(const struct store *store, uint32_t key) {
    const struct variant *variant = variant_of(store, key);
    return variant ? variant->label : key ? "not known" : "as written";
}

json_t *store_variant_settings(const struct store *store, uint32_t key) {
    const struct variant *variant = variant_of(store, key);
    return variant ? variant->settings : NULL;
}

json_t *store_current(const struct store *store, const char *group) {
    struct current *current;
    HASH_FIND_STR(store->currents, group, current);
    return current ? current->settings : store->as_written;
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
