/* The settings: in force, what ran under them, and what is staged.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

enum {
    UNITS_WANTED = 4, /* rows for them, of those that are wanted; the others are scrolled to */
    UNITS_MAX = 64,
    ROWS_MAX = SETTING_ID_COUNT + 2 * SETTINGS_MAX + UNITS_MAX,
    NAME_SIZE = SETTING_KEY_MAX + 4
};

struct setting_row {
    char key[NAME_SIZE];
    char now[SETTING_VALUE_MAX], next[SETTING_VALUE_MAX];
    const char *name;      /* of the key, without what stands above all rows */
    const char *objection; /* why it cannot act here */
    char toggle;
    bool has_now, has_next;
    bool is_fact;                    /* something that ran, nothing to turn */
    char owner[UNIT_OWNER_SIZE + 1]; /* of a fact about a unit that can be set alone: "Net/" */
    bool is_unit;                    /* a unit, with a short form of its own settings */
    bool is_inherited;               /* `now` holds for all units */
};

struct settings_panel {
    struct table *table;
    struct setting_row rows[ROWS_MAX];
    size_t count;
    char title[UNIT_OWNER_SIZE + 40];
};

static const struct setting_row *row_of(const void *rows, size_t i) {
    return &((const struct setting_row *)rows)[i];
}

static void show_key(const void *rows, size_t i, struct table_cell *cell) {
    const struct setting_row *row = row_of(rows, i);
    if (row->is_fact)
        show_printf(cell, STYLE_DIM, "%.*s", 200, row->key);
    else
        show_printf(cell, row->is_unit ? STYLE_NOTE : STYLE_PLAIN, "%c %.*s",
                    row->toggle ? row->toggle : ' ', 200, row->name);
}

static void show_now(const void *rows, size_t i, struct table_cell *cell) {
    const struct setting_row *row = row_of(rows, i);
    cell->runs_on = row->objection || row->is_fact || (row->is_unit && !row->has_next);
    if (row->objection)
        show_printf(cell, STYLE_MISSING, "n/a: %s", row->objection);
    else if (row->is_fact)
        show_printf(cell, STYLE_DIM, "%.200s", row->now);
    else if (row->is_inherited)
        show_printf(cell, STYLE_DIM, "(%.200s)", row->now);
    else if (row->has_now)
        show_printf(cell, STYLE_SETTING, "%.200s", row->now);
    else
        show_printf(cell, STYLE_DIM, row->is_unit ? "Enter sets it alone" : "as written");
}

static void show_next(const void *rows, size_t i, struct table_cell *cell) {
    const struct setting_row *row = row_of(rows, i);
    if (!row->has_next) return;
    bool is_written = strcmp(row->next, SETTING_AS_WRITTEN) == 0;
    show_printf(cell, STYLE_STAGED, "%.200s", is_written ? "as written" : row->next);
}

static const struct table_column columns[] = {
    {"setting", "Settings", "the setting, with the key that turns it", 17, 0, ALIGN_LEFT, false, 0,
     0, show_key, NULL},
    {"now", "now", "in force on the ranks", 10, 1, ALIGN_LEFT, false, 0, 0, show_now, NULL},
    {"next", "next", "staged: A applies it", 12, 0, ALIGN_LEFT, false, 0, 0, show_next, NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    const struct setting_row *row = row_of(rows, i);
    return row->is_fact ? UINT64_C(1) << 32 | i : str_hash(row->key, strlen(row->key));
}

static void *open_panel(void) {
    struct settings_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    return panel;
}

static void close_panel(void *state) {
    struct settings_panel *panel = state;
    table_free(panel->table);
    free(panel);
}

static void copy(char *ret, size_t size, const char *text) {
    snprintf(ret, size, "%s", text);
}

static bool has_row(const struct settings_panel *panel, const char *key) {
    for (size_t i = 0; i < panel->count; i++)
        if (strcmp(panel->rows[i].key, key) == 0) return true;
    return false;
}

static void add_row(struct settings_panel *panel, const struct view *view, const char *key) {
    if (panel->count == ROWS_MAX || has_row(panel, key)) return;
    struct setting_row *row = &panel->rows[panel->count++];
    int id = setting_find(key);
    size_t skip = view->unit ? strlen(view->unit) + 1 : 0;
    const char *now = staging_now(view->staging, key), *next = staging_next(view->staging, key);
    const char *of_all = view->unit ? staging_now(view->staging, key + skip) : NULL;
    *row = (struct setting_row){
        .has_now = now != NULL, .has_next = next != NULL, .is_inherited = !now && of_all};
    copy(row->key, sizeof row->key, key);
    copy(row->now, sizeof row->now, now ? now : of_all ? of_all : "");
    copy(row->next, sizeof row->next, next ? next : "");
    row->name = row->key + skip;
    if (id < 0) return;
    if (!strchr(row->name, '/')) row->toggle = setting_get((enum setting_id)id)->toggle;
    if (!now && !next) row->objection = setting_objection((enum setting_id)id, view->device);
}

static bool is_of_unit(const char *key, const char *owner) {
    size_t size = strlen(owner);
    return strncmp(key, owner, size) == 0 && key[size] == '/';
}

/* Rows of the unit that is shown, or of all; what one unit has for its own stands in its row. */
static void add_rows(struct settings_panel *panel, const struct view *view,
                     const struct settings *set) {
    for (size_t i = 0; i < set->count; i++) {
        const char *key = set->pairs[i].key, *slash = strrchr(key, '/');
        char unit[NAME_SIZE];
        snprintf(unit, sizeof unit, "%.*s", slash ? (int)(slash + 1 - key) : 0, key);
        if (view->unit ? is_of_unit(key, view->unit) : !slash || !has_row(panel, unit))
            add_row(panel, view, key);
    }
}

static size_t settable_units(const struct view *view) {
    const struct snapshot_units *units = view->rank ? view->rank->units : NULL;
    size_t count = 0;
    for (size_t i = 0; units && i < units->count; i++) count += can_unit_be_set(&units->units[i]);
    return count;
}

static bool put_own(char *ret, size_t size, const struct settings *set, const char *owner) {
    size_t used = 0;
    for (size_t i = 0; i < set->count && used < size; i++) {
        if (!is_of_unit(set->pairs[i].key, owner)) continue;
        int added = snprintf(ret + used, size - used, "%s%s=%s", used ? " " : "",
                             strrchr(set->pairs[i].key, '/') + 1, set->pairs[i].value);
        used += added > 0 ? (size_t)added : 0;
    }
    return used > 0;
}

/* One alone is the job: what holds for all holds for it. */
static void add_units(struct settings_panel *panel, const struct view *view) {
    const struct snapshot_units *units = view->rank ? view->rank->units : NULL;
    if (view->unit || settable_units(view) < 2) return;
    for (size_t i = 0; i < units->count && panel->count < ROWS_MAX; i++) {
        char owner[UNIT_OWNER_SIZE];
        if (!can_unit_be_set(&units->units[i])) continue;
        struct setting_row *row = &panel->rows[panel->count++];
        unit_owner(units, units->units[i].unit, owner);
        *row = (struct setting_row){.is_unit = true};
        snprintf(row->key, sizeof row->key, "%s/", owner);
        row->name = units->units[i].name ? units->units[i].name : owner;
        row->has_now = put_own(row->now, sizeof row->now, &view->staging->now, owner);
        row->has_next = put_own(row->next, sizeof row->next, &view->staging->change, owner);
    }
}

static struct setting_row *add_fact(struct settings_panel *panel, const char *name,
                                    const char *what, const char *of) {
    static struct setting_row nowhere;
    if (panel->count == ROWS_MAX) return &nowhere;
    struct setting_row *row = &panel->rows[panel->count++];
    *row = (struct setting_row){.is_fact = true};
    copy(row->key, sizeof row->key, name);
    snprintf(row->now, sizeof row->now, "%.200s: %.200s", what, of ? of : "-");
    return row;
}

/* What was seen to run in the first step under the settings in force. */
static void add_evidence(struct settings_panel *panel, const struct view *view) {
    const struct snapshot_pairs *pairs = view->group ? view->group->evidence : NULL;
    for (size_t i = 0; pairs && i < pairs->count; i++) {
        const char *ran = pairs->pairs[i].value;
        add_fact(panel, i ? "" : "  ran", strcmp(ran, "variant") ? ran : "compiled",
                 pairs->pairs[i].key);
    }
}

static bool is_news(const struct snapshot_pair *pair) {
    bool was_asked = strcmp(pair->key, "verify") == 0; /* that it cannot be is an answer */
    return strcmp(pair->value, "off") && strcmp(pair->value, "static") &&
           (was_asked || strncmp(pair->value, "n/a", 3));
}

/* Enter on it sets the unit alone, where there is more than one. */
static void put_owner(struct setting_row *row, const struct view *view, int64_t unit) {
    const struct snapshot_units *units = view->rank->units;
    if (settable_units(view) < 2) return;
    for (size_t i = 0; i < units->count; i++) {
        char owner[UNIT_OWNER_SIZE];
        if (units->units[i].unit != unit || !can_unit_be_set(&units->units[i])) continue;
        unit_owner(units, unit, owner);
        snprintf(row->owner, sizeof row->owner, "%s/", owner);
    }
}

/* What the rank that is shown says of its units, and of settings that did something in them. */
static void add_actives(struct settings_panel *panel, const struct view *view) {
    for (size_t i = 0; view->rank && i < view->rank->active_count; i++) {
        const struct snapshot_active *active = view->rank->actives[i];
        const struct snapshot_pairs *pairs = active->settings;
        char text[ACTIVE_TEXT_SIZE];
        active_text(active, text);
        struct setting_row *row = add_fact(panel, i ? "" : "  seen", text, active->name);
        put_owner(row, view, active->unit);
        for (size_t k = 0; pairs && k < pairs->count; k++)
            if (is_news(&pairs->pairs[k]))
                add_fact(panel, "", pairs->pairs[k].key, pairs->pairs[k].value);
    }
}

static size_t active_rows(const struct view *view) {
    size_t count = 0;
    for (size_t i = 0; view->rank && i < view->rank->active_count; i++) {
        const struct snapshot_pairs *pairs = view->rank->actives[i]->settings;
        count++;
        for (size_t k = 0; pairs && k < pairs->count; k++) count += is_news(&pairs->pairs[k]);
    }
    return count;
}

static void set_title(struct settings_panel *panel, const struct view *view) {
    if (view->unit)
        snprintf(panel->title, sizeof panel->title, "Only for %s; Esc: for all", view->unit);
    table_set_title(panel->table, view->unit ? panel->title : NULL);
}

static void update(void *state, const struct view *view) {
    struct settings_panel *panel = state;
    panel->count = 0;
    for (int i = 0; i < SETTING_ID_COUNT; i++) {
        const struct setting *setting = setting_get((enum setting_id)i);
        char key[NAME_SIZE];
        if (setting->effect != SETTING_EFFECT_LIVE || strchr(setting->key, '*')) continue;
        snprintf(key, sizeof key, "%s%s%s", view->unit ? view->unit : "", view->unit ? "/" : "",
                 setting->key);
        add_row(panel, view, key);
    }
    add_units(panel, view);
    add_rows(panel, view, &view->staging->now);
    add_rows(panel, view, &view->staging->change);
    if (!view->unit) add_evidence(panel, view);
    if (!view->unit) add_actives(panel, view);
    set_title(panel, view);
    table_update(panel->table, &(struct table_source){panel->rows, panel->count, id_of});
}

static const char *subject(void *state) {
    const struct settings_panel *panel = state;
    size_t row;
    if (!table_cursor(panel->table, &row)) return NULL;
    const struct setting_row *shown = &panel->rows[row];
    return !shown->is_fact ? shown->key : shown->owner[0] ? shown->owner : NULL;
}

/* What is in force, to be had again. */
static void copy_command(void *state, const struct view *view, struct buf *ret) {
    (void)state;
    put_command(ret, view, &view->staging->now);
}

static int rows(const struct view *view) {
    int count = 0;
    for (int i = 0; i < SETTING_ID_COUNT; i++) {
        const struct setting *setting = setting_get((enum setting_id)i);
        count += setting->effect == SETTING_EFFECT_LIVE && !strchr(setting->key, '*');
    }
    if (view->group && view->group->evidence) count += (int)view->group->evidence->count;
    if (!view->unit) count += (int)active_rows(view);
    for (size_t i = 0; i < view->staging->now.count; i++)
        count += setting_find(view->staging->now.pairs[i].key) == SETTING_OPTIONS;
    size_t units = view->unit ? 0 : settable_units(view);
    return units < 2 ? count : count + (int)(units < UNITS_WANTED ? units : UNITS_WANTED);
}

const struct panel_class panel_settings = {
    .name = "settings",
    .title = "Settings",
    .help = "what can be turned: in force now, what ran, what is staged",
    .place = PLACE_SETTINGS,
    .scope = KEY_SCOPE_SETTINGS,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = panel_draw_table,
    .table = panel_own_table,
    .subject = subject,
    .copy = copy_command,
    .rows = rows,
};
