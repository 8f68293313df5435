/* What costs time and what to do about it, then what happened, newest first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

enum entry_kind { ENTRY_FINDING, ENTRY_CAUSE, ENTRY_PROBLEM, ENTRY_EVENT };

struct entry {
    enum entry_kind kind;
    const void *thing; /* of the snapshot */
    uint64_t id;
    size_t same; /* events side by side that say the same, this one among them */
};

struct findings_panel {
    struct table *table;
    struct entry *entries;
    size_t count, room;
};

static const struct entry *entry_of(const void *rows, size_t i) {
    return &((const struct entry *)rows)[i];
}

/* ---- the first column tells findings as a whole */

static void show_finding(const struct snapshot_finding *finding, struct table_cell *cell) {
    show_printf(cell, STYLE_WARN, "! %.120s%s%.100s", finding->text, finding->action ? ": " : "",
                finding->action ? finding->action : "");
}

static void show_cause(const struct snapshot_cause *cause, struct table_cell *cell) {
    show_printf(cell, STYLE_WARN, "! recompiled %llu x, %s: %.80s: %.110s",
                (unsigned long long)cause->count, format_duration(cause->seconds * 1e9).text,
                cause->words, cause->remedy);
}

static void show_problem(const struct snapshot_problem *problem, struct table_cell *cell) {
    show_printf(cell, STYLE_BAD, "! %.40s: %.120s%s%.80s", problem->what, problem->text,
                problem->hint ? ": " : "", problem->hint ? problem->hint : "");
}

static void show_step(const void *rows, size_t i, struct table_cell *cell) {
    const struct entry *entry = entry_of(rows, i);
    cell->runs_on = entry->kind != ENTRY_EVENT;
    if (entry->kind == ENTRY_FINDING) show_finding(entry->thing, cell);
    if (entry->kind == ENTRY_CAUSE) show_cause(entry->thing, cell);
    if (entry->kind == ENTRY_PROBLEM) show_problem(entry->thing, cell);
    if (entry->kind != ENTRY_EVENT) return;
    const struct snapshot_event *event = entry->thing;
    if (event->has_step)
        show_put(cell, STYLE_DIM, format_count((double)event->step).text);
    else
        show_printf(cell, STYLE_DIM, "%.1fs", event->t);
}

static const struct snapshot_event *event_of(const void *rows, size_t i) {
    const struct entry *entry = entry_of(rows, i);
    return entry->kind == ENTRY_EVENT ? entry->thing : NULL;
}

static unsigned level_style(const struct snapshot_event *event) {
    static const unsigned styles[] = {STYLE_PLAIN, STYLE_GOOD, STYLE_NOTE, STYLE_BAD};
    return styles[event->level];
}

static void show_ranks(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_event *event = event_of(rows, i);
    if (event) show_printf(cell, STYLE_DIM, "%.60s", event->ranks);
}

static void show_what(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_event *event = event_of(rows, i);
    if (event) show_put(cell, level_style(event), event->what);
}

static void show_text(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_event *event = event_of(rows, i);
    if (!event) return;
    bool has_place = event->place && !strstr(event->text, event->place);
    char times[32] = "";
    if (entry_of(rows, i)->same > 1)
        snprintf(times, sizeof times, "  (%zu x)", entry_of(rows, i)->same);
    show_printf(cell, STYLE_PLAIN, "%.60s%s%.150s%s", has_place ? event->place : "",
                has_place ? "  " : "", event->text, times);
}

static double cost_number(const void *rows, size_t i) {
    const struct snapshot_event *event = event_of(rows, i);
    return event ? event->ms * 1e6 : NAN;
}

static void show_cost(const void *rows, size_t i, struct table_cell *cell) {
    double ns = cost_number(rows, i);
    if (ns > 0) show_put(cell, STYLE_PLAIN, format_duration(ns).text);
}

static double step_number(const void *rows, size_t i) {
    const struct snapshot_event *event = event_of(rows, i);
    return event && event->has_step ? (double)event->step : NAN;
}

static const struct table_column columns[] = {
    {"step", "step", "step in which it happened, else the time", 6, 0, ALIGN_RIGHT, true, 0, 0,
     show_step, step_number},
    {"ranks", "ranks", "ranks that told it", 6, 0, ALIGN_LEFT, false, 3, 0, show_ranks, NULL},
    {"what", "what", "kind of event", 11, 0, ALIGN_LEFT, false, 2, 0, show_what, NULL},
    {"text", "text", "what happened, with file and line", 20, 1, ALIGN_LEFT, false, 0, 0, show_text,
     NULL},
    {"cost", "cost", "time that it took", 7, 0, ALIGN_RIGHT, true, 1, 1e6, show_cost, cost_number},
};

static uint64_t id_of(const void *rows, size_t i) {
    return entry_of(rows, i)->id;
}

static void *open_panel(void) {
    struct findings_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_title(panel->table, "Findings and events");
    table_set_empty(panel->table, "nothing yet");
    return panel;
}

static void close_panel(void *state) {
    struct findings_panel *panel = state;
    table_free(panel->table);
    free(panel->entries);
    free(panel);
}

static void add(struct findings_panel *panel, enum entry_kind kind, const void *thing,
                uint64_t number) {
    if (panel->count == panel->room) {
        panel->room = panel->room ? 2 * panel->room : 64;
        panel->entries = mem_resize(panel->entries, panel->room, sizeof *panel->entries);
    }
    panel->entries[panel->count++] = (struct entry){kind, thing, (uint64_t)kind << 56 | number, 1};
}

static bool says_same(const struct snapshot_event *a, const struct snapshot_event *b) {
    const char *place_a = a->place ? a->place : "", *place_b = b->place ? b->place : "";
    return a->kind == b->kind && a->has_step == b->has_step && a->step == b->step &&
           !strcmp(a->text, b->text) && !strcmp(place_a, place_b) && isnan(a->ms) && isnan(b->ms);
}

/* Older ones join what stands above them when they say the same. */
static void add_event(struct findings_panel *panel, const struct snapshot_event *event) {
    struct entry *above = panel->count ? &panel->entries[panel->count - 1] : NULL;
    if (event->kind == EVENT_PROBLEM || event->kind == EVENT_FINDING) return;
    if (above && above->kind == ENTRY_EVENT && says_same(above->thing, event))
        above->same++;
    else
        add(panel, ENTRY_EVENT, event, event->seq);
}

static uint64_t hash_of(const char *text) {
    return text ? str_hash(text, strlen(text)) : 0;
}

static uint64_t number_of(const struct snapshot_finding *finding) {
    if (!finding->rule) return hash_of(finding->text);
    return hash_of(finding->rule) << 24 ^ hash_of(finding->subject) ^ (uint32_t)finding->rank;
}

static void add_findings(struct findings_panel *panel, const struct snapshot *snapshot) {
    CLEANUP(cleanup_free)
    const struct snapshot_finding **order = mem_array(snapshot->finding_count + 1, sizeof order[0]);
    for (size_t i = 0; i < snapshot->finding_count; i++) order[i] = snapshot->findings[i];
    qsort(order, snapshot->finding_count, sizeof order[0], snapshot_finding_order);
    for (size_t i = 0; i < snapshot->finding_count; i++)
        add(panel, ENTRY_FINDING, order[i], number_of(order[i]));
}

/* A finding says it already. */
static bool is_found(const struct snapshot *snapshot, const struct snapshot_cause *cause) {
    for (size_t i = 0; i < snapshot->finding_count; i++) {
        const char *subject = snapshot->findings[i]->subject;
        if (subject && strcmp(subject, cause->key) == 0) return true;
    }
    return false;
}

static void update(void *state, const struct view *view) {
    struct findings_panel *panel = state;
    const struct snapshot *snapshot = view->snapshot;
    panel->count = 0;
    add_findings(panel, snapshot);
    for (size_t i = snapshot->cause_count; i-- > 0;)
        if (snapshot->causes[i]->remedy && !is_found(snapshot, snapshot->causes[i]))
            add(panel, ENTRY_CAUSE, snapshot->causes[i], i);
    for (size_t i = snapshot->problem_count; i-- > 0;)
        add(panel, ENTRY_PROBLEM, snapshot->problems[i], i);
    for (size_t i = snapshot->event_count; i-- > 0;) add_event(panel, snapshot->events[i]);
    table_update(panel->table, &(struct table_source){panel->entries, panel->count, id_of});
}

/* ---- the whole of a row, with room to say it */

static void detail_event(const struct snapshot_event *event, struct area area) {
    int y = view_line(area, 0, "what", event->what, level_style(event));
    y = view_line(area, y, "said", event->text, STYLE_PLAIN);
    y = view_line(area, y, "where", event->place, STYLE_LINK);
    view_line(area, y, "ranks", event->ranks, STYLE_PLAIN);
}

static void detail_cause(const struct snapshot_cause *cause, struct area area) {
    char times[64];
    snprintf(times, sizeof times, "%llu times, %s", (unsigned long long)cause->count,
             format_duration(cause->seconds * 1e9).text);
    int y = view_line(area, 0, "recompiled", times, STYLE_WARN);
    y = view_line(area, y, "where", cause->frame, STYLE_LINK);
    y = view_line(area, y, "cause", cause->words, STYLE_PLAIN);
    y = view_line(area, y, "remedy", cause->remedy, STYLE_WARN);
    view_line(area, y, "ranks", cause->ranks, STYLE_PLAIN);
}

static void detail(void *state, const struct view *view, struct area area) {
    struct findings_panel *panel = state;
    size_t row;
    (void)view;
    struct area body = view_title(area, false, "The row under the cursor", "");
    if (!table_cursor(panel->table, &row)) return;
    const struct entry *entry = &panel->entries[row];
    if (entry->kind == ENTRY_EVENT) detail_event(entry->thing, body);
    if (entry->kind == ENTRY_CAUSE) detail_cause(entry->thing, body);
    if (entry->kind == ENTRY_FINDING) {
        const struct snapshot_finding *finding = entry->thing;
        int y = view_line(body, 0, "finding", finding->text, STYLE_WARN);
        y = view_line(body, y, "do", finding->action, STYLE_PLAIN);
        view_line(body, y, "evidence", finding->evidence, STYLE_PLAIN);
    }
    if (entry->kind == ENTRY_PROBLEM) {
        const struct snapshot_problem *problem = entry->thing;
        int y = view_line(body, 0, problem->what, problem->text, STYLE_BAD);
        view_line(body, y, "hint", problem->hint, STYLE_PLAIN);
    }
}

const struct panel_class panel_findings = {
    .name = "findings",
    .title = "Findings and events",
    .help = "what costs time and what to do about it; what happened, newest first",
    .place = PLACE_FINDINGS,
    .view = VIEW_FINDINGS,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .detail = detail,
};
