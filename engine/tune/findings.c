/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/stats.h"
#include "engine/base/banned.h"

enum {
    STEPS_LEAST = 20,       /* clean steps before shares of them mean something */
    NOT_COMPILED_STEPS = 50,
    RECOMPILES_LEAST = 3,   /* of one cause on a rank: one or two are how torch finds out what changes */
    WAIT_S_LEAST = 10,      /* that others wait for a rank that compiles */
};
static const double seconds_least = 1.0;     /* of all clean steps together */
static const double data_share_least = 0.2;  /* of the step's time */
static const double rank_slower_least = 1.15; /* its own work over the median of the others */

/* A finding as a rule makes it; texts belong to whoever holds it. */
struct finding {
    const char *rule;
    int rank; /* -1: of the job */
    char *subject, *text, *action, *evidence;
    double lost_s, gain; /* NaN: not known */
};

struct known {
    char *key;
    double lost_s, gain; /* as told last */
    uint64_t look;       /* at which it held last */
    bool passes;
    UT_hash_handle hh;
};

struct findings {
    struct known *known;
    struct finding *due;
    size_t due_count, due_room, due_next;
    uint64_t looks;
};

/* What a rule is given: it looks and adds. */
struct look {
    struct findings *findings;
    const struct snapshot *snapshot;
    const char *rule;
    bool passes;
};

static void finding_done(struct finding *finding) {
    free(finding->subject);
    free(finding->text);
    free(finding->action);
    free(finding->evidence);
}

/* True when it is to be told. */
static bool is_news(const struct look *look, const struct finding *finding) {
    struct findings *findings = look->findings;
    CLEANUP(cleanup_free) char *key = mem_printf("%s %d %s", finding->rule, finding->rank, finding->subject);
    struct known *known;
    HASH_FIND_STR(findings->known, key, known);
    bool is_new = !known;
    if (is_new) {
        known = mem_new(sizeof *known);
        known->key = mem_strdup(key);
        known->lost_s = known->gain = NAN;
        HASH_ADD_KEYPTR(hh, findings->known, known->key, strlen(known->key), known);
    }
    known->look = findings->looks;
    known->passes = look->passes;
    bool costs_more = finding->lost_s >= known->lost_s * 1.5 && finding->lost_s >= known->lost_s + 1;
    bool gains_other = fabs(finding->gain / known->gain - 1) >= 0.1;
    if (!is_new && !costs_more && !gains_other) return false;
    known->lost_s = finding->lost_s;
    known->gain = finding->gain;
    return true;
}

/* Takes the texts. */
static void add(const struct look *look, struct finding finding) {
    struct findings *findings = look->findings;
    finding.rule = look->rule;
    if (!finding.subject) finding.subject = mem_strdup("");
    if (!is_news(look, &finding)) {
        finding_done(&finding);
        return;
    }
    if (findings->due_count == findings->due_room) {
        findings->due_room = findings->due_room ? 2 * findings->due_room : 8;
        findings->due = mem_resize(findings->due, findings->due_room, sizeof *findings->due);
    }
    findings->due[findings->due_count++] = finding;
}

/* ---- what rules look at */

static const struct snapshot_use *use_in_force(const struct snapshot_rank *rank) {
    return rank->has_variant ? snapshot_use(rank, rank->variant) : NULL;
}

static bool has_enough(const struct shares *shares) {
    return shares->steps >= STEPS_LEAST && shares->ms >= seconds_least * 1e3;
}

static const char *label_of(const struct snapshot_variant *variant) {
    return variant->label ? variant->label : "as written";
}

/* What is in force somewhere and was measured to be so: "faster", "slower". From `*at` on; NULL: no more. */
static const struct snapshot_variant *next_measured(const struct snapshot *snapshot, const char *verdict, size_t *at) {
    while (*at < snapshot->variant_count) {
        const struct snapshot_variant *variant = &snapshot->variants[(*at)++];
        const struct snapshot_speedup *speedup = &variant->speedup;
        if (variant->current && speedup->has_ratio && speedup->verdict && strcmp(speedup->verdict, verdict) == 0) return variant;
    }
    return NULL;
}

/* ---- rules */

/* The step waits for the data loader: settings of the compiler cannot help there. The rank that waits least speaks for all; where
 * others wait more, that is the straggler's rule. */
static void find_data_wait(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    const struct snapshot_rank *who = NULL;
    const struct shares *its = NULL;
    double least = 1;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        if (snapshot_is_over(snapshot->ranks[i])) continue;
        const struct snapshot_use *use = use_in_force(snapshot->ranks[i]);
        if (!use || !has_enough(&use->shares)) return;
        double share = use->shares.of[SHARE_DATA] / use->shares.ms;
        if (share > least) continue;
        least = share;
        who = snapshot->ranks[i];
        its = &use->shares;
    }
    if (!who || least < data_share_least) return;
    add(look, (struct finding){
                  .rank = -1,
                  .text = mem_printf("%.0f %% of the step waits for data: compile settings can give %.2fx at the most", 100 * least,
                                     1 / least),
                  .action = mem_strdup("More workers in the DataLoader (num_workers, persistent_workers), pin_memory, less work per sample"),
                  .evidence = mem_printf("rank %d: %.2f of %.2f ms, mean of %" PRIu64 " clean steps", who->rank,
                                         shares_mean_ms(its, SHARE_DATA), its->ms / (double)its->steps, its->steps),
                  .lost_s = its->of[SHARE_DATA] / 1e3,
                  .gain = 1 / (1 - fmin(least, 0.99)),
              });
}

/* What is in force is slower than eager, by the judge. */
static void find_slower(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    size_t at = 0;
    for (const struct snapshot_variant *variant; (variant = next_measured(snapshot, "slower", &at));) {
        const struct snapshot_speedup *speedup = &variant->speedup;
        add(look, (struct finding){
                      .rank = -1,
                      .subject = mem_printf("%" PRIu32, variant->variant),
                      .text = mem_printf("%s is slower than eager: %.2fx (%.2f to %.2f)", label_of(variant), speedup->ratio, speedup->low, speedup->high),
                      .action = mem_strdup("scope=eager takes the compiler out; scope=regional or another mode may do better"),
                      .evidence = mem_printf("%" PRId64 " pairs of blocks on rank %d", speedup->pairs, variant->speedup_rank),
                      .lost_s = (1 - speedup->ratio) * variant->median_ms * (double)variant->steps / 1e3,
                      .gain = 1 / speedup->ratio,
                  });
    }
}

/* One cause, compiled for again and again. */
static void find_recompiles(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->cause_count; i++) {
        const struct snapshot_cause *cause = snapshot->causes[i];
        size_t ranks = cause->rank_count ? cause->rank_count : 1;
        if (cause->count < RECOMPILES_LEAST * ranks) continue;
        add(look, (struct finding){
                      .rank = -1,
                      .subject = mem_strdup(cause->key),
                      .text = mem_printf("recompiled %" PRIu64 " times, %.1f s so far: %s", cause->count, cause->seconds, cause->words),
                      .action = cause->remedy ? mem_strdup(cause->remedy) : NULL,
                      .evidence = mem_printf("%s, rank%s %s", cause->frame, ranks > 1 ? "s" : "", cause->ranks),
                      .lost_s = cause->seconds / (double)ranks,
                      .gain = NAN,
                  });
    }
}

/* torch gave a function up: it runs eager from now on, and says so in a log that nobody reads. */
static void find_limit(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->compile_count; i++) {
        const struct snapshot_compile *compile = snapshot->compiles[i];
        if (!compile->failed || !strstr(compile->failed, "recompile_limit")) continue;
        const char *frame = compile->frame ? compile->frame : "a function";
        add(look, (struct finding){
                      .rank = -1,
                      .subject = mem_strdup(frame),
                      .text = compile->has_step
                                  ? mem_printf("%s has reached %s: it runs eager since step %" PRIu64, frame, compile->failed, compile->step)
                                  : mem_printf("%s has reached %s: it runs eager since", frame, compile->failed),
                      .action = mem_strdup("Mend what it is compiled for again (see the recompiles), or torch.compile(..., recompile_limit=N)"),
                      .evidence = mem_printf("compile id %s on rank %d", compile->id ? compile->id : "?", compile->rank),
                      .lost_s = NAN,
                      .gain = NAN,
                  });
    }
}

/* Trains, and nothing is compiled. */
static void find_not_compiled(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        if (rank->compiles || rank->steps < NOT_COMPILED_STEPS || rank->variant) continue;
        size_t units = rank->units ? rank->units->count : 0;
        const struct snapshot_unit *unit = units ? &rank->units->units[0] : NULL;
        if (unit)
            add(look, (struct finding){
                          .rank = -1,
                          .text = mem_printf("%s is compiled by the script and never called that way: training runs eager", unit->name),
                          .action = mem_strdup("Call what torch.compile returned, by its __call__; another method, or the module itself, goes past it"),
                          .evidence = mem_printf("%s:%" PRId64 ", no compilation in %" PRIu64 " steps", unit->file ? unit->file : "?",
                                                 unit->has_line ? unit->line : 0, rank->steps),
                          .lost_s = NAN,
                          .gain = NAN,
                      });
        else
            add(look, (struct finding){
                          .rank = -1,
                          .text = mem_strdup("nothing is compiled"),
                          .action = mem_strdup("scope=whole or scope=regional compiles the model from here, and back"),
                          .evidence = mem_printf("no torch.compile in %" PRIu64 " steps", rank->steps),
                          .lost_s = NAN,
                          .gain = NAN,
                      });
        return;
    }
}

/* A rank does more of its own work than the others, who wait for it in the backward's collectives. */
static void find_straggler(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t g = 0; g < snapshot->group_count; g++) {
        const struct snapshot_group *group = snapshot->groups[g];
        CLEANUP(cleanup_free) double *own = mem_array(group->rank_count + 1, sizeof *own);
        const struct snapshot_rank *slowest = NULL;
        double most = 0;
        uint64_t steps = 0;
        size_t count = 0;
        for (size_t i = 0; i < group->rank_count; i++) {
            const struct snapshot_rank *rank = snapshot->ranks[group->ranks[i]];
            const struct snapshot_use *use = use_in_force(rank);
            if (!use || !has_enough(&use->shares)) break;
            own[count] = shares_mean_ms(&use->shares, SHARE_DATA) + shares_mean_ms(&use->shares, SHARE_FORWARD);
            if (own[count] > most) {
                most = own[count];
                slowest = rank;
                steps = use->shares.steps;
            }
            count++;
        }
        if (count < 2 || count < group->rank_count || !slowest) continue; /* none: no rank tells data or forward */
        stats_sort(own, count);
        double median = stats_median(own, count - 1), over_ms = most - median;
        const struct snapshot_use *use = use_in_force(slowest);
        if (median <= 0 || most < rank_slower_least * median || over_ms < 0.05 * use->shares.ms / (double)steps) continue;
        add(look, (struct finding){
                      .rank = slowest->rank,
                      .subject = mem_strdup(group->key),
                      .text = mem_printf("rank %d is the slow one: data and forward take it %.2f ms, the others %.2f", slowest->rank, most, median),
                      .action = mem_strdup("Look at its data (longer samples?), its host and its device; the others wait in the backward"),
                      .evidence = mem_printf("mean of %" PRIu64 " clean steps", steps),
                      .lost_s = over_ms * (double)steps / 1e3,
                      .gain = (use->shares.ms / (double)steps) / (use->shares.ms / (double)steps - over_ms),
                  });
    }
}

/* Compiling has cost more than it can have gained so far. Only with a measured speedup. */
static void find_break_even(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    size_t at = 0;
    for (const struct snapshot_variant *variant; (variant = next_measured(snapshot, "faster", &at));) {
        const struct snapshot_speedup *speedup = &variant->speedup;
        double even = variant->break_even, gained_ms = variant->compile_s * 1e3 / even; /* a step */
        if (!(even > 4.0 * (double)variant->steps) || variant->compile_s < 60) continue;
        add(look, (struct finding){
                      .rank = -1,
                      .subject = mem_printf("%" PRIu32, variant->variant),
                      .text = mem_printf("%s pays after %.0f steps: %.0f s of compiling, %.2f ms gained a step", label_of(variant),
                                         even, variant->compile_s, gained_ms),
                      .action = mem_strdup("Short runs: scope=regional compiles one block for all, and a warm cache (TORCHINDUCTOR_CACHE_DIR) saves most of it"),
                      .evidence = mem_printf("%.2fx (%.2f to %.2f), %" PRIu64 " steps so far", speedup->ratio, speedup->low, speedup->high, variant->steps),
                      .lost_s = variant->compile_s - gained_ms * (double)variant->steps / 1e3,
                      .gain = NAN,
                  });
    }
}

/* Ranks wait in a collective for one that compiles: beyond the collectives' patience the job ends. */
static void find_waiting(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t g = 0; g < snapshot->group_count; g++) {
        const struct snapshot_group *group = snapshot->groups[g];
        const struct snapshot_rank *who = NULL;
        size_t compiling = 0, waiting = 0;
        for (size_t i = 0; i < group->rank_count; i++) {
            const struct snapshot_rank *rank = snapshot->ranks[group->ranks[i]];
            if (snapshot_is_over(rank)) continue;
            bool compiles = snapshot_activity(snapshot, rank) == ACTIVITY_COMPILING;
            double since = snapshot->now - rank->compiling_t;
            if (compiles && since >= WAIT_S_LEAST) {
                compiling++;
                if (!who || rank->compiling_t < who->compiling_t) who = rank;
            } else if (!compiles && snapshot_idle_s(snapshot, rank) >= WAIT_S_LEAST / 2.0) {
                waiting++;
            }
        }
        if (!who || !waiting) continue;
        double since = snapshot->now - who->compiling_t;
        add(look, (struct finding){
                      .rank = who->rank,
                      .subject = mem_strdup(group->key),
                      .text = mem_printf("rank %d compiles%s%s since %.0f s, %zu rank%s wait%s", who->rank, who->compiling[0] ? " " : "",
                                         who->compiling, since, waiting, waiting > 1 ? "s" : "", waiting > 1 ? "" : "s"),
                      .action = mem_strdup("Only this rank met something new: give all ranks the same shapes, or a longer time-out for collectives"),
                      .evidence = mem_printf("%zu of %zu ranks compile, at step %" PRIu64, compiling, group->rank_count,
                                             who->has_step ? who->step + 1 : 0),
                      .lost_s = since,
                      .gain = NAN,
                  });
    }
}

static const struct rule {
    const char *name;
    void (*look)(const struct look *look);
    bool passes; /* when it holds again it is another one */
} rules[] = {
    {"waiting", find_waiting, true}, {"data", find_data_wait}, {"slower", find_slower},       {"recompiles", find_recompiles},  {"limit", find_limit},
    {"off", find_not_compiled}, {"straggler", find_straggler}, {"break-even", find_break_even},
};

/* ---- the whole */

static void forget_passed(struct findings *findings) {
    struct known *known, *next;
    HASH_ITER(hh, findings->known, known, next) {
        if (!known->passes || known->look == findings->looks) continue;
        HASH_DEL(findings->known, known);
        free(known->key);
        free(known);
    }
}

struct findings *findings_new(void) {
    return mem_new(sizeof(struct findings));
}

struct findings *findings_free(struct findings *findings) {
    if (!findings) return NULL;
    struct known *known, *next;
    HASH_ITER(hh, findings->known, known, next) {
        HASH_DEL(findings->known, known);
        free(known->key);
        free(known);
    }
    for (size_t i = findings->due_next; i < findings->due_count; i++) finding_done(&findings->due[i]);
    free(findings->due);
    free(findings);
    return NULL;
}

/* Most seconds lost first; what is not known last. */
static int by_weight(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    double p = isnan(x->lost_s) ? -1 : x->lost_s, q = isnan(y->lost_s) ? -1 : y->lost_s;
    return (q > p) - (q < p);
}

void findings_look(struct findings *findings, const struct snapshot *snapshot) {
    if (findings->due_next == findings->due_count) findings->due_next = findings->due_count = 0;
    findings->looks++;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        rules[i].look(&(struct look){findings, snapshot, rules[i].name, rules[i].passes});
    forget_passed(findings);
    if (findings->due_count == findings->due_next) return;
    qsort(findings->due + findings->due_next, findings->due_count - findings->due_next, sizeof *findings->due, by_weight);
}

static void put_text(json_t *body, const char *name, const char *text) {
    if (text && *text) json_object_set_new(body, name, event_string(text));
}

bool findings_next(struct findings *findings, struct event *ret) {
    if (findings->due_next == findings->due_count) return false;
    struct finding *finding = &findings->due[findings->due_next++];
    *ret = event_make(EVENT_FINDING, 0, "{ss}", "rule", finding->rule);
    put_text(ret->body, "subject", finding->subject);
    put_text(ret->body, "text", finding->text);
    put_text(ret->body, "action", finding->action);
    put_text(ret->body, "evidence", finding->evidence);
    if (isfinite(finding->lost_s)) json_object_set_new(ret->body, "lost_s", json_real(finding->lost_s));
    if (isfinite(finding->gain)) json_object_set_new(ret->body, "gain", json_real(finding->gain));
    if (finding->rank >= 0) event_set_rank(ret, finding->rank);
    finding_done(finding);
    return true;
}
