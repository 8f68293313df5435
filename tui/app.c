/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/app.h"

#include <stdarg.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/app_inside.h"
#include "engine/base/banned.h"

static const struct panel_class *class_of(int panel) {
    size_t count;
    return panel_classes(&count)[panel];
}

/* ---- which panel has the keys ---- */

int app_focus(const struct app *app) {
    if (app->open_view != VIEW_OVERVIEW) return panel_of_view(app->open_view);
    return app->wish.focus < PLACE_COUNT ? panel_at(app->wish.focus) : -1;
}

const struct panel_class *app_focus_class(const struct app *app) {
    int panel = app_focus(app);
    return panel < 0 ? NULL : class_of(panel);
}

struct table *app_focus_table(const struct app *app) {
    int panel = app_focus(app);
    if (panel < 0 || !class_of(panel)->table) return NULL;
    return class_of(panel)->table(app->states[panel]);
}

struct table *app_table_at(const struct app *app, enum place place) {
    int panel = panel_at(place);
    return panel < 0 || !class_of(panel)->table ? NULL : class_of(panel)->table(app->states[panel]);
}

void app_show(struct app *app, int view) {
    if (view != VIEW_OVERVIEW && panel_of_view(view) < 0) return;
    app->open_view = view;
    app->wish.zoom = PLACE_COUNT;
    app_refresh(app);
}

/* ---- what the panels see ---- */

/* The rank under the cursor of the table of ranks, else the first of the largest group that runs.
 */
static const struct snapshot_group *main_group(const struct snapshot *snapshot) {
    const struct snapshot_group *best = NULL;
    for (size_t i = 0; i < snapshot->group_count; i++) {
        const struct snapshot_group *group = snapshot->groups[i];
        if (group->rank_count == 0) continue;
        if (!best || group->running > best->running ||
            (group->running == best->running && group->rank_count >= best->rank_count))
            best = group;
    }
    return best;
}

static const struct snapshot_rank *cursor_rank(const struct app *app) {
    uint64_t id = table_cursor_id(app_table_at(app, PLACE_RANKS));
    for (size_t i = 0; i < app->snapshot->rank_count; i++)
        if (rank_id(app->snapshot, app->snapshot->ranks[i]) == id) return app->snapshot->ranks[i];
    return NULL;
}

static void choose_group(struct app *app) {
    const struct snapshot *snapshot = app->snapshot;
    struct view *view = &app->view;
    view->group = main_group(snapshot);
    view->rank = cursor_rank(app);
    bool is_chosen = app->wish.focus == PLACE_RANKS || app->open_view == VIEW_RANKS;
    if (view->rank && is_chosen) view->group = snapshot->groups[view->rank->group];
    bool is_inside =
        view->rank && view->group && snapshot->groups[view->rank->group] == view->group;
    if (!is_inside)
        view->rank =
            view->group && view->group->rank_count ? snapshot->ranks[view->group->ranks[0]] : NULL;
    view->device = view->rank && view->rank->who ? view->rank->who->device : NULL;
}

static enum view_state state_of(enum source_state state) {
    switch (state) {
    case SOURCE_CONNECTING: return VIEW_CONNECTING;
    case SOURCE_CATCHING_UP: return VIEW_CATCHING_UP;
    case SOURCE_LIVE: return VIEW_LIVE;
    case SOURCE_PAUSED: return VIEW_PAUSED;
    case SOURCE_LOST: return VIEW_LOST;
    default: return VIEW_ENDED;
    }
}

static void put_facts(struct app *app) {
    struct feed_facts facts = feed_facts(app->feed);
    struct view *view = &app->view;
    view->state = state_of(facts.state);
    view->state_reason = facts.reason;
    view->is_tape = facts.is_tape;
    view->is_readonly = facts.is_readonly;
    view->is_in_charge = facts.is_in_charge;
    view->speed = facts.speed;
    view->length = facts.length;
    view->progress = facts.progress;
    view->screens = facts.screens;
    view->missed = facts.missed_events + facts.missed_steps;
    view->bad = facts.bad;
    view->is_frozen = app->is_frozen;
}

static bool is_deeper(const struct app *app) {
    const struct table *table = app_focus_table(app);
    bool has_filter = table && table_filter(table)[0];
    return app->open_view != VIEW_OVERVIEW || app->wish.zoom != PLACE_COUNT || has_filter ||
           app->unit[0];
}

static unsigned scopes_of(const struct app *app) {
    if (app->question) return keymap_scopes(KEY_SCOPE_DIALOG);
    if (app->is_input) return keymap_scopes(KEY_SCOPE_JOB);
    if (app->purpose != PURPOSE_NONE) return keymap_scopes(KEY_SCOPE_FIELD);
    const struct panel_class *class = app_focus_class(app);
    enum key_scope scope = class ? class->scope : KEY_SCOPE_ALL;
    unsigned scopes = keymap_scopes(scope);
    if (!(scopes & 1u << KEY_SCOPE_ALL)) return scopes;
    if (app->view.is_tape) scopes |= 1u << KEY_SCOPE_REPLAY;
    if (is_deeper(app)) scopes |= 1u << KEY_SCOPE_DEEPER;
    return scopes;
}

void app_refresh(struct app *app) {
    struct view *view = &app->view;
    size_t count;
    const struct panel_class *const *classes = panel_classes(&count);
    view->snapshot = app->snapshot;
    put_facts(app);
    choose_group(app);
    staging_set_now(&app->staging, view->group ? view->group->settings : NULL);
    view->unit = app->unit[0] ? app->unit : NULL;
    view->message = app->message;
    view->presets = app->presets;
    view->help_filter = app->help_filter;
    view->is_open = app->open_view != VIEW_OVERVIEW;
    view->is_zoomed = app->wish.zoom != PLACE_COUNT;
    view->title = view->is_open ? app_focus_class(app)->title : NULL;
    view->field = app->purpose == PURPOSE_NONE ? NULL : &app->field;
    view->has_terminal = app->terminal != NULL;
    view->is_input = app->is_input;
    view->unsaved = app->terminal ? job_terminal_unsaved(app->terminal) : 0;
    view->question = app->question;
    view->answer = app->answer;
    view->scopes = scopes_of(app);
    for (size_t i = 0; i < count; i++)
        if (classes[i]->update) classes[i]->update(app->states[i], view);
}

static void take(struct app *app) {
    const struct snapshot *snapshot = feed_snapshot(app->feed), *before = app->snapshot;
    app->snapshot = snapshot;
    app_refresh(app);
    snapshot_unref(before);
    app_follow_request(app);
}

bool app_turn(struct app *app, uint64_t now_ns) {
    bool is_more = feed_turn(app->feed, now_ns);
    if (app->is_frozen)
        put_facts(app);
    else
        take(app);
    return is_more;
}

bool is_app_settled(const struct app *app) {
    return app->view.state != VIEW_CONNECTING && app->view.state != VIEW_CATCHING_UP;
}

void app_tell(struct app *app, unsigned style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(app->message, sizeof app->message, format, args);
    va_end(args);
    app->view.message_style = style;
}

/* ---- drawing ---- */

static void wish(struct app *app, const struct canvas *canvas) {
    struct layout_wish *ours = &app->wish;
    const struct panel_class *settings = class_of(panel_at(PLACE_SETTINGS)),
                             *speedup = class_of(panel_at(PLACE_SPEEDUP)),
                             *focus = app_focus_class(app);
    ours->width = canvas_width(canvas);
    ours->height = canvas_height(canvas);
    ours->rank_count = (int)app->snapshot->rank_count;
    ours->setting_count = settings->rows(&app->view);
    ours->speedup_count = speedup->rows(&app->view);
    ours->hidden = app->view.is_tape && app->snapshot->output_total == 0 ? 1u << PLACE_OUTPUT : 0;
    ours->has_view = app->open_view != VIEW_OVERVIEW;
    ours->has_detail = ours->has_view && focus && focus->detail;
    int panel = panel_of_view(app->open_view);
    struct table *table =
        ours->has_detail && focus->table ? focus->table(app->states[panel]) : NULL;
    ours->view_rows = table ? (int)table_count(table) : INT_MAX / 2;
    ours->has_staged =
        app->staging.change.count > 0 || app->message[0] || app->purpose != PURPOSE_NONE;
}

/* What a filter hides is never hidden in silence. */
static void draw_filter(const struct panel_class *class, void *state, struct area area) {
    struct table *table = class->table ? class->table(state) : NULL;
    char text[80];
    if (!table || !table_filter(table)[0]) return;
    snprintf(text, sizeof text, " only: %.60s ", table_filter(table));
    int width = utf8_columns(text);
    if (width < area.at.width) area_text(area, area.at.width - width, 0, STYLE_MATCH, text);
}

static void draw_place(struct app *app, enum place place, struct area area) {
    int panel = place == PLACE_VIEW || place == PLACE_DETAIL ? panel_of_view(app->open_view)
                                                             : panel_at(place);
    if (panel < 0) return;
    const struct panel_class *class = class_of(panel);
    bool has_focus = panel == app_focus(app) && app->purpose == PURPOSE_NONE;
    if (place == PLACE_DETAIL)
        class->detail(app->states[panel], &app->view, area);
    else {
        class->draw(app->states[panel], &app->view, area, has_focus);
        draw_filter(class, app->states[panel], area);
    }
}

/* A box in the middle: a question and its answers, the one that Enter takes marked. */
static void draw_question(struct area all, const char *const *question, int answer) {
    int count = 0, width = utf8_columns(question[0]);
    for (; question[1 + count]; count++)
        if (utf8_columns(question[1 + count]) > width) width = utf8_columns(question[1 + count]);
    struct rect at = layout_dialog(all.at.width, all.at.height, width + 6, count + 2);
    struct area inside = area_box(area_part(all, at), STYLE_BOX, question[0]);
    for (int i = 0; i < count; i++) {
        struct area row = area_part(inside, (struct rect){1, i, inside.at.width - 2, 1});
        area_fit(row, ALIGN_LEFT, i == answer ? STYLE_BUTTON_FOCUS : STYLE_BOX, question[1 + i]);
    }
}

/* The job's terminal is as large as the output can be, whatever is shown just now. */
static void fit_terminal(struct app *app, int width, int height) {
    enum { HEADER_TITLE_FOOTER = 3 };
    int rows = height > HEADER_TITLE_FOOTER ? height - HEADER_TITLE_FOOTER : 1;
    int columns = width > 1 ? width - 1 : 1, panel = panel_find("output");
    bool is_same = width == app->terminal_width && height == app->terminal_height;
    if (!app->terminal || is_same) return;
    app->terminal_width = width, app->terminal_height = height;
    class_of(panel)->fit(app->states[panel], columns, rows);
    job_terminal_resize(app->terminal, rows, columns);
}

void app_draw(struct app *app, struct canvas *canvas) {
    fit_terminal(app, canvas_width(canvas), canvas_height(canvas));
    canvas_clear(canvas);
    app_refresh(app);
    wish(app, canvas);
    app->layout = layout_make(&app->wish);
    app->view.ranks_as = app->layout.ranks_as;
    struct area all = canvas_area(canvas);
    for (int i = 0; i < PLACE_COUNT; i++)
        if (is_shown(&app->layout, (enum place)i))
            draw_place(app, (enum place)i, area_part(all, app->layout.places[i]));
    for (int i = 0; i < app->layout.divider_count; i++)
        area_vertical(area_part(all, app->layout.dividers[i]), STYLE_BORDER);
    if (app->view.question) draw_question(all, app->view.question, app->answer);
    canvas_copy(app->drawn, canvas);
}

/* ---- the job's terminal ---- */

void app_set_terminal(struct app *app, struct job_terminal *terminal) {
    app->terminal = terminal;
    app->terminal_width = app->terminal_height = 0;
    app_refresh(app);
}

void app_output(struct app *app, const char *bytes, size_t size) {
    int panel = panel_find("output");
    class_of(panel)->write(app->states[panel], bytes, size);
}

bool app_wants_bytes(const struct app *app) {
    return app->is_input && app->terminal && !app->question;
}

size_t app_type(struct app *app, const char *bytes, size_t size) {
    const char *end = memchr(bytes, 0x1d, size); /* ^] */
    size_t count = end ? (size_t)(end - bytes) : size;
    if (count && !job_terminal_type(app->terminal, bytes, count))
        app_tell(app, STYLE_WARN, "the job did not get these keys: its terminal is not there");
    return count;
}

/* ---- coming and going ---- */

struct app *app_new(const struct app_options *options) {
    struct app *app = mem_new(sizeof *app);
    size_t count;
    const struct panel_class *const *classes = panel_classes(&count);
    app->feed = options->feed;
    app->is_front = options->is_front;
    app->has_taste = options->has_taste;
    app->support = options->support ? mem_strdup(options->support) : NULL;
    app->open_view = VIEW_OVERVIEW;
    app->wish = (struct layout_wish){.focus = PLACE_SETTINGS, .zoom = PLACE_COUNT};
    app->view.ink = options->ink;
    app->view.staging = &app->staging;
    app->view.state_reason = "";
    app->drawn = canvas_new(1, 1);
    staging_init(&app->staging);
    settings_init(&app->request.change);
    for (size_t i = 0; i < count; i++)
        if (classes[i]->open) app->states[i] = classes[i]->open();
    app_recall_columns(app);
    app->snapshot = feed_snapshot(app->feed);
    app_refresh(app);
    return app;
}

struct app *app_free(struct app *app) {
    if (!app) return NULL;
    size_t count;
    const struct panel_class *const *classes = panel_classes(&count);
    for (size_t i = 0; i < count; i++)
        if (classes[i]->close) classes[i]->close(app->states[i]);
    snapshot_unref(app->snapshot);
    shelf_free(app->presets);
    staging_done(&app->staging);
    settings_done(&app->request.change);
    app_forget_done(app);
    canvas_free(app->drawn);
    buf_done(&app->copied);
    free(app->support);
    free(app);
    return NULL;
}
