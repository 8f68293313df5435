/* Presets: what each would change here, and what it was measured on. Enter stages one.
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
#include "tui/preset_shelf.h"
#include "engine/base/banned.h"

struct presets_panel {
    struct table *table;
    const struct preset_shelf *shelf; /* lent until the next update: the table's rows */
};

static const struct shelf_item *item_of(const void *rows, size_t i) {
    return &((const struct preset_shelf *)rows)->items[i];
}

static void show_name(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_STRONG, item_of(rows, i)->name);
}

static void show_origin(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_DIM, preset_origin_name(item_of(rows, i)->origin));
}

static double speedup_number(const void *rows, size_t i) {
    return preset_number(&item_of(rows, i)->preset, MEASURE_SPEEDUP);
}

static void show_speedup(const void *rows, size_t i, struct table_cell *cell) {
    const struct preset *preset = &item_of(rows, i)->preset;
    show_put(cell, STYLE_PLAIN,
             format_speedup(preset_number(preset, MEASURE_SPEEDUP),
                            preset_number(preset, MEASURE_SPEEDUP_LOW),
                            preset_number(preset, MEASURE_SPEEDUP_HIGH), cell->ascii)
                 .text);
}

static void show_settings(const void *rows, size_t i, struct table_cell *cell) {
    const struct shelf_item *item = item_of(rows, i);
    CLEANUP(cleanup_free) char *text = settings_text(&item->preset.settings);
    if (item->fault)
        show_printf(cell, STYLE_BAD, "fault: %.200s", item->fault);
    else
        show_put(cell, STYLE_PLAIN, text);
}

static const struct table_column columns[] = {
    {"name", "preset", "its name", 18, 0, ALIGN_LEFT, false, 0, 0, show_name, NULL},
    {"from", "from", "project, user or shipped", 8, 0, ALIGN_LEFT, false, 2, 0, show_origin, NULL},
    {"speedup", "over eager", "as it was measured when it was saved", 12, 0, ALIGN_RIGHT, true, 1,
     0, show_speedup, speedup_number},
    {"settings", "settings", "what it sets", 20, 1, ALIGN_LEFT, false, 0, 0, show_settings, NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    return shelf_row(item_of(rows, i)->path);
}

static void *open_panel(void) {
    struct presets_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "no preset found");
    return panel;
}

static void close_panel(void *state) {
    struct presets_panel *panel = state;
    table_free(panel->table);
    free(panel);
}

static void update(void *state, const struct view *view) {
    struct presets_panel *panel = state;
    panel->shelf = view->presets;
    size_t count = view->presets ? view->presets->count : 0;
    table_update(panel->table, &(struct table_source){view->presets, count, id_of});
}

static const struct shelf_item *current(const struct presets_panel *panel) {
    size_t row;
    return panel->shelf && table_cursor(panel->table, &row) ? &panel->shelf->items[row] : NULL;
}

static const char *subject(void *state) {
    const struct shelf_item *item = current(state);
    return item ? item->name : NULL;
}

static void copy(void *state, const struct view *view, struct buf *ret) {
    const struct shelf_item *item = current(state);
    if (!item) return;
    buf_printf(ret, "inductop --preset %s", item->name);
    put_job(ret, view);
}

/* Text from a file has lines of its own; here they are as long as the area is wide. */
static int draw_folded(struct area area, int y, const char *name, const char *text) {
    if (!text || !*text) return y;
    CLEANUP(cleanup_free) char *folded = mem_strdup(text);
    for (char *at = folded; (at = strchr(at, '\n')); at++)
        if (at[1] && at[1] != '\n') *at = ' ';
    return view_line(area, y, name, folded, STYLE_PLAIN);
}

static void put_measured(struct buf *out, const struct preset *preset) {
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++)
        if (preset->measured[i])
            buf_printf(out, "%s%s %s", out->size ? ", " : "",
                       preset_measure_name((enum preset_measure)i), preset->measured[i]);
}

static void detail(void *state, const struct view *view, struct area area) {
    const struct shelf_item *item = current(state);
    CLEANUP(buf_done) struct buf words = BUF_INIT;
    CLEANUP(buf_done) struct buf measured = BUF_INIT;
    struct area body =
        view_title(area, false, "Against what is in force", "Enter stages  B compares  W saves");
    if (!item) return;
    struct staging staging;
    staging_init(&staging);
    settings_copy(&staging.now, &view->staging->now);
    staging_aim(&staging, &item->preset.settings);
    staging_words(&staging, &words);
    put_measured(&measured, &item->preset);
    int y = draw_folded(body, 0, "would change",
                        staging.change.count ? buf_text(&words) : "nothing: it is in force");
    y = draw_folded(body, y, "when", item->preset.description);
    y = draw_folded(body, y, "measured on", buf_text(&measured));
    y = draw_folded(body, y, "notes", item->preset.notes);
    draw_folded(body, y, "file", item->path);
    staging_done(&staging);
}

const struct panel_class panel_presets = {
    .name = "presets",
    .title = "Presets",
    .help = "presets: what each would change, what it was measured on; Enter stages one",
    .place = PLACE_VIEW,
    .view = VIEW_PRESETS,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .subject = subject,
    .copy = copy,
    .detail = detail,
};
