/* Units: is compiled code in effect, and what became of each setting, as each rank saw it.
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

struct unit_row {
    const struct snapshot_rank *rank;
    const struct snapshot_active *active;
};

struct units_panel {
    struct table *table;
    struct unit_row *rows; /* point into the snapshot, which is lent until the next update */
    size_t count, room;
    const struct snapshot *snapshot;
};

static const struct unit_row *row_of(const void *rows, size_t i) {
    return &((const struct units_panel *)rows)->rows[i];
}

static double rank_number(const void *rows, size_t i) {
    return row_of(rows, i)->rank->rank;
}

static void show_rank(const void *rows, size_t i, struct table_cell *cell) {
    show_printf(cell, STYLE_PLAIN, "%d", row_of(rows, i)->rank->rank);
}

static void show_name(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_active *active = row_of(rows, i)->active;
    if (active->units > 1)
        show_printf(cell, STYLE_STRONG, "%.60s x %lld", active->name, (long long)active->units);
    else
        show_put(cell, STYLE_STRONG, active->name);
}

static unsigned state_style(const struct snapshot_active *active) {
    if (active->trouble) return STYLE_BAD;
    if (active->state && strcmp(active->state, "on") == 0) return STYLE_GOOD;
    return active->state && strcmp(active->state, "partly") == 0 ? STYLE_WARN : STYLE_DIM;
}

static void show_state(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_active *active = row_of(rows, i)->active;
    show_put(cell, state_style(active), active->state);
}

static double share_number(const void *rows, size_t i) {
    return active_share(row_of(rows, i)->active);
}

static void show_share(const void *rows, size_t i, struct table_cell *cell) {
    double share = share_number(rows, i);
    if (isnan(share))
        show_put(cell, STYLE_MISSING, NULL);
    else
        show_printf(cell, share < 1 ? STYLE_WARN : STYLE_PLAIN, "%.0f %%", floor(share * 100));
}

static double frames_number(const void *rows, size_t i) {
    const struct snapshot_active *active = row_of(rows, i)->active;
    return active->calls > 0 ? (double)active->entered / (double)active->calls : NAN;
}

static void show_frames(const void *rows, size_t i, struct table_cell *cell) {
    show_put(cell, STYLE_PLAIN, format_count(frames_number(rows, i)).text);
}

#define LEFT(name)                                                                                 \
    static double name##_number(const void *rows, size_t i) {                                      \
        return (double)row_of(rows, i)->active->name;                                              \
    }                                                                                              \
    static void show_##name(const void *rows, size_t i, struct table_cell *cell) {                 \
        double count = name##_number(rows, i);                                                     \
        show_put(cell, count > 0 ? STYLE_WARN : STYLE_PLAIN, format_count(count).text);            \
    }

LEFT(skipped)
LEFT(limited)

/* Of a setting the word alone; the reason stands below. */
static void show_setting(const void *rows, size_t i, struct table_cell *cell, const char *name) {
    const char *text = snapshot_pair(row_of(rows, i)->active->settings, name);
    if (!text) {
        show_put(cell, STYLE_MISSING, NULL);
        return;
    }
    int size = (int)strcspn(text, ":");
    bool is_missing = strncmp(text, "n/a", 3) == 0, is_bad = strncmp(text, "skipped", 7) == 0;
    show_printf(cell,
                is_missing ? STYLE_MISSING
                : is_bad   ? STYLE_BAD
                           : STYLE_PLAIN,
                "%.*s", size, text);
}

#define SETTING(name)                                                                              \
    static void show_##name(const void *rows, size_t i, struct table_cell *cell) {                 \
        show_setting(rows, i, cell, #name);                                                        \
    }

SETTING(cudagraphs)
SETTING(shape_padding)
SETTING(autotune)
SETTING(dynamic)

static void show_why(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_active *active = row_of(rows, i)->active;
    const char *text = active->trouble ? active->trouble : active->why;
    show_printf(cell, active->trouble ? STYLE_BAD : STYLE_DIM, "%.220s", text ? text : "");
}

static const struct table_column columns[] = {
    {"rank", "rank", "", 4, 0, ALIGN_RIGHT, true, 0, 0, show_rank, rank_number},
    {"unit", "unit", "what is compiled; so many that are one", 12, 1, ALIGN_LEFT, false, 0, 0,
     show_name, NULL},
    {"state", "state", "is its compiled code in effect", 12, 0, ALIGN_LEFT, false, 0, 0, show_state,
     NULL},
    {"share", "calls", "calls that ran compiled code, of the steps that were looked at", 6, 0,
     ALIGN_RIGHT, true, 0, 0, show_share, share_number},
    {"frames", "frames", "compiled frames entered in a call", 6, 0, ALIGN_RIGHT, true, 6, 0,
     show_frames, frames_number},
    {"skipped", "skip", "frames that torch leaves alone", 4, 0, ALIGN_RIGHT, true, 4, 0,
     show_skipped, skipped_number},
    {"limited", "limit", "frames that are compiled no further", 5, 0, ALIGN_RIGHT, true, 5, 0,
     show_limited, limited_number},
    {"cudagraphs", "graphs", "CUDA graphs", 9, 0, ALIGN_LEFT, false, 1, 0, show_cudagraphs, NULL},
    {"padding", "padding", "shape padding", 9, 0, ALIGN_LEFT, false, 2, 0, show_shape_padding,
     NULL},
    {"autotune", "autotune", "", 9, 0, ALIGN_LEFT, false, 3, 0, show_autotune, NULL},
    {"dynamic", "dynamic", "did sizes become symbolic", 8, 0, ALIGN_LEFT, false, 0, 0, show_dynamic,
     NULL},
    {"why", "why", "why it is so", 20, 3, ALIGN_LEFT, false, 0, 0, show_why, NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    const struct unit_row *row = row_of(rows, i);
    return rank_id(((const struct units_panel *)rows)->snapshot, row->rank) * 4099 +
           (uint64_t)row->active->unit;
}

static void *open_panel(void) {
    struct units_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "nothing was told of any compiled unit");
    return panel;
}

static void close_panel(void *state) {
    struct units_panel *panel = state;
    table_free(panel->table);
    free(panel->rows);
    free(panel);
}

static void add(struct units_panel *panel, const struct snapshot_rank *rank,
                const struct snapshot_active *active) {
    if (panel->count == panel->room) {
        panel->room = panel->room ? 2 * panel->room : 64;
        panel->rows = mem_resize(panel->rows, panel->room, sizeof panel->rows[0]);
    }
    panel->rows[panel->count++] = (struct unit_row){rank, active};
}

static void update(void *state, const struct view *view) {
    struct units_panel *panel = state;
    panel->snapshot = view->snapshot;
    panel->count = 0;
    for (size_t i = 0; i < view->snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = view->snapshot->ranks[i];
        for (size_t k = 0; k < rank->active_count; k++) add(panel, rank, rank->actives[k]);
    }
    table_update(panel->table, &(struct table_source){panel, panel->count, id_of});
}

/* Where and by whom it is compiled, and what it wraps. */
static int detail_origin(struct area body, int y, const struct unit_row *row) {
    const struct snapshot_units *units = row->rank->units;
    for (size_t i = 0; units && i < units->count; i++) {
        const struct snapshot_unit *unit = &units->units[i];
        if (unit->unit != row->active->unit &&
            (!unit->has_whole || unit->whole != row->active->unit))
            continue;
        y = view_place(body, y, "unit", unit->file, unit->has_line, unit->line);
        y = view_linef(body, y, "by", STYLE_PLAIN, "%.40s%s%.120s",
                       unit->origin ? unit->origin : "-", unit->wraps ? ": " : "",
                       unit->wraps ? unit->wraps : "");
        if (!unit->has_whole && row->active->units > 1) break; /* the others are as the first */
    }
    return y;
}

static int detail_frames(struct area body, int y, const struct snapshot_active *active) {
    for (size_t i = 0; i < active->frame_count; i++) {
        const struct snapshot_active_frame *frame = &active->frames[i];
        bool is_plain = frame->state && strcmp(frame->state, "compiled") == 0;
        y = view_linef(body, y, i ? "" : "frames", is_plain ? STYLE_PLAIN : STYLE_WARN,
                       "%.80s: %.20s%s%.160s", frame->frame ? frame->frame : "-",
                       frame->state ? frame->state : "-", frame->why ? ": " : "",
                       frame->why ? frame->why : "");
    }
    return y;
}

static int detail_settings(struct area body, int y, const struct snapshot_active *active) {
    static const char *const names[][2] = {{"CUDA graphs", "cudagraphs"},
                                           {"padding", "shape_padding"},
                                           {"autotune", "autotune"},
                                           {"dynamic", "dynamic"},
                                           {"verified", "verify"}};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        y = view_line(body, y, names[i][0], snapshot_pair(active->settings, names[i][1]),
                      STYLE_PLAIN);
    return y;
}

/* What goes by before compiled code runs, all calls of a step together. */
static void put_guards(const struct unit_row *row, char *ret, size_t size) {
    double ms = row->active->lookup_us / 1e3;
    ret[0] = 0;
    if (isnan(ms) || isnan(row->rank->median_ms)) return;
    snprintf(ret, size, " (guards %s, %.1f %% of a step)", format_duration(ms * 1e6).text,
             100 * ms / row->rank->median_ms);
}

static void detail(void *state, const struct view *view, struct area area) {
    struct units_panel *panel = state;
    size_t at;
    struct area body = view_title(area, false, "The unit under the cursor", "");
    if (!table_cursor(panel->table, &at)) return;
    const struct unit_row *row = row_of(panel, at);
    const struct snapshot_active *active = row->active;
    int y = view_linef(body, 0, "state", state_style(active), "%.40s since step %lld",
                       active->state ? active->state : "-", (long long)active->since);
    y = active->trouble ? view_line(body, y, "trouble", active->trouble, STYLE_BAD)
                        : view_line(body, y, "because", active->why, STYLE_PLAIN);
    y = detail_origin(body, y, row);
    if (active->has_looked) {
        char guards[64];
        put_guards(row, guards, sizeof guards);
        y = view_linef(
            body, y, "seen", STYLE_PLAIN,
            "%lld of %lld calls ran compiled code, %lld frames, in %lld steps looked at%s",
            (long long)active->compiled, (long long)active->calls, (long long)active->entered,
            (long long)active->looked, guards);
    }
    if (active->has_ran) {
        const struct snapshot_variant *variant = snapshot_variant(view->snapshot, active->ran);
        y = view_linef(body, y, "ran", STYLE_PLAIN, "%.80s, compile ids %.80s",
                       variant && variant->label ? variant->label : "-",
                       active->ids ? active->ids : "-");
    }
    detail_frames(body, detail_settings(body, y, active), active);
}

const struct panel_class panel_units = {
    .name = "units",
    .title = "Units",
    .help = "is compiled code in effect, and what became of each setting",
    .place = PLACE_VIEW,
    .view = VIEW_UNITS,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .detail = detail,
};
