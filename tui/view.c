/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "tui/pieces.h"
#include "tui/reproduce.h"
#include "tui/table.h"
#include "engine/base/banned.h"

uint32_t view_variant_next(const struct view *view) {
    struct settings result = SETTINGS_INIT;
    staging_result(view->staging, &result);
    uint32_t key = settings_key(&result);
    settings_done(&result);
    return key;
}

struct area view_title(struct area area, bool has_focus, const char *text, const char *right) {
    unsigned style = has_focus ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    struct area row = area_part(area, (struct rect){0, 0, area.at.width, 1});
    area_fill(row, style, " ");
    const struct piece pieces[] = {{text, style, 0, false}, {right, style, 1, true}};
    pieces_draw(pieces, ARRAY_SIZE(pieces), " ", style, area_shrink(row, 1, 0, 1, 0));
    return area_shrink(area, 0, 1, 0, 0);
}

int view_line(struct area area, int y, const char *name, const char *text, unsigned style) {
    enum { NAME_AT = 1, TEXT_AT = 14 };
    if (!text || !text[0]) return y;
    area_text(area, NAME_AT, y, STYLE_DIM, name);
    return y + area_wrap(area_shrink(area, TEXT_AT, y, 1, 0), style, text);
}

int view_linef(struct area area, int y, const char *name, unsigned style, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return view_line(area, y, name, text, style);
}

int view_place(struct area area, int y, const char *name, const char *file, bool has_line,
               int64_t line) {
    if (!file || !has_line) return view_line(area, y, name, file, STYLE_LINK);
    return view_linef(area, y, name, STYLE_LINK, "%.300s:%lld", file, (long long)line);
}

void show_put(struct table_cell *cell, unsigned style, const char *text) {
    bool is_missing = !text || !text[0];
    snprintf(cell->text, sizeof cell->text, "%s", is_missing ? "-" : text);
    cell->style = is_missing || (text[0] == '-' && !text[1]) ? STYLE_MISSING : style;
}

void show_printf(struct table_cell *cell, unsigned style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(cell->text, sizeof cell->text, format, args);
    va_end(args);
    cell->style = style;
}

void put_job(struct buf *ret, const struct view *view) {
    const struct snapshot_job *job = view->snapshot->job;
    buf_printf(ret, " -- %s", job && job->command ? job->command : "COMMAND");
}

void put_command(struct buf *ret, const struct view *view, const struct settings *settings) {
    buf_printf(ret, "inductop%s", settings->count ? " " : "");
    reproduce_options(ret, settings);
    put_job(ret, view);
}

char *pairs_label(const struct snapshot_pairs *pairs) {
    struct settings set = SETTINGS_INIT;
    settings_put_pairs(&set, pairs);
    char *label = settings_label(&set);
    settings_done(&set);
    return label;
}

static bool is_good_owner(const char *name) {
    return name && *name && strlen(name) < UNIT_OWNER_SIZE && !strpbrk(name, "/=,\"\\ ");
}

void unit_owner(const struct snapshot_units *units, int64_t unit, char ret[UNIT_OWNER_SIZE]) {
    const char *name = NULL;
    for (size_t i = 0; units && i < units->count; i++)
        if (units->units[i].unit == unit) name = units->units[i].name;
    bool is_its_own = is_good_owner(name);
    for (size_t i = 0; is_its_own && i < units->count; i++)
        if (units->units[i].unit != unit && units->units[i].name)
            is_its_own = strcmp(units->units[i].name, name) != 0;
    if (is_its_own)
        snprintf(ret, UNIT_OWNER_SIZE, "%s", name);
    else
        snprintf(ret, UNIT_OWNER_SIZE, "%lld", (long long)unit);
}

double active_share(const struct snapshot_active *active) {
    return active->calls > 0 ? (double)active->compiled / (double)active->calls : NAN;
}

void active_text(const struct snapshot_active *active, char ret[ACTIVE_TEXT_SIZE]) {
    double share = active_share(active);
    int size = snprintf(ret, ACTIVE_TEXT_SIZE, "%.20s", active->state ? active->state : "-");
    if (!isnan(share))
        snprintf(ret + size, ACTIVE_TEXT_SIZE - (size_t)size, ", %.0f %% of calls",
                 floor(share * 100));
}

const struct snapshot_active *active_of(const struct snapshot_rank *rank,
                                        const struct snapshot_unit *unit) {
    int64_t first = unit->has_whole ? unit->whole : unit->unit;
    for (size_t i = 0; i < rank->active_count; i++)
        if (rank->actives[i]->unit == first) return rank->actives[i];
    return NULL;
}

bool can_unit_be_set(const struct snapshot_unit *unit) {
    return !unit->origin || strcmp(unit->origin, "inductop") != 0;
}

uint64_t rank_id(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    const char *key = rank->group < snapshot->group_count ? snapshot->groups[rank->group]->key : "";
    return (uint64_t)str_hash(key, strlen(key)) << 32 | (uint32_t)rank->rank;
}
