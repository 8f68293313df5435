/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/data/actives.h"
#include "engine/base/banned.h"

/* SCREEN_SERIES: what is enough for a screen, times kept for the median of a use. */
enum {
    TEXT_GROUP,
    TEXT_FIELDS,
    UNITS_MOST = 4096,
    BREAKS_MOST = 4096,
    USES_MOST = 4096,
    SCREEN_SERIES = 8 * SERIES_CHUNK,
};

struct process *process_new(const char *key, const char *group, int rank) {
    struct process *process = mem_new(sizeof *process);
    process->key = mem_strdup(key);
    process->texts[TEXT_GROUP] = mem_strdup(group);
    process->facts.group = process->texts[TEXT_GROUP];
    process->facts.rank = rank;
    roll_init(&process->actives, ACTIVES_MOST);
    process->compiling.t = NAN;
    return process;
}

void process_changed(struct process *process) {
    shared_unref(process->frozen);
    process->frozen = NULL;
}

void process_rename(struct process *process, const char *key, const char *group) {
    free(process->key);
    free(process->texts[TEXT_GROUP]);
    process->key = mem_strdup(key);
    process->texts[TEXT_GROUP] = mem_strdup(group);
    process->facts.group = process->texts[TEXT_GROUP];
    process_changed(process);
    shared_unref(process->identity);
    process->identity = NULL;
}

static void use_free(struct use *use) {
    for (size_t i = 0; i < use->breaks_count; i++) free(use->breaks[i]);
    free(use->breaks);
    series_done(&use->ms);
    spans_done(&use->compiles);
    free(use);
}

static void unit_done(struct store_unit *unit) {
    free((char *)unit->name);
    free((char *)unit->file);
    free((char *)unit->origin);
    free((char *)unit->target);
    free((char *)unit->wraps);
}

void process_free(struct process *process) {
    for (size_t i = 0; i < process->facts.use_count; i++) use_free(process->uses[i]);
    for (size_t i = 0; i < process->facts.unit_count; i++) unit_done(&process->units[i]);
    for (size_t i = 0; i < ARRAY_SIZE(process->texts); i++) free(process->texts[i]);
    process_changed(process);
    shared_unref(process->identity);
    shared_unref(process->units_frozen);
    curve_done(&process->curve);
    roll_done(&process->actives);
    free(process->uses);
    free(process->units);
    free(process->compiling.why);
    free(process->key);
    free(process);
}

static struct use *use_add(struct process *process, uint32_t variant) {
    size_t count = process->facts.use_count;
    if (count == USES_MOST) return process->uses[USES_MOST - 1];
    process->uses = mem_resize(process->uses, count + 1, sizeof process->uses[0]);
    struct use *use = mem_new(sizeof *use);
    use->facts.variant = variant;
    if (process->curve.spine) use->ms.most = SCREEN_SERIES;
    process->uses[count] = use;
    process->use_last = count;
    process->facts.use_count = count + 1;
    return use;
}

static struct use *use_of(struct process *process, uint32_t variant) {
    size_t last = process->use_last;
    if (last < process->facts.use_count && process->uses[last]->facts.variant == variant)
        return process->uses[last];
    for (size_t i = 0; i < process->facts.use_count; i++)
        if (process->uses[i]->facts.variant == variant) {
            process->use_last = i;
            return process->uses[i];
        }
    return use_add(process, variant);
}

/* The use that the event's `variant` names. */
static struct use *use_named(struct process *process, const struct event *event) {
    int64_t variant;
    if (event_int(event, "variant", &variant)) {
        process->facts.has_variant = true;
        process->facts.variant = (uint32_t)variant;
    }
    return use_of(process, process->facts.variant);
}

static void take_rss(struct use *use, const struct step_record *record) {
    if (!(record->valid & STEP_HAS_RSS)) return;
    if (!use->facts.has_peak_rss || record->rss_bytes > use->facts.peak_rss)
        use->facts.peak_rss = record->rss_bytes;
    use->rss = record->rss_bytes;
    use->has_rss = use->facts.has_peak_rss = true;
}

static void add_point(struct process *process, const struct step_record *record, double t) {
    float ms = record->dur_ns ? (float)((double)record->dur_ns / 1e6) : NAN;
    curve_add(&process->curve,
              &(struct curve_point){
                  .step = record->step < UINT32_MAX ? (uint32_t)record->step : UINT32_MAX,
                  .count = 1,
                  .clean = record->why == 0 && record->dur_ns,
                  .variant = record->variant,
                  .t = (float)t,
                  .ms = ms,
                  .least = ms,
                  .most = ms,
                  .why = record->why,
              });
}

void process_step(struct process *process, const struct step_record *record, double t) {
    struct store_rank *facts = &process->facts;
    struct use *use = use_of(process, record->variant);
    facts->t = t;
    if (t >= process->compiling.t) process->compiling.is_on = false; /* its end was lost */
    facts->has_variant = true;
    facts->variant = record->variant;
    facts->steps++;
    if (!facts->has_step || record->step > facts->step) facts->step = record->step;
    facts->has_step = true;
    use->facts.steps++;
    if (record->why == 0 && record->dur_ns) {
        series_add(&use->ms, (double)record->dur_ns / 1e6);
        use->facts.clean++;
    }
    shares_add(&use->facts.shares, record);
    take_rss(use, record);
    memory_step(&process->memory, &use->facts.peaks, record);
    pace_add(&process->pace, record, t);
    if (process->curve.spine) add_point(process, record, t);
    process_changed(process);
}

/* Of the frame that a compile id names, "0" of "0/1", and of its backward apart. */
static uint64_t took_key(const struct event *event, bool is_backward) {
    const char *id = event_text(event, "id");
    return id ? (uint64_t)str_hash(id, strcspn(id, "/")) << 1 | is_backward : 0;
}

static double last_took(const struct process *process, const struct event *event,
                        bool is_backward) {
    uint64_t key = took_key(event, is_backward);
    for (size_t n = 1; key && n <= ARRAY_SIZE(process->took); n++) {
        size_t i = (process->took_next - n) % ARRAY_SIZE(process->took);
        if (process->took[i].key == key) return process->took[i].ms;
    }
    return NAN;
}

static void keep_took(struct process *process, const struct event *event, bool is_backward,
                      double ms) {
    size_t i = process->took_next++ % ARRAY_SIZE(process->took);
    process->took[i].key = took_key(event, is_backward);
    process->took[i].ms = ms;
}

static void take_compile(struct process *process, const struct event *event) {
    struct use *use = use_named(process, event);
    const char *trigger = event_text(event, "trigger");
    double ms = 0;
    use->facts.compiles++;
    use->facts.is_let_go = false;
    if (trigger && strcmp(trigger, "recompile") == 0) use->facts.recompiles++;
    if (!event_number(event, "ms", &ms)) return;
    if (!event_text(event, "failed"))
        keep_took(process, event, trigger && strcmp(trigger, "backward") == 0, ms);
    spans_add(&use->compiles, event->t - ms / 1e3, event->t);
    use->facts.compile_s = use->compile_base + spans_total(&use->compiles);
}

static char *break_text(const struct event *event) {
    static const char *const fields[] = {"unit", "frame", "file", "line", "reason"};
    json_t *place = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        json_t *value = json_object_get(event->body, fields[i]);
        if (value)
            json_array_append(place, value);
        else
            json_array_append_new(place, json_null());
    }
    char *text = json_dumps(place, JSON_COMPACT);
    json_decref(place);
    return text;
}

static void take_break(struct process *process, const struct event *event) {
    const char *effect = event_text(event, "effect");
    if (effect && strcmp(effect, "ddp") == 0) return; /* no break: it is meant */
    struct use *use = use_named(process, event);
    CLEANUP(cleanup_free) char *text = break_text(event);
    size_t count = use->breaks_count;
    if (!text || count == BREAKS_MOST) return;
    for (size_t i = 0; i < count; i++)
        if (strcmp(use->breaks[i], text) == 0) return;
    if (count == use->breaks_room) {
        use->breaks_room = count ? 2 * count : 8;
        use->breaks = mem_resize(use->breaks, use->breaks_room, sizeof use->breaks[0]);
    }
    use->breaks[use->breaks_count++] = mem_strdup(text);
    use->facts.breaks++;
}

static const char *verdict_of(const struct event *event) {
    static const char *const verdicts[] = {"measuring", "faster", "slower", "tie"};
    const char *verdict = event_text(event, "verdict");
    for (size_t i = 0; verdict && i < ARRAY_SIZE(verdicts); i++)
        if (strcmp(verdicts[i], verdict) == 0) return verdicts[i];
    return verdicts[0];
}

/* Not use_named(): the settings in force are not what it is about. */
static void take_speedup(struct process *process, const struct event *event) {
    int64_t variant = 0, against = 0;
    event_int(event, "variant", &variant);
    struct use *use = use_of(process, (uint32_t)variant);
    bool is_versus = event_int(event, "against", &against);
    struct store_speedup told = {
        .verdict = verdict_of(event), .against = (uint32_t)against, .within = NAN};
    event_int(event, "pairs", &told.pairs);
    event_number(event, "within", &told.within);
    told.has_ratio = event_number(event, "ratio", &told.ratio) &&
                     event_number(event, "low", &told.low) &&
                     event_number(event, "high", &told.high);
    *(is_versus ? &use->facts.versus : &use->facts.speedup) = told;
}

static void take_switch(struct process *process, const struct event *event) {
    const char *status = event_text(event, "status");
    int64_t variant, forgot;
    if (!status || strcmp(status, "applied") != 0 || !event_int(event, "variant", &variant)) return;
    if (event_int(event, "forgot", &forgot)) use_of(process, (uint32_t)forgot)->facts.is_let_go = true;
    process->facts.has_variant = true;
    process->facts.variant = (uint32_t)variant;
}

static char *text_dup(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? mem_strdup(text) : NULL;
}

/* ["A", "B", "C"] as "A(B(C))"; NULL without any. */
static char *nested(const json_t *names) {
    struct buf text = BUF_INIT;
    size_t count = json_array_size(names), open = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name) continue;
        buf_printf(&text, "%s%s", text.size ? "(" : "", name);
        open++;
    }
    for (size_t i = 1; i < open; i++) buf_puts(&text, ")");
    return text.size ? buf_take(&text) : NULL;
}

static void take_unit(struct process *process, const struct event *event) {
    struct store_unit unit = {0};
    size_t i = 0, count = process->facts.unit_count;
    event_int(event, "unit", &unit.unit);
    unit.name = text_dup(event, "name");
    unit.file = text_dup(event, "file");
    unit.origin = text_dup(event, "origin");
    unit.target = text_dup(event, "target");
    unit.wraps = nested(json_object_get(event->body, "wraps"));
    unit.has_line = event_int(event, "line", &unit.line);
    unit.has_whole = event_int(event, "whole", &unit.whole);
    while (i < count && process->units[i].unit != unit.unit) i++;
    if (i == UNITS_MOST) {
        unit_done(&unit);
        return;
    }
    if (i < count)
        unit_done(&process->units[i]);
    else
        process->units = mem_resize(process->units, count + 1, sizeof unit);
    process->units[i] = unit;
    shared_unref(process->units_frozen);
    process->units_frozen = NULL;
    process->facts.unit_count = i < count ? count : count + 1;
}

/* The latest told stays; what a later event leaves out is not forgotten, but for the reason, which
 * belongs to the state. */
static void take_rank(struct process *process, const struct event *event) {
    struct store_rank *facts = &process->facts;
    const struct {
        const char *field, **place;
    } texts[] = {
        {"host", &facts->host},           {"python", &facts->python}, {"torch", &facts->torch},
        {"device", &facts->device},       {"state", &facts->state},   {"reason", &facts->reason},
        {"switching", &facts->switching}, {"collectives", &facts->collectives},
    };
    static_assert(ARRAY_SIZE(texts) + TEXT_FIELDS == ARRAY_SIZE(process->texts),
                  "one place for each text");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        char *text = text_dup(event, texts[i].field);
        if (!text && strcmp(texts[i].field, "reason") != 0) continue;
        free(process->texts[TEXT_FIELDS + i]);
        process->texts[TEXT_FIELDS + i] = text;
        *texts[i].place = text;
    }
    facts->has_pid |= event_int(event, "pid", &facts->pid);
    facts->has_world |= event_int(event, "world", &facts->world);
    facts->has_restart |= event_int(event, "restart", &facts->restart);
    process->has_exit |= event_int(event, "exit", &process->exit);
    process->has_local_rank |= event_int(event, "local_rank", &process->local_rank);
    shared_unref(process->identity);
    process->identity = NULL;
}

static void put_text(char *place, size_t room, const char *text) {
    snprintf(place, room, "%s", text ? text : "");
}

static void take_compiling(struct process *process, const struct event *event) {
    const char *state = event_text(event, "state"), *part = event_text(event, "part");
    bool is_phase = state && strcmp(state, "phase") == 0, was_on = process->compiling.is_on;
    put_text(process->compiling.phase, sizeof process->compiling.phase, event_text(event, "phase"));
    process->compiling.is_on = is_phase || (state && strcmp(state, "begin") == 0);
    if (is_phase && was_on) return;
    process->compiling.t = event->t;
    process->compiling.has_unit = event_int(event, "unit", &process->compiling.unit);
    free(process->compiling.why);
    process->compiling.why = text_dup(event, "words");
    put_text(process->compiling.part, sizeof process->compiling.part, part);
    process->compiling.last_ms = last_took(process, event, part && strcmp(part, "backward") == 0);
}

static void take_active(struct process *process, const struct event *event) {
    actives_take(&process->actives, event);
}

static void take_collective(struct process *process, const struct event *event) {
    traffic_take(&process->traffic, event);
}

static void take_compilers(struct process *process, const struct event *event) {
    struct store_compilers *compilers = &process->facts.compilers;
    compilers->is_told = event_number(event, "cpu_ms", &compilers->cpu_ms);
    event_int(event, "processes", &compilers->processes);
    event_int(event, "rss", &compilers->rss);
    event_int(event, "rss_peak", &compilers->rss_peak);
}

void process_take(struct process *process, const struct event *event) {
    static void (*const takes[EVENT_KIND_COUNT])(struct process *, const struct event *) = {
        [EVENT_RANK] = take_rank,           [EVENT_UNIT] = take_unit,
        [EVENT_COMPILE] = take_compile,     [EVENT_BREAK] = take_break,
        [EVENT_SPEEDUP] = take_speedup,     [EVENT_SWITCH] = take_switch,
        [EVENT_COMPILING] = take_compiling, [EVENT_COLLECTIVE] = take_collective,
        [EVENT_ACTIVE] = take_active,       [EVENT_COMPILERS] = take_compilers,
    };
    process->facts.t = event->t;
    process_changed(process);
    memory_take(&process->memory, event);
    if (event->kind < EVENT_KIND_COUNT && takes[event->kind]) takes[event->kind](process, event);
}

static uint64_t count_of(const json_t *object, const char *name) {
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

/* Uses stand in the order of first use, which the teller knows better. */
static void move_use(struct process *process, struct use *use, size_t to) {
    size_t at = 0;
    while (process->uses[at] != use) at++;
    if (at <= to) return;
    memmove(process->uses + to + 1, process->uses + to, (at - to) * sizeof process->uses[0]);
    process->uses[to] = use;
}

void process_told(struct process *process, size_t i, const json_t *told) {
    struct use *use = use_of(process, (uint32_t)count_of(told, "variant"));
    move_use(process, use, i);
    struct store_use *facts = &use->facts;
    const json_t *rss = json_object_get(told, "peak_rss"), *cpu = json_object_get(told, "peak_cpu");
    const json_t *device = json_object_get(told, "peak_device");
    const json_t *median = json_object_get(told, "median_ms");
    facts->steps = count_of(told, "steps");
    facts->clean = count_of(told, "clean");
    facts->compiles = count_of(told, "compiles");
    facts->recompiles = count_of(told, "recompiles");
    facts->breaks = count_of(told, "breaks");
    facts->compile_s = json_number_value(json_object_get(told, "compile_s"));
    use->compile_base = facts->compile_s - spans_total(&use->compiles);
    if (json_is_integer(rss)) {
        facts->has_peak_rss = true;
        facts->peak_rss = count_of(told, "peak_rss");
    }
    if (json_is_integer(cpu)) facts->peaks.cpu = count_of(told, "peak_cpu");
    if (json_is_integer(device)) facts->peaks.device = count_of(told, "peak_device");
    facts->peaks.has_cpu |= json_is_integer(cpu);
    facts->peaks.has_device |= json_is_integer(device);
    use->told_clean = json_is_number(median) ? facts->clean : 0;
    use->told_median = json_number_value(median);
    use->median_count = 0;
    process_changed(process);
}
