/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/baseline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

/* RECENT: clean steps that the length and number of blocks come from. AHEAD: steps that pass until
 * a proposal acts, at least. */
enum { RECENT = 64, AHEAD = 16 };

struct watched {
    int rank;
    bool is_gone;
    uint64_t step;
    uint32_t variant;
    unsigned clean; /* steps since it is in this variant */
    double ms[RECENT];
    UT_hash_handle hh;
};

/* What was tried with a variant against another. */
struct target {
    uint32_t variant, other;
    bool is_wanted, is_done; /* wanted by a switch */
    unsigned tries;
    double not_before;
};

struct result {
    int rank; /* -1: a problem */
    uint32_t variant, other;
    size_t ranks;   /* that were judged together */
    unsigned tries; /* of a problem */
    struct judge_result found;
    char reason[256];
};

struct baseline {
    enum baseline_mode mode;
    enum { IDLE, ASKED, RUNNING, BETWEEN, ENDED } state; /* between two stages */
    bool is_asked; /* by a person, who waits for a comparison with: */
    uint32_t asked;
    uint32_t eager, current, other;
    uint64_t seed;
    double t;
    struct watched *ranks;
    struct judge *judge;
    struct target *targets;
    size_t target_count;
    struct result *results;
    size_t result_count, result_taken;
};

int baseline_mode_find(const char *text) {
    static const char *const names[] = {
        [BASELINE_OFF] = "off", [BASELINE_AUTO] = "auto", [BASELINE_ON] = "on"};
    if (!text) return BASELINE_OFF;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], text) == 0) return (int)i;
    return -1;
}

struct baseline *baseline_new(enum baseline_mode mode, uint32_t eager, uint64_t seed) {
    struct baseline *baseline = mem_new(sizeof *baseline);
    baseline->mode = mode;
    baseline->eager = eager;
    baseline->seed = seed;
    return baseline;
}

struct baseline *baseline_free(struct baseline *baseline) {
    struct watched *rank, *next;
    if (!baseline) return NULL;
    HASH_ITER(hh, baseline->ranks, rank, next) {
        HASH_DEL(baseline->ranks, rank);
        free(rank);
    }
    judge_free(baseline->judge);
    free(baseline->targets);
    free(baseline->results);
    free(baseline);
    return NULL;
}

/* ---- results ---- */

static struct result *add_result(struct baseline *baseline) {
    baseline->results =
        mem_resize(baseline->results, baseline->result_count + 1, sizeof baseline->results[0]);
    struct result *result = &baseline->results[baseline->result_count++];
    *result = (struct result){
        .rank = -1, .variant = baseline->current, .other = baseline->other};
    return result;
}

static struct target *target_of(struct baseline *baseline, uint32_t variant, uint32_t other) {
    for (size_t i = 0; i < baseline->target_count; i++) {
        struct target *target = &baseline->targets[i];
        if (target->variant == variant && target->other == other) return target;
    }
    baseline->targets =
        mem_resize(baseline->targets, baseline->target_count + 1, sizeof baseline->targets[0]);
    struct target *target = &baseline->targets[baseline->target_count++];
    *target = (struct target){.variant = variant, .other = other};
    return target;
}

static struct target *target_now(struct baseline *baseline) {
    return target_of(baseline, baseline->current, baseline->other);
}

static bool is_measuring(const struct baseline *baseline) {
    return baseline->state == ASKED || baseline->state == RUNNING || baseline->state == BETWEEN;
}

/* What came of it is about to be told. */
static void answer(struct baseline *baseline) {
    target_now(baseline)->is_done = true;
    if (baseline->asked == baseline->other) baseline->is_asked = false;
}

static void forget_judge(struct baseline *baseline) {
    baseline->judge = judge_free(baseline->judge);
    if (baseline->state != ENDED) baseline->state = IDLE;
}

/* True when a rank had pairs enough: then all that were judged get their result. */
static bool take_results(struct baseline *baseline) {
    struct watched *rank, *next;
    bool is_any = false;
    HASH_ITER(hh, baseline->ranks, rank, next) {
        struct judge_result found;
        judge_result(baseline->judge, rank->rank, &found);
        is_any |= found.has_ratio;
    }
    if (!is_any) return false;
    HASH_ITER(hh, baseline->ranks, rank, next) {
        struct result *result = add_result(baseline);
        result->rank = rank->rank;
        result->ranks = HASH_COUNT(baseline->ranks);
        judge_result(baseline->judge, rank->rank, &result->found);
    }
    answer(baseline);
    return true;
}

static void count_try(struct baseline *baseline, const char *reason) {
    struct target *target = target_now(baseline);
    target->not_before = baseline->t + BASELINE_BACK_OFF_S * (double)(1u << target->tries);
    bool is_for_a_person = baseline->is_asked && baseline->asked == baseline->other;
    if (++target->tries < BASELINE_TRIES && !is_for_a_person) return;
    answer(baseline);
    struct result *problem = add_result(baseline);
    problem->tries = target->tries;
    snprintf(problem->reason, sizeof problem->reason, "%s",
             reason ? reason : "no reason was given");
}

static void finish(struct baseline *baseline, const char *reason) {
    if (!take_results(baseline)) count_try(baseline, reason);
    forget_judge(baseline);
}

static void finish_when_over(struct baseline *baseline) {
    struct watched *rank, *next;
    if (baseline->state != RUNNING) return;
    HASH_ITER(hh, baseline->ranks, rank, next) {
        if (!rank->is_gone && !judge_is_over(baseline->judge, rank->rank)) return;
    }
    if (judge_next(baseline->judge))
        baseline->state = BETWEEN;
    else
        finish(baseline, "too few of its steps were clean");
}

/* ---- what is told ---- */

static struct watched *watched_of(struct baseline *baseline, int number) {
    struct watched *rank;
    HASH_FIND_INT(baseline->ranks, &number, rank);
    if (rank) return rank;
    rank = mem_new(sizeof *rank);
    rank->rank = number;
    HASH_ADD_INT(baseline->ranks, rank, rank);
    return rank;
}

void baseline_rank(struct baseline *baseline, int rank) {
    watched_of(baseline, rank)->is_gone = false;
}

void baseline_gone(struct baseline *baseline, int rank) {
    watched_of(baseline, rank)->is_gone = true;
    finish_when_over(baseline);
}

void baseline_step(struct baseline *baseline, int number, uint64_t step,
                   const struct judge_times *times, uint32_t variant, bool clean) {
    struct watched *rank = watched_of(baseline, number);
    if (variant != rank->variant) rank->clean = 0;
    rank->variant = variant;
    rank->step = step;
    if (clean && times->ms > 0) rank->ms[rank->clean++ % RECENT] = times->ms;
    if (baseline->state != RUNNING) return;
    judge_take(baseline->judge, number, step, times, variant, clean);
    if (judge_is_over(baseline->judge, number)) finish_when_over(baseline);
}

void baseline_applied(struct baseline *baseline, uint32_t variant) {
    target_of(baseline, variant, baseline->eager)->is_wanted = true;
}

void baseline_ask(struct baseline *baseline, uint32_t other) {
    baseline->is_asked = true;
    baseline->asked = other;
    for (size_t i = 0; i < baseline->target_count; i++)
        if (baseline->targets[i].other == other)
            baseline->targets[i].not_before = baseline->targets[i].tries = 0;
}

uint32_t baseline_other(const struct baseline *baseline) {
    return baseline->other;
}

void baseline_agreed(struct baseline *baseline, uint64_t start) {
    if (baseline->state != ASKED) return;
    judge_start(baseline->judge, start);
    baseline->state = RUNNING;
}

void baseline_refused(struct baseline *baseline, double t, const char *reason) {
    if (baseline->state != ASKED) return;
    baseline->t = t;
    finish(baseline, reason);
}

void baseline_dropped(struct baseline *baseline, double t, const char *reason) {
    if (!is_measuring(baseline)) return;
    baseline->t = t;
    finish(baseline, reason);
}

void baseline_end(struct baseline *baseline) {
    if (is_measuring(baseline)) take_results(baseline);
    baseline->state = ENDED;
    forget_judge(baseline);
}

/* ---- what is asked ---- */

bool baseline_is_busy(const struct baseline *baseline) {
    return is_measuring(baseline) || baseline->is_asked;
}

/* What the present variant is to be compared with: what a person asked for goes first, whatever was
 * measured before. NULL: nothing now. */
static const struct target *due(struct baseline *baseline, const struct baseline_now *now) {
    if (baseline->is_asked) {
        struct target *asked = target_of(baseline, now->variant, baseline->asked);
        return now->t >= asked->not_before ? asked : NULL;
    }
    const struct target *eager = target_of(baseline, now->variant, baseline->eager);
    bool is_wanted = baseline->mode == BASELINE_ON ||
                     (baseline->mode == BASELINE_AUTO && eager->is_wanted);
    return is_wanted && !eager->is_done && now->t >= eager->not_before ? eager : NULL;
}

static bool is_same(const struct baseline *baseline, const struct baseline_now *now,
                    uint32_t other) {
    return now->variant == other || (other == baseline->eager && now->is_eager);
}

/* Length and noise (standard deviation over length, from the median distance) of recent clean
 * steps over all ranks, when enough of them are ready. */
static bool are_ranks_ready(const struct baseline *baseline, const struct baseline_now *now,
                            double *ret_median, double *ret_noise) {
    size_t count = 0, ready = 0;
    CLEANUP(cleanup_free)
    double *ms = mem_array(HASH_COUNT(baseline->ranks) * RECENT, sizeof ms[0]);
    for (const struct watched *rank = baseline->ranks; rank; rank = rank->hh.next) {
        if (rank->is_gone) continue;
        if (rank->variant != now->variant || rank->clean < BASELINE_CLEAN_STEPS) return false;
        unsigned known = rank->clean < RECENT ? rank->clean : RECENT;
        memcpy(ms + count, rank->ms, known * sizeof ms[0]);
        count += known;
        ready++;
    }
    if (!ready || ready < now->ranks) return false;
    stats_sort(ms, count);
    double median = stats_median(ms, count);
    for (size_t i = 0; i < count; i++) ms[i] = fabs(ms[i] - median);
    stats_sort(ms, count);
    *ret_median = median;
    *ret_noise = 1.4826 * stats_median(ms, count) / median;
    return true;
}

/* The next stage of what has begun. */
static bool want_more(struct baseline *baseline, const struct baseline_now *now, uint64_t room,
                      struct schedule *ret) {
    judge_schedule(baseline->judge, ret);
    if (now->variant != baseline->current)
        finish(baseline, "another switch came in between");
    else if (ret->length > room)
        finish(baseline, "a planned switch comes before there are pairs enough");
    else
        baseline->state = ASKED;
    return baseline->state == ASKED;
}

bool baseline_want(struct baseline *baseline, const struct baseline_now *now,
                   struct schedule *ret) {
    double median, noise;
    struct judge_plan plan;
    baseline->t = now->t;
    uint64_t room = now->room == UINT64_MAX ? now->room : now->room > AHEAD ? now->room - AHEAD : 0;
    if (baseline->state == BETWEEN) return want_more(baseline, now, room, ret);
    if (baseline->state != IDLE) return false;
    const struct target *target = due(baseline, now);
    if (!target) return false;
    baseline->current = now->variant;
    baseline->other = target->other;
    if (is_same(baseline, now, target->other)) {
        if (baseline->is_asked) count_try(baseline, "these settings are in force now");
        return false;
    }
    if (!are_ranks_ready(baseline, now, &median, &noise)) return false;
    if (!judge_plan_for(median, noise, room, baseline->seed++, &plan)) {
        target_now(baseline)->not_before = now->t + 1;
        return false;
    }
    baseline->judge = judge_new(&plan, baseline->other, now->variant);
    baseline->state = ASKED;
    judge_schedule(baseline->judge, ret);
    return true;
}

/* ---- what came of it ---- */

static struct event problem_event(const struct baseline *baseline, const struct result *result,
                                  double t) {
    json_t *text = event_string(result->reason);
    const char *over = result->other == baseline->eager ? "eager" : "the other settings";
    json_t *whole =
        result->tries > 1
            ? json_sprintf("the speedup over %s could not be measured in %d tries: %s", over,
                           (int)result->tries, json_string_value(text))
            : json_sprintf("the speedup over %s could not be measured: %s", over,
                           json_string_value(text));
    json_decref(text);
    return event_make(EVENT_PROBLEM, t, "{s:s, s:o}", "what", "baseline", "text", whole);
}

static json_t *interval_json(const struct stats_interval *interval) {
    return json_pack("{s:f, s:f, s:f}", "ratio", interval->ratio, "low", interval->low, "high",
                     interval->high);
}

static json_t *phases_json(const struct judge_result *found) {
    json_t *phases = json_object();
    for (int i = 0; i < SHARE_COUNT; i++)
        if (found->has_phase[i])
            json_object_set_new(phases, share_names[i], interval_json(&found->phases[i]));
    return phases;
}

static struct event speedup_event(const struct baseline *baseline, const struct result *result,
                                  double t) {
    const struct judge_result *found = &result->found;
    struct event event =
        event_make(EVENT_SPEEDUP, t, "{s:I}", "variant", (json_int_t)result->variant);
    event_set_rank(&event, result->rank);
    if (result->other != baseline->eager)
        json_object_set_new(event.body, "against", json_integer((json_int_t)result->other));
    if (found->has_ratio) {
        json_t *interval = interval_json(&found->interval), *phases = phases_json(found);
        json_object_update(event.body, interval);
        json_decref(interval);
        json_object_set_new(event.body, "within", json_real(found->within));
        if (json_object_size(phases)) json_object_set(event.body, "phases", phases);
        json_decref(phases);
    }
    json_object_set_new(event.body, "pairs", json_integer(found->pairs));
    json_object_set_new(event.body, "ranks", json_integer((json_int_t)result->ranks));
    json_object_set_new(event.body, "verdict", json_string(judge_verdict_name(found->verdict)));
    return event;
}

bool baseline_next(struct baseline *baseline, double t, struct event *ret) {
    if (baseline->result_taken == baseline->result_count) {
        baseline->result_taken = baseline->result_count = 0;
        return false;
    }
    const struct result *result = &baseline->results[baseline->result_taken++];
    *ret = result->rank < 0 ? problem_event(baseline, result, t)
                            : speedup_event(baseline, result, t);
    return true;
}

json_t *schedule_json(const struct schedule *schedule, json_t *other, json_t *current) {
    json_t *list = json_array();
    for (size_t i = 0; i < schedule->count; i++)
        json_array_append_new(list,
                              json_pack("[I,O]", (json_int_t)schedule->entries[i].offset,
                                        schedule->entries[i].side == SIDE_OTHER ? other : current));
    return list;
}
