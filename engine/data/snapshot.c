/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/snapshot.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/data/snapshot_parts.h"
#include "engine/base/banned.h"

enum { QUIET_S = 5, QUIET_STEPS = 10 };

/* ---- the job ---- */

struct frozen_job {
    struct snapshot_job shown;
    json_t *body;
    char *command;
};

static void job_done(void *thing) {
    struct frozen_job *job = thing;
    json_decref(job->body);
    free(job->command);
}

static char *words_of(const json_t *array) {
    struct buf text = BUF_INIT;
    size_t i;
    json_t *word;
    json_array_foreach(array, i, word) if (json_is_string(word))
        buf_printf(&text, "%s%s", text.size ? " " : "", json_string_value(word));
    return buf_take(&text);
}

static const char *text_of(const json_t *body, const char *field) {
    return json_string_value(json_object_get(body, field));
}

static bool get_int(const json_t *body, const char *field, int64_t *ret) {
    const json_t *value = json_object_get(body, field);
    if (!json_is_integer(value)) return false;
    *ret = (int64_t)json_integer_value(value);
    return true;
}

static const struct snapshot_job *job_of(struct store *store) {
    if (store->job_frozen || !store->job) return shared_ref(store->job_frozen);
    struct frozen_job *job = shared_new(sizeof *job, job_done);
    struct snapshot_job *shown = &job->shown;
    job->body = json_incref(store->job);
    shown->command = job->command = words_of(json_object_get(store->job, "command"));
    shown->name = text_of(store->job, "name");
    shown->start = text_of(store->job, "start");
    shown->state = text_of(store->job, "state");
    shown->has_exit = get_int(store->job, "exit", &shown->exit);
    shown->has_signal = get_int(store->job, "signal", &shown->signal);
    shown->has_restart = get_int(store->job, "restart", &shown->restart);
    store->job_frozen = shown;
    return shared_ref(shown);
}

/* ---- the whole ---- */

static void snapshot_done(void *thing) {
    struct snapshot *snapshot = thing;
    for (size_t i = 0; i < ARRAY_SIZE(snapshot->held); i++) shared_unref(snapshot->held[i]);
}

/* A list that the snapshot holds from now on. */
static size_t hold(struct snapshot *snapshot, const struct shared_list *list,
                   const void *ret_things) {
    size_t i = 0;
    while (snapshot->held[i]) i++;
    snapshot->held[i] = &list->shared;
    *(const void *const **)ret_things = (const void *const *)list->things;
    return list->count;
}

static int compare_ranks(const void *a, const void *b) {
    const struct snapshot_rank *x = *(const struct snapshot_rank *const *)a;
    const struct snapshot_rank *y = *(const struct snapshot_rank *const *)b;
    if (x->is_shown != y->is_shown) return x->is_shown ? -1 : 1;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static const struct shared_list *ranks_of(struct store *store) {
    struct shared_list *list = shared_list_new(store->count);
    for (size_t i = 0; i < store->count; i++) shared_list_add(list, freeze_rank(store, i));
    if (list->count > 1) qsort(list->things, list->count, sizeof list->things[0], compare_ranks);
    return list;
}

static void set_ranks(struct snapshot *snapshot, struct store *store) {
    snapshot->process_count = hold(snapshot, ranks_of(store), &snapshot->ranks);
    while (snapshot->rank_count < snapshot->process_count &&
           snapshot->ranks[snapshot->rank_count]->is_shown)
        snapshot->rank_count++;
    snapshot->group_count = hold(
        snapshot, freeze_groups(store, snapshot->ranks, snapshot->rank_count), &snapshot->groups);
    const struct snapshot_variants *variants =
        freeze_variants(store, snapshot->ranks, snapshot->rank_count);
    size_t i = 0;
    while (snapshot->held[i]) i++;
    snapshot->held[i] = &variants->shared;
    snapshot->variants = variants->variants;
    snapshot->variant_count = variants->count;
}

static void set_lists(struct snapshot *snapshot, struct store *store) {
    struct views *views = store->views;
    freeze_switches(store);
    snapshot->switch_count = hold(snapshot, roll_list(&views->switches), &snapshot->switches);
    snapshot->event_count = hold(snapshot, roll_list(&views->events), &snapshot->events);
    snapshot->compile_count = hold(snapshot, roll_list(&views->compiles), &snapshot->compiles);
    snapshot->cause_count = hold(snapshot, roll_list(&store->causes.list), &snapshot->causes);
    snapshot->break_count = hold(snapshot, roll_list(&views->places.list), &snapshot->breaks);
    snapshot->difference_count = hold(snapshot, roll_list(&views->differences.list), &snapshot->differences);
    snapshot->problem_count = hold(snapshot, roll_list(&views->problems), &snapshot->problems);
    snapshot->finding_count = hold(snapshot, roll_list(&views->findings), &snapshot->findings);
    snapshot->output_count = hold(snapshot, roll_list(&views->outputs), &snapshot->outputs);
    snapshot->switch_total = store->switches.count;
    snapshot->event_total = views->events.total;
    snapshot->compile_total = views->compiles.total;
    snapshot->problem_total = store->problem_total;
    snapshot->output_total = views->outputs.total;
}

static struct snapshot *make(struct store *store) {
    struct snapshot *snapshot = shared_new(sizeof *snapshot, snapshot_done);
    snapshot->version = store->version;
    snapshot->job = job_of(store);
    if (snapshot->job) snapshot->held[0] = &snapshot->job->shared;
    set_ranks(snapshot, store);
    set_lists(snapshot, store);
    memcpy(snapshot->dropped, store->dropped, sizeof snapshot->dropped);
    return snapshot;
}

/* The same, at another moment. */
static struct snapshot *again(const struct snapshot *last) {
    struct snapshot *snapshot = shared_new(sizeof *snapshot, snapshot_done);
    struct shared shared = snapshot->shared;
    *snapshot = *last;
    snapshot->shared = shared;
    for (size_t i = 0; i < ARRAY_SIZE(snapshot->held); i++) shared_ref(snapshot->held[i]);
    return snapshot;
}

const struct snapshot *snapshot_take(struct store *store, double now) {
    assert(store->views);
    const struct snapshot *last = store->views->last;
    bool is_same = last && last->version == store->version;
    if (is_same && last->now == now) return snapshot_ref(last);
    struct snapshot *snapshot = is_same ? again(last) : make(store);
    snapshot->now = now;
    snapshot_unref(last);
    store->views->last = snapshot;
    return snapshot_ref(snapshot);
}

const struct snapshot *snapshot_ref(const struct snapshot *snapshot) {
    return shared_ref(snapshot);
}

void snapshot_unref(const struct snapshot *snapshot) {
    shared_unref(snapshot);
}

/* ---- questions ---- */

double snapshot_idle_s(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    return fmax(0, snapshot->now - rank->step_t) + (isnan(rank->step_t) ? NAN : 0);
}

double snapshot_rate(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    double idle = snapshot_idle_s(snapshot, rank);
    if (isnan(rank->rate) || isnan(idle) || idle * rank->rate <= 3) return rank->rate;
    return 3 / idle;
}

static bool is_switching(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    const struct snapshot_switch *pending = snapshot_pending(snapshot, rank->who->group);
    if (!pending || !pending->has_at || pending->status != SWITCH_COMMITTED) return false;
    bool has_told =
        (size_t)rank->rank < pending->rank_room && pending->by_rank[rank->rank] >= SWITCH_APPLIED;
    return !has_told && rank->has_step && rank->step + 1 >= pending->at;
}

static bool is_quiet(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    double idle = snapshot_idle_s(snapshot, rank), usual = rank->p95_ms / 1e3;
    return idle > QUIET_S && !(idle < QUIET_STEPS * usual);
}

static const char *const activities[ACTIVITY_COUNT] = {
    [ACTIVITY_ASLEEP] = "asleep",       [ACTIVITY_REFUSED] = "refused",
    [ACTIVITY_STARTING] = "1st step",   [ACTIVITY_TRAINING] = "training",
    [ACTIVITY_COMPILING] = "compiling",
    [ACTIVITY_SWITCHING] = "switching", [ACTIVITY_QUIET] = "no step",
    [ACTIVITY_STALLED] = "stalled",     [ACTIVITY_FINISHED] = "finished",
    [ACTIVITY_EXITED] = "exited",       [ACTIVITY_LOST] = "lost",
};

enum snapshot_activity snapshot_activity(const struct snapshot *snapshot,
                                         const struct snapshot_rank *rank) {
    const char *state = rank->who->state;
    for (int i = 0; state && i < ACTIVITY_COUNT; i++) {
        bool is_told = i != ACTIVITY_STARTING && i != ACTIVITY_TRAINING &&
                       i != ACTIVITY_COMPILING && i != ACTIVITY_SWITCHING && i != ACTIVITY_QUIET;
        if (is_told && strcmp(activities[i], state) == 0) return (enum snapshot_activity)i;
    }
    if (!isnan(rank->compiling_t)) return ACTIVITY_COMPILING;
    if (is_switching(snapshot, rank)) return ACTIVITY_SWITCHING;
    if (!rank->has_step) return ACTIVITY_STARTING;
    return is_quiet(snapshot, rank) ? ACTIVITY_QUIET : ACTIVITY_TRAINING;
}

const char *snapshot_activity_name(enum snapshot_activity activity) {
    return activities[activity];
}

const struct snapshot_variant *snapshot_variant(const struct snapshot *snapshot, uint32_t variant) {
    for (size_t i = 0; i < snapshot->variant_count; i++)
        if (snapshot->variants[i].variant == variant) return &snapshot->variants[i];
    return NULL;
}

const struct snapshot_rank *snapshot_rank(const struct snapshot *snapshot, const char *group,
                                          int rank) {
    for (size_t i = 0; i < snapshot->process_count; i++)
        if (snapshot->ranks[i]->rank == rank && strcmp(snapshot->ranks[i]->who->group, group) == 0)
            return snapshot->ranks[i];
    return NULL;
}

const char *snapshot_pair(const struct snapshot_pairs *pairs, const char *key) {
    for (size_t i = 0; pairs && i < pairs->count; i++)
        if (strcmp(pairs->pairs[i].key, key) == 0) return pairs->pairs[i].value;
    return NULL;
}

const struct snapshot_switch *snapshot_pending(const struct snapshot *snapshot, const char *group) {
    for (size_t i = snapshot->switch_count; i-- > 0;) {
        const struct snapshot_switch *one = snapshot->switches[i];
        if (!one->is_over && !one->is_tried_again && strcmp(one->group, group) == 0) return one;
    }
    return NULL;
}
