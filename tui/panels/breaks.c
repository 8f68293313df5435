/* Where graphs break.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

struct breaks_panel {
    struct table *table;
    const struct snapshot *snapshot; /* lent until the next update: the table's rows */
};

static const struct snapshot_break *break_of(const void *rows, size_t i) {
    return ((const struct breaks_panel *)rows)->snapshot->breaks[i];
}

static void show_place(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_break *row = break_of(rows, i);
    const char *slash = row->file ? strrchr(row->file, '/') : NULL;
    const char *name = slash ? slash + 1 : row->file;
    if (row->has_line)
        show_printf(cell, STYLE_LINK, "%.100s:%lld", name ? name : "-", (long long)row->line);
    else
        show_put(cell, STYLE_LINK, name);
}

static double count_number(const void *rows, size_t i) {
    return (double)break_of(rows, i)->count;
}

static void show_count(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_STRONG, format_count(count_number(rows, i)).text);
}

static double runs_number(const void *rows, size_t i) {
    const struct snapshot_break *row = break_of(rows, i);
    return row->has_runs ? (double)row->runs : NAN;
}

static void show_runs(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_PLAIN, format_count(runs_number(rows, i)).text);
}

static void show_ranks(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_DIM, break_of(rows, i)->ranks);
}

static void show_code(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_DIM, break_of(rows, i)->code);
}

static void show_reason(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_break *row = break_of(rows, i);
    unsigned style = row->is_meant       ? STYLE_DIM
                     : row->is_eager     ? STYLE_WARN
                     : row->is_framework ? STYLE_NOTE
                                         : STYLE_PLAIN;
    show_printf(cell, style, "%s%s%.170s%s%.60s", row->is_eager ? "all eager: " : "",
                row->is_framework ? "library: " : "", row->reason ? row->reason : "-",
                row->frame ? "  in " : "", row->frame ? row->frame : "");
}

static const struct table_column columns[] = {
    {"place", "place", "file and line", 24, 1, ALIGN_LEFT, false, 0, 0, show_place, NULL},
    {"count", "count", "how often it was compiled, over all ranks", 5, 0, ALIGN_RIGHT, true, 0, 0,
     show_count, count_number},
    {"runs", "runs", "how often it ran in one call, when last looked at", 4, 0, ALIGN_RIGHT, true,
     0, 0, show_runs, runs_number},
    {"ranks", "ranks", "ranks that told it", 6, 0, ALIGN_LEFT, false, 2, 0, show_ranks, NULL},
    {"code", "code", "torch's link id", 6, 0, ALIGN_LEFT, false, 1, 0, show_code, NULL},
    {"reason", "reason", "why, and in which function", 28, 3, ALIGN_LEFT, false, 0, 0, show_reason,
     NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    (void)rows;
    return i; /* the list only grows */
}

static void *open_panel(void) {
    struct breaks_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "no graph break was told");
    return panel;
}

static void close_panel(void *state) {
    struct breaks_panel *panel = state;
    table_free(panel->table);
    free(panel);
}

static void update(void *state, const struct view *view) {
    struct breaks_panel *panel = state;
    panel->snapshot = view->snapshot;
    table_update(panel->table, &(struct table_source){panel, view->snapshot->break_count, id_of});
}

static void detail(void *state, const struct view *view, struct area area) {
    struct breaks_panel *panel = state;
    size_t row;
    (void)view;
    struct area body = view_title(area, false, "The graph break under the cursor", "");
    if (!table_cursor(panel->table, &row)) return;
    const struct snapshot_break *shown = break_of(panel, row);
    int y = view_line(body, 0, "reason", shown->reason, STYLE_PLAIN);
    y = view_line(body, y, "because", shown->explanation, STYLE_PLAIN);
    y = view_line(body, y, "remedy", shown->remedy, STYLE_WARN);
    y = view_place(body, y, "file", shown->file, shown->has_line, shown->line);
    y = view_line(body, y, "in", shown->frame, STYLE_PLAIN);
    y = view_line(body, y, "library", shown->inside, STYLE_LINK);
    y = view_line(body, y, "effect",
                  shown->is_meant   ? "meant: DDP splits the graph to send gradients early"
                  : shown->is_eager ? "the whole function runs eager"
                                    : "the graph is split here",
                  shown->is_eager ? STYLE_WARN : STYLE_PLAIN);
    if (shown->has_runs)
        view_linef(body, y, "runs", STYLE_PLAIN, "%lld times in the call last looked at",
                   (long long)shown->runs);
}

const struct panel_class panel_breaks = {
    .name = "breaks",
    .title = "Graph breaks",
    .help = "where graphs break, why, and how often",
    .place = PLACE_VIEW,
    .view = VIEW_BREAKS,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .detail = detail,
};
