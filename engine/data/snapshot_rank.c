/* One rank in a snapshot: frozen anew only when something was told of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/snapshot_parts.h"
#include "engine/base/banned.h"

struct identity {
    struct snapshot_identity shown;
    char *texts[9];
};

struct rank {
    struct snapshot_rank shown;
    struct snapshot_use uses[];
};

/* ---- identity and units ---- */

static void identity_done(void *thing) {
    struct identity *identity = thing;
    for (size_t i = 0; i < ARRAY_SIZE(identity->texts); i++) free(identity->texts[i]);
}

static const struct snapshot_identity *identity_of(const struct process *process) {
    const struct store_rank *facts = &process->facts;
    struct identity *identity = shared_new(sizeof *identity, identity_done);
    struct snapshot_identity *shown = &identity->shown;
    const struct {
        const char *from, **to;
    } texts[] = {
        {facts->group, &shown->group},
        {facts->host, &shown->host},
        {facts->python, &shown->python},
        {facts->torch, &shown->torch},
        {facts->device, &shown->device},
        {facts->state, &shown->state},
        {facts->reason, &shown->reason},
        {facts->switching, &shown->switching},
        {facts->collectives, &shown->collectives},
    };
    static_assert(ARRAY_SIZE(texts) == ARRAY_SIZE(identity->texts), "one place for each text");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i].from) *texts[i].to = identity->texts[i] = mem_strdup(texts[i].from);
    shown->has_pid = facts->has_pid;
    shown->pid = facts->pid;
    shown->has_world = facts->has_world;
    shown->world = facts->world;
    shown->has_restart = facts->has_restart;
    shown->restart = facts->restart;
    shown->has_exit = process->has_exit;
    shown->exit = process->exit;
    shown->has_local_rank = process->has_local_rank;
    shown->local_rank = process->local_rank;
    return shown;
}

static void units_done(void *thing) {
    struct snapshot_units *units = thing;
    for (size_t i = 0; i < units->count; i++) {
        free((char *)units->units[i].name);
        free((char *)units->units[i].file);
        free((char *)units->units[i].origin);
        free((char *)units->units[i].target);
        free((char *)units->units[i].wraps);
    }
}

static char *dup(const char *text) {
    return text ? mem_strdup(text) : NULL;
}

static const struct snapshot_units *units_of(const struct process *process) {
    size_t count = process->facts.unit_count;
    struct snapshot_units *units =
        shared_new(sizeof *units + count * sizeof units->units[0], units_done);
    units->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct store_unit *from = &process->units[i];
        units->units[i] = (struct snapshot_unit){
            .unit = from->unit,
            .name = mem_strdup(from->name ? from->name : ""),
            .file = dup(from->file),
            .origin = dup(from->origin),
            .target = dup(from->target),
            .wraps = dup(from->wraps),
            .has_line = from->has_line,
            .has_whole = from->has_whole,
            .line = from->line,
            .whole = from->whole,
        };
    }
    return units;
}

/* ---- uses ---- */

struct snapshot_speedup freeze_speedup(const struct store_speedup *speedup) {
    struct snapshot_speedup frozen = {
        .ratio = NAN, .low = NAN, .high = NAN, .within = NAN, .verdict = speedup->verdict};
    frozen.pairs = speedup->pairs;
    frozen.against = speedup->against;
    if (!speedup->has_ratio) return frozen;
    frozen.has_ratio = true;
    frozen.within = speedup->within;
    frozen.ratio = speedup->ratio;
    frozen.low = speedup->low;
    frozen.high = speedup->high;
    return frozen;
}

/* Sorting costs: the median is made anew only when the steps have grown by an eighth. */
static double median_of(struct use *use) {
    if (use->told_clean > use->ms.added) return use->told_median;
    if (use->median_count && use->ms.added <= use->median_count + use->median_count / 8)
        return use->median_ms;
    use->median_count = use->ms.added;
    return use->median_ms = series_quick_median(&use->ms, STORE_QUICK_MEDIAN);
}

static struct snapshot_use use_of(const struct store *store, const struct process *process,
                                  struct use *use) {
    const struct store_use *facts = &use->facts;
    return (struct snapshot_use){
        .variant = facts->variant,
        .steps = facts->steps,
        .clean = facts->clean,
        .compiles = facts->compiles,
        .recompiles = facts->recompiles,
        .breaks = facts->breaks,
        .is_let_go = facts->is_let_go,
        .median_ms = median_of(use),
        .compile_s = facts->compiles ? facts->compile_s : NAN,
        .rss_peak = facts->has_peak_rss ? (double)facts->peak_rss : NAN,
        .torch_peak = memory_peak(&facts->peaks),
        .memory_over_eager = memory_of_use_over_eager(store, process, use),
        .shares = facts->shares,
        .speedup = freeze_speedup(&facts->speedup),
        .versus = freeze_speedup(&facts->versus),
    };
}

/* ---- the rank ---- */

static void rank_done(void *thing) {
    struct snapshot_rank *rank = thing;
    shared_unref(rank->who);
    shared_unref(rank->units);
    shared_unref(rank->held);
    free((char *)rank->compiling_why);
    curve_view_done(&rank->curve);
}

static double reading(const struct pace *pace, uint32_t bit, uint64_t value, double scale) {
    return pace->count && pace->last.valid & bit ? (double)value * scale : NAN;
}

static void set_readings(struct snapshot_rank *rank, const struct pace *pace) {
    const struct step_record *last = &pace->last;
    rank->data_ms = reading(pace, STEP_HAS_DATA, last->data_ns, 1e-6);
    rank->forward_ms = reading(pace, STEP_HAS_FORWARD, last->forward_ns, 1e-6);
    rank->backward_ms = reading(pace, STEP_HAS_BACKWARD, last->backward_ns, 1e-6);
    rank->optimizer_ms = reading(pace, STEP_HAS_OPTIMIZER, last->optimizer_ns, 1e-6);
    rank->rss = reading(pace, STEP_HAS_RSS, last->rss_bytes, 1);
    rank->cpu_bytes = reading(pace, STEP_HAS_CPU, last->cpu_bytes, 1);
    rank->cpu_peak = reading(pace, STEP_HAS_CPU, last->cpu_peak_bytes, 1);
    rank->device_bytes = reading(pace, STEP_HAS_DEVICE, last->device_bytes, 1);
    rank->device_peak = reading(pace, STEP_HAS_DEVICE, last->device_peak_bytes, 1);
    rank->allocs = reading(pace, STEP_HAS_ALLOCS, last->allocs, 1);
}

static double known(bool is_known, uint64_t value) {
    return is_known ? (double)value : NAN;
}

static void set_memory(struct snapshot_rank *rank, const struct memory *memory) {
    rank->cpu_is_counted = memory->is_counted;
    rank->cpu_is_whole = memory->is_whole;
    rank->cpu_since = memory->since;
    rank->cpu_most = known(memory->has_cpu, memory->cpu_most);
    rank->reserved = known(memory->has_reserved, memory->reserved);
    rank->reserved_peak = known(memory->has_reserved, memory->reserved_peak);
    rank->retries = known(memory->has_reserved, memory->retries);
    rank->growth = growth_figures(&memory->torch_growth);
    rank->rss_growth = growth_figures(&memory->rss_growth);
    rank->ooms = known(memory->has_reserved, memory->ooms);
}

static void set_pace(struct snapshot_rank *rank, const struct pace *pace) {
    struct pace_figures figures;
    pace_figures(pace, &figures);
    rank->ms = figures.ms;
    rank->median_ms = figures.median;
    rank->p95_ms = figures.p95;
    rank->clean = figures.clean;
    rank->rate = figures.rate;
    rank->step_t = pace->count ? pace_last_t(pace) : NAN;
}

static void set_sums(const struct store *store, struct process *process, struct rank *rank) {
    struct snapshot_rank *shown = &rank->shown;
    bool is_eager = is_eager_variant(store, process, process->facts.variant);
    double seconds = 0;
    struct shares all = {0};
    shown->rss_peak = shown->rss_over_eager = NAN;
    shown->speedup = freeze_speedup(&(struct store_speedup){0});
    for (size_t i = 0; i < process->facts.use_count; i++) {
        struct use *use = process->uses[i];
        const struct snapshot_use *frozen = &rank->uses[i];
        shown->compiles += frozen->compiles;
        shown->recompiles += frozen->recompiles;
        shown->breaks += frozen->breaks;
        shown->rss_peak = fmax(shown->rss_peak, frozen->rss_peak);
        if (frozen->compiles) seconds += frozen->compile_s;
        all.own_ms += frozen->shares.own_ms;
        all.own_steps += frozen->shares.own_steps;
        all.own_all_ms += frozen->shares.own_all_ms;
        if (process->facts.has_variant && frozen->variant == process->facts.variant)
            shown->speedup = frozen->speedup;
        if (use->has_rss && !is_eager && is_eager_variant(store, process, frozen->variant))
            shown->rss_over_eager = shown->rss - (double)use->rss;
    }
    shown->compile_s = shown->compiles ? seconds : NAN;
    shown->own_ms = shares_own_ms(&all);
    shown->own_all_ms = all.own_all_ms;
}

static void set_compiling(struct snapshot_rank *rank, const struct process *process) {
    const char *unit = "", *part = process->compiling.part;
    bool is_on = process->compiling.is_on;
    rank->compiling_t = is_on ? process->compiling.t : NAN;
    rank->compiling_last_ms = is_on ? process->compiling.last_ms : NAN;
    rank->compiled_t = process->compiling.t;
    rank->compiling_why = is_on ? dup(process->compiling.why) : NULL;
    for (size_t i = 0; process->compiling.has_unit && i < process->facts.unit_count; i++)
        if (process->units[i].unit == process->compiling.unit && process->units[i].name)
            unit = process->units[i].name;
    snprintf(rank->compiling, sizeof rank->compiling, "%.30s%s%s", unit, *unit && *part ? ", " : "",
             part);
    memcpy(rank->compiling_phase, process->compiling.phase, sizeof rank->compiling_phase);
}

static void set_compilers(struct snapshot_rank *rank, const struct store_compilers *compilers) {
    rank->compilers = compilers->processes;
    rank->compilers_cpu_ms = compilers->is_told ? compilers->cpu_ms : NAN;
    rank->compilers_rss = compilers->is_told ? (double)compilers->rss : NAN;
    rank->compilers_peak = compilers->is_told ? (double)compilers->rss_peak : NAN;
}

const struct snapshot_rank *freeze_rank(struct store *store, size_t i) {
    struct process *process = store->processes[i];
    const struct store_rank *facts = &process->facts;
    if (process->frozen) return shared_ref(process->frozen);
    if (!process->identity) process->identity = identity_of(process);
    if (!process->units_frozen) process->units_frozen = units_of(process);
    size_t count = facts->use_count;
    struct rank *rank = shared_new(sizeof *rank + count * sizeof rank->uses[0], rank_done);
    struct snapshot_rank *shown = &rank->shown;
    shown->rank = facts->rank;
    shown->group = process->group;
    shown->is_shown = store_rank_is_shown(store, i);
    shown->who = shared_ref(process->identity);
    shown->units = shared_ref(process->units_frozen);
    shown->held = roll_list(&process->actives);
    shown->active_count = shown->held->count;
    shown->actives = (const struct snapshot_active *const *)shown->held->things;
    shown->t = facts->t;
    shown->steps = facts->steps;
    shown->has_step = facts->has_step;
    shown->step = facts->step;
    shown->has_variant = facts->has_variant;
    shown->variant = facts->variant;
    memcpy(shown->dropped, facts->dropped, sizeof shown->dropped);
    set_compiling(shown, process);
    set_compilers(shown, &facts->compilers);
    set_pace(shown, &process->pace);
    set_readings(shown, &process->pace);
    set_memory(shown, &process->memory);
    for (size_t k = 0; k < count; k++) rank->uses[k] = use_of(store, process, process->uses[k]);
    shown->use_count = count;
    shown->uses = rank->uses;
    set_sums(store, process, rank);
    shown->traffic = traffic_figures(&process->traffic);
    shown->curve = curve_view(&process->curve);
    process->frozen = shown;
    return shared_ref(shown);
}
