/* Findings about ranks that should do the same and do not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/stats.h"
#include "engine/tune/rules.h"
#include "engine/base/banned.h"

enum {
    WAIT_S_LEAST = 10,   /* that others wait for a rank that compiles */
    ALONE_S_LEAST = 1,   /* the same, when it is known to be alone with something new */
    ALONE_STEPS = 3,     /* and so many of their steps */
    ALONE_COUNT_LEAST = 3, /* of one rank: a habit, whatever it costs */
};
static const double rank_slower_least = 1.15; /* its own work over the median of the others */
static const double skew_share_least = 0.1; /* of the step */

/* ---- just now */

/* Who compiles in a group, and who waits. */
struct wait {
    const struct snapshot_rank *who; /* compiles since longest; NULL: nobody does */
    size_t compiling, others, stand, met; /* of the others: that stand still since long; that compiled in this step, too */
    double waited_s;                      /* the least of the others */
    double usual_s;                       /* the longest of their usual steps */
};

static void look_at(const struct snapshot *snapshot, const struct snapshot_rank *rank, struct wait *wait) {
    if (snapshot_activity(snapshot, rank) == ACTIVITY_COMPILING) {
        wait->compiling++;
        if (!wait->who || rank->compiling_t < wait->who->compiling_t) wait->who = rank;
        return;
    }
    if (isnan(rank->step_t)) return;
    wait->others++;
    double idle_s = fmin(snapshot_idle_s(snapshot, rank), snapshot->now - rank->compiled_t); /* not while it compiled itself */
    wait->stand += idle_s >= WAIT_S_LEAST / 2.0;
    wait->met += rank->compiled_t >= rank->step_t;
    wait->waited_s = fmin(wait->waited_s, idle_s);
    wait->usual_s = fmax(wait->usual_s, rank->p95_ms / 1e3);
}

/* Only one rank met something new: known at once, long before it has taken as long as a wait that has no cause. */
static bool is_alone(const struct wait *wait, double since) {
    double least = fmax(ALONE_S_LEAST, ALONE_STEPS * wait->usual_s);
    return wait->who->compiling_why && wait->compiling == 1 && !wait->met && since >= ALONE_S_LEAST && wait->waited_s >= least;
}

/* Ranks wait in a collective for one that compiles: beyond the collectives' patience the job ends. */
void find_waiting(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t g = 0; g < snapshot->group_count; g++) {
        const struct snapshot_group *group = snapshot->groups[g];
        struct wait wait = {.waited_s = INFINITY, .usual_s = NAN};
        for (size_t i = 0; i < group->rank_count; i++) {
            const struct snapshot_rank *rank = snapshot->ranks[group->ranks[i]];
            if (!snapshot_is_over(rank)) look_at(snapshot, rank, &wait);
        }
        if (!wait.who || !wait.others) continue;
        const struct snapshot_rank *who = wait.who;
        double since = snapshot->now - who->compiling_t;
        bool alone = is_alone(&wait, since);
        if (who->compiling_why) finding_is_urgent(look);
        size_t waiting = alone ? wait.others : wait.stand;
        if (!alone && (since < WAIT_S_LEAST || !waiting)) continue;
        struct finding *finding = finding_add(look, group->key, (struct finding){.rank = who->rank, .lost_s = wait.met ? wait.waited_s : since, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_printf("rank %d%s compiles%s%s%s since %.0f s%s%s; %zu rank%s wait%s", who->rank, alone ? " alone" : "",
                                   who->compiling[0] ? " " : "", who->compiling, who->compiling_why ? " again" : "", since,
                                   who->compiling_why ? ": " : "", who->compiling_why ? who->compiling_why : "", waiting,
                                   waiting > 1 ? "s" : "", waiting > 1 ? "" : "s");
        finding->action = mem_strdup(wait.met ? "The others have compiled theirs: it takes longer here; give the collectives a longer time-out if it may"
                                              : "Only this rank met something new: give all ranks the same shapes, or a longer time-out for collectives");
        finding->evidence = mem_printf("%zu of %zu ranks compile, at step %" PRIu64, wait.compiling, group->rank_count,
                                       who->has_step ? who->step + 1 : 0);
    }
}

/* ---- what was */

/* How a difference is told: of those that did, and of those that did not. */
static const struct {
    const char *did, *did_not, *action;
    double least_s; /* what it must cost a rank to be told */
    bool is_common; /* one that is first may differ from the next: told only when most did not */
} differences[DIFFERENCE_COUNT] = {
    [DIFFERENCE_RECOMPILE] = {"recompiled", "did not", "Give all ranks the same shapes and values: the others wait while one compiles", 1, false},
    [DIFFERENCE_COMPILE] = {"compiled", "did not", "What only some ranks call holds up the others, if it is between collectives", 1, false},
    [DIFFERENCE_BREAK] = {"broke the graph at", "did not", "Code that depends on the rank belongs outside of what is compiled", 0, false},
    [DIFFERENCE_CACHE] = {"compiled anew", "had it in the cache", "One cache for all ranks (TORCHINDUCTOR_CACHE_DIR on a shared disk) compiles once", 10, true},
};

struct sides {
    struct rank_set did, did_not;
    size_t open; /* not there yet */
};

static void sides_done(struct sides *sides) {
    rank_set_done(&sides->did);
    rank_set_done(&sides->did_not);
}

static const struct snapshot_group *group_of(const struct snapshot *snapshot, const char *key) {
    for (size_t i = 0; i < snapshot->group_count; i++)
        if (strcmp(snapshot->groups[i]->key, key) == 0) return snapshot->groups[i];
    return NULL;
}

/* Who has left the step behind and has not met it will not. */
static struct sides sides_of(const struct snapshot *snapshot, const struct snapshot_group *group,
                             const struct snapshot_difference *difference) {
    struct sides sides = {0};
    for (size_t i = 0; i < group->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[group->ranks[i]];
        bool is_past = rank->has_step && rank->step > difference->step + 1 && isnan(rank->compiling_t);
        bool did_not = difference->did_not.count ? rank_set_has(&difference->did_not, rank->rank) : is_past;
        if (rank_set_has(&difference->did, rank->rank)) rank_set_add(&sides.did, rank->rank);
        else if (did_not) rank_set_add(&sides.did_not, rank->rank);
        else sides.open++;
    }
    return sides;
}

/* Few are named, many are counted. */
static char *name_ranks(const struct rank_set *ranks, bool is_few) {
    CLEANUP(cleanup_free) char *which = rank_set_text(ranks);
    const char *plural = ranks->count > 1 ? "s" : "";
    return is_few ? mem_printf("rank%s %s alone", plural, which) : mem_printf("%zu rank%s", ranks->count, plural);
}

static void tell_difference(const struct look *look, const struct snapshot_difference *difference, const struct sides *sides) {
    double seconds = difference->seconds / (double)difference->did.count;
    bool did_few = sides->did.count <= sides->did_not.count;
    const struct rank_set *few = did_few ? &sides->did : &sides->did_not;
    struct finding *finding = finding_add(look, difference->key,
                                          (struct finding){.rank = few->count == 1 ? rank_set_first(few) : -1,
                                                           .lost_s = difference->seconds > 0 ? seconds : NAN,
                                                           .gain = NAN});
    if (!finding) return;
    CLEANUP(cleanup_free) char *did = name_ranks(&sides->did, did_few);
    CLEANUP(cleanup_free) char *did_not = name_ranks(&sides->did_not, !did_few);
    CLEANUP(cleanup_free) char *spent = seconds > 0 ? mem_printf(", %.1f s", seconds) : mem_strdup("");
    finding->text = mem_printf("%s %s %s%s%s; %s %s", did, differences[difference->kind].did, difference->subject,
                               difference->words ? ": " : "", difference->words ? difference->words : "", did_not,
                               differences[difference->kind].did_not);
    finding->action = mem_strdup(differences[difference->kind].action);
    finding->evidence = mem_printf("%" PRIu64 " times%s, last at step %" PRIu64, difference->count, spent, difference->step);
}

/* Some ranks met what the others did not: groups, and who stands alone. */
void find_alone(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->difference_count; i++) {
        const struct snapshot_difference *difference = snapshot->differences[i];
        const struct snapshot_group *group = group_of(snapshot, difference->group);
        if (!group || !difference->did.count) continue;
        CLEANUP(sides_done) struct sides sides = sides_of(snapshot, group, difference);
        if (!sides.did.count || !sides.did_not.count || sides.open) continue;
        double ranks = (double)difference->did.count;
        bool is_dear = difference->seconds / ranks >= differences[difference->kind].least_s;
        bool is_habit = (double)difference->count / ranks >= ALONE_COUNT_LEAST;
        if (differences[difference->kind].is_common && sides.did.count >= sides.did_not.count) continue;
        if (is_dear || is_habit) tell_difference(look, difference, &sides);
    }
}

/* ---- the slow one */

/* What a rank did outside of the backward, where it may wait for others: who is slow, and against whom. */
struct slow {
    const struct snapshot_rank *who;
    double own_ms, median_ms; /* its own; of the others */
    double step_ms;
    uint64_t steps;
};

static bool slowest_of(const struct snapshot *snapshot, const struct snapshot_group *group, struct slow *ret) {
    CLEANUP(cleanup_free) double *own = mem_array(group->rank_count + 1, sizeof *own);
    *ret = (struct slow){0};
    for (size_t i = 0; i < group->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[group->ranks[i]];
        const struct snapshot_use *use = rules_use(rank);
        if (!use || !rules_has_enough(&use->shares)) return false;
        double step_ms = use->shares.ms / (double)use->shares.steps;
        if (use->shares.of[SHARE_BACKWARD] <= 0) return false;
        own[i] = step_ms - shares_mean_ms(&use->shares, SHARE_BACKWARD);
        if (own[i] <= ret->own_ms) continue;
        *ret = (struct slow){.who = rank, .own_ms = own[i], .steps = use->shares.steps, .step_ms = step_ms};
    }
    if (group->rank_count < 2 || !ret->who) return false;
    stats_sort(own, group->rank_count);
    ret->median_ms = stats_median(own, group->rank_count - 1);
    return ret->median_ms > 0;
}

static bool is_slow(const struct slow *slow) {
    return slow->own_ms >= rank_slower_least * slow->median_ms && slow->own_ms - slow->median_ms >= 0.05 * slow->step_ms;
}

/* A rank does more of its own work than the others, who wait for it in the backward's collectives. */
void find_straggler(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t g = 0; g < snapshot->group_count; g++) {
        const struct snapshot_group *group = snapshot->groups[g];
        struct slow slow;
        if (!slowest_of(snapshot, group, &slow) || !is_slow(&slow)) continue;
        double over_ms = slow.own_ms - slow.median_ms;
        struct finding *finding = finding_add(look, group->key,
                                              (struct finding){.rank = slow.who->rank,
                                                               .lost_s = over_ms * (double)slow.steps / 1e3,
                                                               .gain = slow.step_ms / (slow.step_ms - over_ms)});
        if (!finding) continue;
        finding->text = mem_printf("rank %d is the slow one: outside of the backward it takes %.2f ms, the others %.2f", slow.who->rank,
                                   slow.own_ms, slow.median_ms);
        finding->action = mem_strdup("Look at its data (longer samples?), its host and its device; the others wait in the backward");
        finding->evidence = mem_printf("mean of %" PRIu64 " clean steps", slow.steps);
    }
}

/* Collectives name the one that is waited for, whatever keeps it: the least time in them. */
void find_skew(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t g = 0; g < snapshot->group_count; g++) {
        const struct snapshot_group *group = snapshot->groups[g];
        struct slow slow;
        if (!group->has_last || !(group->skew_ms >= skew_share_least * group->median_ms)) continue;
        if (slowest_of(snapshot, group, &slow) && is_slow(&slow)) continue; /* that says where its time goes */
        const struct snapshot_rank *last = snapshot->ranks[group->last];
        struct finding *finding =
            finding_add(look, group->key,
                        (struct finding){.rank = last->rank, .lost_s = group->skew_ms * (double)last->steps / 1e3, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_printf("rank %d is waited for: the others stand in collectives, up to %.2f ms of a step of %.2f", last->rank,
                                   group->skew_ms, group->median_ms);
        finding->action = mem_strdup("Look at what only it does (logging, checkpoints, longer samples), its host and its device");
        finding->evidence = mem_printf("time by rank in collectives that all wait in, %.2f ms on rank %d", last->traffic.meeting_ms, last->rank);
    }
}
