/* Compilations, newest first: what was compiled, why, and where the time went.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

struct compiles_panel {
    struct table *table;
    const struct snapshot *snapshot; /* lent until the next update: the table's rows */
    char subject[UNIT_OWNER_SIZE + 1];
};

static const struct snapshot_compile *compile_of(const void *rows, size_t i) {
    const struct snapshot *snapshot = ((const struct compiles_panel *)rows)->snapshot;
    return snapshot->compiles[snapshot->compile_count - 1 - i];
}

static void show_step(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_compile *compile = compile_of(rows, i);
    show_put(cell, STYLE_DIM, format_count(compile->has_step ? (double)compile->step : NAN).text);
}

static double step_number(const void *rows, size_t i) {
    const struct snapshot_compile *compile = compile_of(rows, i);
    return compile->has_step ? (double)compile->step : NAN;
}

static double rank_number(const void *rows, size_t i) {
    return compile_of(rows, i)->rank;
}

static void show_rank(const void *rows, size_t i, struct table_cell *cell) {
    show_printf(cell, STYLE_PLAIN, "%d", compile_of(rows, i)->rank);
}

static void show_trigger(const void *rows, size_t i, struct table_cell *cell) {
    const char *trigger = compile_of(rows, i)->trigger;
    show_put(cell, trigger && !strcmp(trigger, "recompile") ? STYLE_WARN : STYLE_PLAIN, trigger);
}

static double ms_number(const void *rows, size_t i) {
    return compile_of(rows, i)->ms * 1e6;
}

static void show_ms(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_STRONG, format_duration(ms_number(rows, i)).text);
}

#define PHASE(name)                                                                                \
    static double name##_number(const void *rows, size_t i) {                                      \
        return compile_of(rows, i)->name##_ms * 1e6;                                               \
    }                                                                                              \
    static void show_##name(const void *rows, size_t i, struct table_cell *cell) {                 \
        show_put(cell, STYLE_PLAIN, format_duration(name##_number(rows, i)).text);                 \
    }

PHASE(dynamo)
PHASE(aot)
PHASE(inductor)
PHASE(codegen)
PHASE(backend)
PHASE(rest)

/* Why comes before what: of recompiles of one frame, only the cause tells one from another. */
static void show_frame(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_compile *compile = compile_of(rows, i);
    bool is_again = compile->trigger && strcmp(compile->trigger, "recompile") == 0;
    const char *cause = compile->words ? compile->words : compile->cause;
    const char *why = compile->failed ? compile->failed : is_again ? cause : NULL;
    show_printf(cell, compile->failed ? STYLE_BAD : STYLE_PLAIN, "%.140s%s%s%.80s", why ? why : "",
                why ? "  in " : "", compile->frame ? "" : "id ",
                compile->frame ? compile->frame : compile->id);
}

static const struct table_column columns[] = {
    {"step", "step", "step in which it was compiled", 6, 0, ALIGN_RIGHT, true, 0, 0, show_step,
     step_number},
    {"rank", "rank", "", 4, 0, ALIGN_RIGHT, false, 1, 0, show_rank, rank_number},
    {"trigger", "trigger", "first, variant, recompile, backward, runtime", 9, 0, ALIGN_LEFT, false,
     0, 0, show_trigger, NULL},
    {"time", "time", "wall time", 7, 0, ALIGN_RIGHT, true, 0, 1e9, show_ms, ms_number},
    {"dynamo", "dynamo", "tracing", 7, 0, ALIGN_RIGHT, true, 3, 1e9, show_dynamo, dynamo_number},
    {"aot", "aot", "forward and backward", 7, 0, ALIGN_RIGHT, true, 4, 1e9, show_aot, aot_number},
    {"inductor", "inductor", "lowering", 8, 0, ALIGN_RIGHT, true, 5, 1e9, show_inductor,
     inductor_number},
    {"codegen", "codegen", "writing code", 7, 0, ALIGN_RIGHT, true, 6, 1e9, show_codegen,
     codegen_number},
    {"backend", "backend", "the compiler of that code", 7, 0, ALIGN_RIGHT, true, 7, 1e9,
     show_backend, backend_number},
    {"rest", "rest", "not attributed", 7, 0, ALIGN_RIGHT, true, 8, 1e9, show_rest, rest_number},
    {"frame", "cause and frame", "why it was compiled again, and what it is", 44, 1, ALIGN_LEFT,
     false, 0, 0, show_frame, NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    return compile_of(rows, i)->seq;
}

static void *open_panel(void) {
    struct compiles_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "nothing was compiled yet");
    return panel;
}

static void close_panel(void *state) {
    struct compiles_panel *panel = state;
    table_free(panel->table);
    free(panel);
}

static void update(void *state, const struct view *view) {
    struct compiles_panel *panel = state;
    panel->snapshot = view->snapshot;
    table_update(panel->table, &(struct table_source){panel, view->snapshot->compile_count, id_of});
}

/* The rank that compiled it knows its units. */
static const struct snapshot_units *units_of(const struct snapshot *snapshot,
                                             const struct snapshot_compile *compile) {
    for (size_t i = 0; i < snapshot->rank_count; i++)
        if (snapshot->ranks[i]->rank == compile->rank) return snapshot->ranks[i]->units;
    return NULL;
}

static const char *subject(void *state) {
    struct compiles_panel *panel = state;
    char owner[UNIT_OWNER_SIZE];
    size_t row;
    if (!table_cursor(panel->table, &row)) return NULL;
    const struct snapshot_compile *compile = compile_of(panel, row);
    const struct snapshot_units *units = units_of(panel->snapshot, compile);
    if (!compile->has_unit || !units) return NULL;
    for (size_t i = 0; i < units->count; i++)
        if (units->units[i].unit == compile->unit && !can_unit_be_set(&units->units[i]))
            return NULL;
    unit_owner(units, compile->unit, owner);
    snprintf(panel->subject, sizeof panel->subject, "%s/", owner);
    return panel->subject;
}

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const struct snapshot_cause *cause_of(const struct snapshot *snapshot,
                                             const struct snapshot_compile *compile) {
    for (size_t i = 0; i < snapshot->cause_count; i++) {
        const struct snapshot_cause *cause = snapshot->causes[i];
        if (!is_same(cause->frame, compile->frame) || !is_same(cause->id, compile->cause_id))
            continue;
        if (cause->id ? is_same(cause->source, compile->source)
                      : cause->cause && compile->cause && strstr(compile->cause, cause->cause))
            return cause;
    }
    return NULL;
}

static const char guard_cost[] = "guard_us"; /* of a graph's figures: has a line of its own */

static int draw_pairs(struct area area, int y, const char *name,
                      const struct snapshot_pairs *pairs) {
    if (!pairs || pairs->count == 0) return y;
    CLEANUP(buf_done) struct buf words = BUF_INIT;
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->pairs[i].key, guard_cost) != 0)
            buf_printf(&words, "%s%s %s", words.size ? "   " : "", pairs->pairs[i].key,
                       pairs->pairs[i].value);
    return view_line(area, y, name, buf_text(&words), STYLE_PLAIN);
}

static long figure(const struct snapshot_pairs *pairs, const char *key) {
    const char *text = snapshot_pair(pairs, key);
    return text ? strtol(text, NULL, 10) : -1;
}

static int draw_guards(struct area area, int y, const struct snapshot_compile *compile) {
    const char *us = snapshot_pair(compile->graph, guard_cost);
    if (!us) return y;
    return view_linef(area, y, "guard check", STYLE_PLAIN,
                      "%s by torch's own measure as it compiled (since 2.8 with caches emptied)",
                      format_duration(strtod(us, NULL) * 1e3).text);
}

/* How far its code is from both limits, which all that run it share. */
static int draw_limits(struct area area, int y, const struct snapshot_compile *compile) {
    const struct snapshot_pairs *limits = compile->limits;
    long entries = figure(limits, "entries"), limit = figure(limits, "limit");
    long total = figure(limits, "total"), accumulated = figure(limits, "accumulated");
    const char *hit = snapshot_pair(limits, "hit");
    if (limit < 0) return y;
    bool is_near = entries >= limit - 1 || total >= accumulated - 1;
    char words[200];
    int at = 0;
    if (entries >= 0) at = snprintf(words, sizeof words, "%ld of %ld", entries, limit);
    if (total >= 0)
        at += snprintf(words + at, sizeof words - (size_t)at, "%s%ld of %ld under all settings",
                       at ? ", " : "", total, accumulated);
    bool is_end = hit && compile->failed && strcmp(compile->failed, hit) != 0;
    snprintf(words + at, sizeof words - (size_t)at, ", shared by all that run this code%s%.40s",
             is_end ? ": torch ended the call, "
             : hit  ? ": what is new to it runs eager from now on, "
                    : "",
             hit ? hit : "");
    unsigned style = hit ? STYLE_BAD : is_near ? STYLE_WARN : STYLE_PLAIN;
    return view_line(area, y, "versions", words, style);
}

static int draw_cause(struct area area, int y, const struct snapshot_compile *compile,
                      const struct snapshot_cause *cause) {
    const char *words = compile->words ? compile->words : compile->cause;
    y = view_line(area, y, "cause", words, STYLE_PLAIN);
    if (words && cause)
        y = view_linef(area, y, "so far", STYLE_PLAIN, "%llu times, %s, ranks %.60s",
                       (unsigned long long)cause->count, format_duration(cause->seconds * 1e9).text,
                       cause->ranks);
    y = view_line(area, y, "remedy", compile->remedy, STYLE_WARN);
    return view_place(area, y, "where", compile->file, compile->has_line, compile->line);
}

static void detail(void *state, const struct view *view, struct area area) {
    struct compiles_panel *panel = state;
    size_t row;
    const char *hint = subject(panel) ? "Enter: settings of its unit" : "";
    struct area body = view_title(area, false, "The compilation under the cursor", hint);
    if (!table_cursor(panel->table, &row)) return;
    const struct snapshot_compile *compile = compile_of(panel, row);
    const struct snapshot_variant *variant = snapshot_variant(view->snapshot, compile->variant);
    int y = draw_cause(body, 0, compile, cause_of(view->snapshot, compile));
    y = draw_limits(body, y, compile);
    y = view_line(body, y, "compile id", compile->id, STYLE_PLAIN);
    y = view_line(body, y, "under", variant && variant->label ? variant->label : "-", STYLE_PLAIN);
    y = draw_pairs(body, y, "graph", compile->graph);
    y = draw_guards(body, y, compile);
    y = draw_pairs(body, y, "caches", compile->cache);
    if (compile->words) view_line(body, y, "torch says", compile->cause, STYLE_DIM);
}

const struct panel_class panel_compiles = {
    .name = "compiles",
    .title = "Compilations",
    .help = "compilations: what, why, and where the time went; the cause of a recompile",
    .place = PLACE_VIEW,
    .view = VIEW_COMPILES,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .subject = subject,
    .detail = detail,
};
