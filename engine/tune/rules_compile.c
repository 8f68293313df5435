/* Findings about what is compiled, and what is not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/tune/rules.h"
#include "engine/base/banned.h"

enum {
    RECOMPILES_LEAST = 3, /* of one cause on a rank: one or two are how torch finds out what changes */
    NOT_COMPILED_STEPS = 50,
    DEAR_S_LEAST = 10,    /* one recompile that is dear: so many seconds, */
    DEAR_STEPS_LEAST = 100, /* and as long as so many steps */
    STUCK_S_LEAST = 60,
    STUCK_FIRST_S = 900, /* when nothing was compiled before that says how long it takes */
    STUCK_TIMES = 5,     /* as long as the longest so far */
};

static const double guard_share_least = 0.1; /* of the step's time */
static const double guard_us_least = 100;    /* a call: well above the 20 to 40 that it takes with few guards */
enum { GUARD_LOOKS_LEAST = 4 };

/* Of the step of most ranks; NaN when none has a median. */
static double step_ms(const struct snapshot *snapshot) {
    double least = NAN;
    for (size_t i = 0; i < snapshot->group_count; i++) least = fmin(least, snapshot->groups[i]->median_ms);
    return least;
}

/* Sizes, of all causes: train and eval, or grad and no grad, are compiled once each whatever one does. What only few ranks met is told
 * as a difference between ranks. */
static bool is_dear(const struct snapshot_cause *cause, double seconds, const struct snapshot *snapshot) {
    bool is_size = cause->id && strncmp(cause->id, "size", 4) == 0, is_common = 2 * cause->rank_count > snapshot->rank_count;
    double usual_ms = step_ms(snapshot);
    return is_size && is_common && seconds >= DEAR_S_LEAST && seconds * 1e3 >= DEAR_STEPS_LEAST * usual_ms;
}

/* One cause, compiled for again and again, or once for long. */
void find_recompiles(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->cause_count; i++) {
        const struct snapshot_cause *cause = snapshot->causes[i];
        size_t ranks = cause->rank_count ? cause->rank_count : 1;
        double seconds = cause->seconds / (double)ranks;
        bool is_often = cause->count >= RECOMPILES_LEAST * ranks || cause->is_back;
        if (!is_often && !is_dear(cause, seconds, snapshot)) continue;
        struct finding *finding = finding_add(look, cause->key, (struct finding){.rank = -1, .lost_s = seconds, .gain = NAN});
        if (!finding) continue;
        uint64_t times = (cause->count + ranks - 1) / ranks;
        CLEANUP(cleanup_free) char *often = times > 1 ? mem_printf("%" PRIu64 " times", times) : mem_strdup("once");
        finding->text = mem_printf("recompiled %s, %.1f s so far: %s", often, seconds, cause->words);
        finding->action = cause->remedy ? mem_strdup(cause->remedy) : NULL;
        finding->evidence = mem_printf("%s, rank%s %s", cause->frame, ranks > 1 ? "s" : "", cause->ranks);
    }
}

/* torch gave a function up: it runs eager from now on, and says so in a log that nobody reads. */
void find_limit(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->compile_count; i++) {
        const struct snapshot_compile *compile = snapshot->compiles[i];
        if (!compile->failed || !strstr(compile->failed, "recompile_limit")) continue;
        const char *frame = compile->frame ? compile->frame : "a function";
        struct finding *finding = finding_add(look, frame, (struct finding){.rank = -1, .lost_s = NAN, .gain = NAN});
        if (!finding) continue;
        CLEANUP(cleanup_free) char *step = compile->has_step ? mem_printf(" step %" PRIu64, compile->step) : mem_strdup("");
        finding->text = mem_printf("%s has reached %s: it runs eager since%s", frame, compile->failed, step);
        finding->action = mem_strdup("Mend what it is compiled for again (see the recompiles), or torch.compile(..., recompile_limit=N)");
        finding->evidence = mem_printf("compile id %s on rank %d", compile->id ? compile->id : "?", compile->rank);
    }
}

/* Why the compiled code of a unit is not what trains, by the unit's state, and what to do about it. */
static const struct {
    const char *state, *action;
} off[] = {
    {"bypassed", "Call what torch.compile returned, by its __call__; another method, or the module itself, goes past it"},
    {"never called", "Call what torch.compile returned, by its __call__; another method, or the module itself, goes past it"},
    {"dropped", "Keep what torch.compile returned, and call that: the call changes nothing in what it is given"},
    {"rebound", "Keep what torch.compile returned, and call that: something else has taken its place"},
    {"eager", "Compile a module or function of your own around it: what torch leaves alone is not looked into"},
};

static const char *action_for(const struct snapshot_active *active) {
    for (size_t i = 0; active->trouble && i < ARRAY_SIZE(off); i++)
        if (strcmp(off[i].state, active->state ? active->state : "") == 0) return off[i].action;
    return NULL;
}

static void find_off_in(const struct look *look, const struct snapshot_rank *rank) {
    for (size_t i = 0; i < rank->active_count; i++) {
        const struct snapshot_active *active = rank->actives[i];
        const char *action = action_for(active);
        if (!action) continue;
        CLEANUP(cleanup_free) char *subject = mem_printf("%s %s", active->name, active->state);
        struct finding *finding = finding_add(look, subject, (struct finding){.rank = -1, .lost_s = NAN, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_printf("%s %s", active->name, active->trouble);
        finding->action = mem_strdup(action);
        finding->evidence = mem_printf("unit %" PRId64 " on rank %d, since step %" PRId64, active->unit, rank->rank, active->since);
    }
}

/* Trains, and what is compiled is not what runs, or nothing is compiled. */
void find_not_compiled(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        if (rank->steps >= STEPS_LEAST) find_off_in(look, rank);
        if (rank->compiles || rank->steps < NOT_COMPILED_STEPS || rank->variant || (rank->units && rank->units->count)) continue;
        struct finding *finding = finding_add(look, NULL, (struct finding){.rank = -1, .lost_s = NAN, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_strdup("nothing is compiled");
        finding->action = mem_strdup("scope=whole or scope=regional compiles the model from here, and back");
        finding->evidence = mem_printf("no torch.compile in %" PRIu64 " steps", rank->steps);
    }
}

static const char *file_name(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

static char *words_of_break(const struct snapshot_break *one, const char *place) {
    const char *frame = one->frame ? one->frame : "a function";
    if (one->is_eager) return mem_printf("%s runs eager: the graph breaks at %s where it cannot go on: %s", frame, place, one->reason);
    CLEANUP(cleanup_free) char *times = one->runs > 1 ? mem_printf("%" PRId64 " times ", one->runs) : mem_strdup("");
    return mem_printf("the graph breaks at %s, %sin every call: %s", place, times, one->reason);
}

/* A break that was compiled once costs nothing; one that runs in every call ends a graph there each time. */
void find_breaks(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    bool is_early = true; /* the first calls may break where later ones do not */
    for (size_t i = 0; i < snapshot->rank_count; i++) is_early &= snapshot->ranks[i]->steps < STEPS_LEAST;
    for (size_t i = 0; i < snapshot->break_count && !is_early; i++) {
        const struct snapshot_break *one = snapshot->breaks[i];
        bool is_given_up = one->is_eager && !one->has_runs && !one->is_framework; /* nothing goes on behind it that could be counted */
        if (one->is_meant || (!is_given_up && (!one->has_runs || one->runs < 1))) continue;
        CLEANUP(cleanup_free) char *place = mem_printf("%s:%" PRId64, file_name(one->file), one->has_line ? one->line : 0);
        CLEANUP(cleanup_free) char *subject = mem_printf("%s %s", place, one->reason);
        struct finding *finding = finding_add(look, subject, (struct finding){.rank = -1, .lost_s = NAN, .gain = NAN});
        if (!finding) continue;
        finding->text = words_of_break(one, place);
        finding->action = one->remedy ? mem_strdup(one->remedy) : mem_strdup("Move it out of what is compiled; fullgraph=on shows the first one");
        finding->evidence = mem_printf("%s%s%s, rank%s %s", one->frame ? one->frame : "", one->code ? ", " : "", one->code ? one->code : "",
                                       one->rank_count > 1 ? "s" : "", one->ranks);
    }
}

/* ---- guards */

static bool has_word(const char *words, const char *word) {
    size_t size = strlen(word);
    for (const char *at = words; at && (at = strstr(at, word)); at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || !at[size])) return true;
    return false;
}

/* Of the versions that ran; 0: not known. */
static long guards_of(const struct snapshot *snapshot, const struct snapshot_rank *rank, const struct snapshot_active *active) {
    long guards = 0;
    for (size_t i = 0; i < snapshot->compile_count; i++) {
        const struct snapshot_compile *compile = snapshot->compiles[i];
        const char *count = snapshot_pair(compile->graph, "guards");
        if (compile->rank == rank->rank && compile->id && count && has_word(active->ids, compile->id)) guards += strtol(count, NULL, 10);
    }
    return guards;
}

static void judge_guards(const struct look *look, const struct snapshot_rank *rank, const struct snapshot_active *active) {
    const struct snapshot_use *use = rules_use(rank);
    double ms = active->lookup_us / 1e3, calls = (double)active->calls / (double)active->looked;
    if (!use || use->clean < STEPS_LEAST || active->looked < GUARD_LOOKS_LEAST) return;
    if (!(ms >= guard_share_least * use->median_ms) || !(active->lookup_us >= guard_us_least * calls)) return;
    double lost_s = ms * (double)use->steps / 1e3;
    struct finding *finding = finding_add(look, active->name, (struct finding){.rank = -1, .lost_s = lost_s, .gain = NAN});
    if (!finding) return;
    long guards = guards_of(look->snapshot, rank, active);
    finding->text = mem_printf("guards take %.0f %% of the step: %.2f of %.2f ms go by before %s runs what is compiled",
                               100 * ms / use->median_ms, ms, use->median_ms, active->name);
    finding->action = mem_strdup("Fewer modules, numbers and globals for the forward to read; or, unsafe, since a module that changes goes "
                                 "unnoticed then: options={\"guard_filter_fn\": torch.compiler.skip_guard_on_all_nn_modules_unsafe} (torch 2.8)");
    CLEANUP(cleanup_free) char *many = guards ? mem_printf("%ld guards, ", guards) : mem_strdup("");
    finding->evidence = mem_printf("rank %d: %s%.1f look-ups a step, measured in %" PRId64 " steps, the least", rank->rank, many, calls,
                                   active->looked);
}

/* Whether compiled code still fits is asked at each call, and everything that it was compiled for is looked at. */
void find_guards(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->rank_count; i++)
        for (size_t k = 0; k < snapshot->ranks[i]->active_count; k++) {
            const struct snapshot_active *active = snapshot->ranks[i]->actives[k];
            if (active->has_looked && !isnan(active->lookup_us)) judge_guards(look, snapshot->ranks[i], active);
        }
}

/* ---- numbers */

/* What is compiled computes something else than eager (verify=on). */
void find_numbers(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        for (size_t k = 0; k < rank->active_count; k++) {
            const struct snapshot_active *active = rank->actives[k];
            const char *found = snapshot_pair(active->settings, "verify");
            if (!found || strncmp(found, "differs: ", 9)) continue;
            struct finding *finding = finding_add(look, active->name, (struct finding){.rank = -1, .lost_s = NAN, .gain = NAN});
            if (!finding) continue;
            finding->text = mem_printf("%s computes something else compiled than eager: %s", active->name, found + 9);
            finding->action = mem_strdup("backend=aot_eager, then backend=eager, with verify=on tell whose fault it is: inductor's, autograd's or Dynamo's");
            finding->evidence = mem_printf("rank %d, by torch's rule for accuracy", rank->rank);
        }
    }
}

/* ---- stuck */

static double longest_s(const struct snapshot *snapshot) {
    double longest = NAN;
    for (size_t i = 0; i < snapshot->compile_count; i++) longest = fmax(longest, snapshot->compiles[i]->ms / 1e3);
    return longest;
}

/* A compilation that takes many times what the longest took. */
void find_stuck(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    double longest = longest_s(snapshot), most = isnan(longest) ? STUCK_FIRST_S : fmax(STUCK_TIMES * longest, STUCK_S_LEAST);
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        double since = snapshot->now - rank->compiling_t;
        if (snapshot_activity(snapshot, rank) != ACTIVITY_COMPILING || since < most) continue;
        struct finding *finding = finding_add(look, NULL, (struct finding){.rank = rank->rank, .lost_s = since, .gain = NAN});
        if (!finding) continue;
        CLEANUP(cleanup_free) char *before = isnan(longest) ? mem_strdup("") : mem_printf(": the longest so far took %.1f s", longest);
        finding->text = mem_printf("rank %d compiles%s%s since %.0f s%s", rank->rank, rank->compiling[0] ? " " : "", rank->compiling,
                                   since, before);
        finding->action = mem_printf("`py-spy dump --pid %" PRId64 "` shows where it is; TORCHINDUCTOR_COMPILE_THREADS=1 does without helpers, mode=default without tuning",
                                     rank->who->has_pid ? rank->who->pid : 0);
        finding->evidence = mem_printf("step %" PRIu64 ", %s", rank->has_step ? rank->step + 1 : 0,
                                       rank->compiling_why ? rank->compiling_why : "no cause was told");
    }
}
