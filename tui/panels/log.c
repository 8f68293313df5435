/* What was changed, newest first, with the lines that bring each state back.
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
#include "tui/reproduce.h"
#include "engine/base/banned.h"

struct log_panel {
    struct table *table;
    const struct snapshot_switch **changes; /* of the snapshot */
    size_t count, room;
};

static const struct snapshot_switch *change_of(const void *rows, size_t i) {
    return ((const struct log_panel *)rows)->changes[i];
}

static double at_number(const void *rows, size_t i) {
    const struct snapshot_switch *change = change_of(rows, i);
    return change->has_at ? (double)change->at : NAN;
}

static void show_at(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_DIM, format_count(at_number(rows, i)).text);
}

static void show_by(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_DIM, change_of(rows, i)->by);
}

static void show_status(const void *rows, size_t i, struct table_cell *cell) {
    enum switch_status status = change_of(rows, i)->status;
    bool is_bad = status >= SWITCH_NOT_REACHED;
    show_put(cell,
             status == SWITCH_APPLIED ? STYLE_GOOD
             : is_bad                 ? STYLE_BAD
                                      : STYLE_NOTE,
             switch_status_name(status));
}

static void show_change(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_switch *change = change_of(rows, i);
    show_printf(cell, STYLE_PLAIN, "%.120s%s%.100s", change->change, change->reason ? ": " : "",
                change->reason ? change->reason : "");
}

static double lost_number(const void *rows, size_t i) {
    return change_of(rows, i)->lost_ms * 1e6;
}

static void show_lost(const void *rows, size_t i, struct table_cell *cell) {
    double lost = lost_number(rows, i);
    if (lost <= 0)
        show_put(cell, STYLE_DIM, "none");
    else
        show_put(cell, STYLE_PLAIN, format_duration(lost).text);
}

static const struct table_column columns[] = {
    {"at", "at", "the first step under it", 6, 0, ALIGN_RIGHT, true, 0, 0, show_at, at_number},
    {"by", "by", "who asked", 8, 0, ALIGN_LEFT, false, 2, 0, show_by, NULL},
    {"status", "status", "what became of it", 11, 0, ALIGN_LEFT, false, 0, 0, show_status, NULL},
    {"change", "change", "", 20, 1, ALIGN_LEFT, false, 0, 0, show_change, NULL},
    {"lost", "lost", "what its first step took over the one before", 7, 0, ALIGN_RIGHT, true, 1,
     1e9, show_lost, lost_number},
};

static uint64_t id_of(const void *rows, size_t i) {
    return change_of(rows, i)->seq;
}

static void *open_panel(void) {
    struct log_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "nothing was changed yet");
    return panel;
}

static void close_panel(void *state) {
    struct log_panel *panel = state;
    table_free(panel->table);
    free(panel->changes);
    free(panel);
}

static void update(void *state, const struct view *view) {
    struct log_panel *panel = state;
    const struct snapshot *snapshot = view->snapshot;
    if (snapshot->switch_count > panel->room) {
        panel->room = snapshot->switch_count;
        panel->changes = mem_resize(panel->changes, panel->room, sizeof *panel->changes);
    }
    panel->count = 0;
    for (size_t i = snapshot->switch_count; i-- > 0;) {
        const struct snapshot_switch *change = snapshot->switches[i];
        if (change->is_tried_again || change->is_forget || change->is_measurement) continue;
        panel->changes[panel->count++] = change;
    }
    table_update(panel->table, &(struct table_source){panel, panel->count, id_of});
}

static void copy(void *state, const struct view *view, struct buf *ret) {
    const struct log_panel *panel = state;
    struct settings to = SETTINGS_INIT;
    size_t row;
    if (!table_cursor(panel->table, &row)) return;
    settings_put_pairs(&to, panel->changes[row]->to);
    put_command(ret, view, &to);
    settings_done(&to);
}

static void detail(void *state, const struct view *view, struct area area) {
    struct log_panel *panel = state;
    struct settings to = SETTINGS_INIT;
    CLEANUP(buf_done) struct buf options = BUF_INIT;
    CLEANUP(buf_done) struct buf code = BUF_INIT;
    CLEANUP(buf_done) struct buf environment = BUF_INIT;
    size_t row;
    struct area body = view_title(area, false, "These lines do it again", "y copies the first");
    if (!table_cursor(panel->table, &row)) return;
    settings_put_pairs(&to, panel->changes[row]->to);
    put_command(&options, view, &to);
    reproduce_code(&code, &to);
    reproduce_environment(&environment, &to);
    int y = view_line(body, 0, "command", buf_text(&options), STYLE_PLAIN);
    y = view_line(body, y, "code", buf_text(&code), STYLE_PLAIN);
    view_line(body, y, "environment", buf_text(&environment), STYLE_PLAIN);
    settings_done(&to);
}

const struct panel_class panel_log = {
    .name = "log",
    .title = "What was changed",
    .help = "every change of settings, and the lines that do it again",
    .place = PLACE_VIEW,
    .view = VIEW_LOG,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .copy = copy,
    .detail = detail,
};
