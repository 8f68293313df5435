/* What each action of the keymap does.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/app_inside.h"
#include "tui/dump.h"
#include "tui/format.h"
#include "engine/base/banned.h"

enum { FILES_MAX = 1000 };

typedef unsigned handler(struct app *app, int argument);

/* ---- what is seen ---- */

static unsigned do_view(struct app *app, int argument) {
    if (argument == VIEW_PRESETS && !app->presets) app_read_presets(app);
    app_show(app, argument);
    return 0;
}

static unsigned do_log(struct app *app, int argument) {
    (void)argument;
    app_show(app, app->open_view == VIEW_LOG ? VIEW_OVERVIEW : VIEW_LOG);
    return 0;
}

static unsigned do_help(struct app *app, int argument) {
    (void)argument;
    app->view.help_scopes = app->view.scopes | 1u << KEY_SCOPE_DEEPER;
    app->view_before_help = app->open_view;
    app_show(app, VIEW_HELP);
    return 0;
}

static unsigned do_zoom(struct app *app, int argument) {
    (void)argument;
    if (app->open_view == VIEW_OVERVIEW)
        app->wish.zoom = app->wish.zoom == PLACE_COUNT ? app->wish.focus : PLACE_COUNT;
    return 0;
}

static unsigned do_freeze(struct app *app, int argument) {
    (void)argument;
    if (app->view.is_tape) {
        bool is_paused = app->view.state == VIEW_PAUSED || app->view.state == VIEW_ENDED;
        feed_play(app->feed, is_paused);
    } else
        app->is_frozen = !app->is_frozen;
    return 0;
}

static unsigned do_next_problem(struct app *app, int argument) {
    bool was_there = app->open_view == VIEW_OVERVIEW && app->wish.focus == PLACE_FINDINGS;
    (void)argument;
    app_show(app, VIEW_OVERVIEW);
    app->wish.focus = PLACE_FINDINGS;
    table_move(app_focus_table(app), was_there ? TABLE_DOWN : TABLE_HOME);
    return 0;
}

static unsigned next_panel(struct app *app, int direction) {
    if (app->open_view != VIEW_OVERVIEW) {
        app_show(app, VIEW_OVERVIEW);
        return 0;
    }
    app->wish.focus = layout_next(&app->wish, direction);
    if (app->wish.zoom != PLACE_COUNT) app->wish.zoom = app->wish.focus;
    return 0;
}

static unsigned do_next_panel(struct app *app, int argument) {
    (void)argument;
    return next_panel(app, 1);
}

static unsigned do_previous_panel(struct app *app, int argument) {
    (void)argument;
    return next_panel(app, -1);
}

static unsigned do_theme(struct app *app, int argument) {
    (void)app, (void)argument;
    return APP_EFFECT_THEME;
}

static unsigned do_redraw(struct app *app, int argument) {
    (void)app, (void)argument;
    return APP_EFFECT_REPAINT;
}

/* ---- moving ---- */

static unsigned move(struct app *app, enum table_move where) {
    if (app->question) {
        if (where == TABLE_UP || where == TABLE_DOWN) app_question_move(app, where == TABLE_UP ? -1 : 1);
        return 0;
    }
    const struct panel_class *class = app_focus_class(app);
    struct table *table = app_focus_table(app);
    bool is_chart = app->open_view == VIEW_OVERVIEW && app->wish.focus == PLACE_CHART;
    if (is_chart) table = app_table_at(app, PLACE_RANKS); /* whose steps are charted */
    if (table)
        table_move(table, where);
    else if (class && class->move)
        class->move(app->states[app_focus(app)], where);
    return 0;
}

#define MOVE(name, where)                                                                          \
    static unsigned do_##name(struct app *app, int argument) {                                     \
        (void)argument;                                                                            \
        return move(app, where);                                                                   \
    }
MOVE(up, TABLE_UP)
MOVE(down, TABLE_DOWN)
MOVE(page_up, TABLE_PAGE_UP)
MOVE(page_down, TABLE_PAGE_DOWN)
MOVE(home, TABLE_HOME)
MOVE(end, TABLE_END)

static unsigned do_open(struct app *app, int argument) {
    (void)argument;
    if (app_open_unit(app)) return 0;
    if (app->open_view == VIEW_PRESETS)
        app_stage_preset(app);
    else if (app->open_view != VIEW_OVERVIEW)
        return 0;
    else if (app->wish.focus == PLACE_SETTINGS)
        return app_turn_row(app, 1);
    else if (app->wish.focus == PLACE_RANKS)
        app_show(app, VIEW_RANKS);
    else if (app->wish.focus == PLACE_FINDINGS)
        app_show(app, VIEW_FINDINGS);
    else
        return do_zoom(app, 0);
    return 0;
}

static unsigned do_back(struct app *app, int argument) {
    struct table *table = app_focus_table(app);
    (void)argument;
    if (app->open_view == VIEW_HELP) {
        app->help_filter[0] = 0;
        app_show(app, app->view_before_help);
    } else if (app->wish.zoom != PLACE_COUNT)
        app->wish.zoom = PLACE_COUNT;
    else if (table && table_filter(table)[0])
        table_set_filter(table, "", NULL);
    else if (app->open_view == VIEW_OVERVIEW)
        app->unit[0] = 0;
    else
        app_show(app, VIEW_OVERVIEW);
    return 0;
}

/* ---- tables ---- */

static unsigned do_filter(struct app *app, int argument) {
    struct table *table = app_focus_table(app);
    (void)argument;
    if (app->open_view == VIEW_HELP)
        app_ask(app, PURPOSE_HELP, "search:", app->help_filter);
    else if (table) {
        snprintf(app->filter_before, sizeof app->filter_before, "%s", table_filter(table));
        app_ask(app, PURPOSE_FILTER, "filter:", table_filter(table));
    } else if (app_focus_class(app) && app_focus_class(app)->find)
        app_ask(app, PURPOSE_FIND, "find:", "");
    else
        app_tell(app, STYLE_PLAIN, "there is no filter for this panel");
    return 0;
}

static unsigned find(struct app *app, int direction) {
    const struct panel_class *class = app_focus_class(app);
    if (!class || !class->find || !app->word[0]) return 0;
    if (!class->find(app->states[app_focus(app)], app->word, direction))
        app_tell(app, STYLE_PLAIN, "'%s' is not %s", app->word, direction < 0 ? "above" : "below");
    return 0;
}

static unsigned accept_find(struct app *app, const char *text) {
    snprintf(app->word, sizeof app->word, "%s", text);
    return find(app, -1);
}

/* As in a log one looks upwards first: what is new is below. */
static unsigned do_find_next(struct app *app, int argument) {
    (void)argument;
    return find(app, -1);
}

static unsigned do_find_previous(struct app *app, int argument) {
    (void)argument;
    return find(app, 1);
}

#define TABLE_DO(name, call)                                                                       \
    static unsigned do_##name(struct app *app, int argument) {                                     \
        struct table *table = app_focus_table(app);                                                \
        (void)argument;                                                                            \
        if (table) call;                                                                           \
        return 0;                                                                                  \
    }
TABLE_DO(sort_next, table_sort_next(table, 1))
TABLE_DO(sort_previous, table_sort_next(table, -1))
TABLE_DO(invert, table_invert(table))
TABLE_DO(tag, table_tag(table))
TABLE_DO(untag, table_untag(table))
TABLE_DO(follow, table_set_follow(table, !is_table_following(table)))

static unsigned do_write(struct app *app, int argument) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(cleanup_close) int fd = -1;
    char path[64];
    (void)argument;
    dump_text(&text, app->drawn);
    for (int i = 1; i < FILES_MAX && fd < 0; i++) {
        snprintf(path, sizeof path, "inductop-%d.txt", i);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0 || write(fd, text.data, text.size) != (ssize_t)text.size)
        app_tell(app, STYLE_BAD, "could not write '%s': %s", path, strerror(errno));
    else
        app_tell(app, STYLE_GOOD, "written to %s", path);
    return ACTION_EFFECT_SAVE;
}

static unsigned not_here(struct app *app, int argument) {
    (void)argument;
    app_tell(app, STYLE_PLAIN, "this does nothing here");
    return 0;
}

/* ---- tapes ---- */

static unsigned do_step_back(struct app *app, int argument) {
    (void)argument;
    feed_step(app->feed, -1);
    return 0;
}

static unsigned do_step_forward(struct app *app, int argument) {
    (void)argument;
    feed_step(app->feed, 1);
    return 0;
}

static unsigned do_faster(struct app *app, int argument) {
    (void)argument;
    feed_set_speed(app->feed, app->view.speed * 2);
    app_tell(app, STYLE_NOTE, "speed %sx", format_ratio(feed_facts(app->feed).speed).text);
    return 0;
}

static unsigned do_slower(struct app *app, int argument) {
    (void)argument;
    feed_set_speed(app->feed, app->view.speed / 2);
    app_tell(app, STYLE_NOTE, "speed %sx", format_ratio(feed_facts(app->feed).speed).text);
    return 0;
}

static unsigned do_seek(struct app *app, int argument) {
    (void)argument;
    app_ask(app, PURPOSE_SEEK, "go to a step (412) or a time (12.5s, 2m):", "");
    return 0;
}

static unsigned accept_seek(struct app *app, const char *text) {
    double value;
    bool has_unit;
    if (!format_read(text, &value, &has_unit) || value < 0)
        app_tell(app, STYLE_BAD, "'%s' is no step and no time", text);
    else if (has_unit)
        feed_seek(app->feed, value / 1e9);
    else
        feed_seek_step(app->feed, (uint64_t)value);
    return 0;
}

/* ---- the table ---- */

static handler *const handlers[ACTION_COUNT] = {
    [ACTION_TOGGLE] = app_do_toggle,
    [ACTION_STAGE_NEXT] = app_do_stage_next,
    [ACTION_STAGE_PREVIOUS] = app_do_stage_previous,
    [ACTION_EDIT] = app_do_edit,
    [ACTION_APPLY] = app_do_apply,
    [ACTION_UNSTAGE] = app_do_unstage,
    [ACTION_UNDO] = app_do_undo,
    [ACTION_BASELINE] = app_do_baseline,
    [ACTION_COMPARE] = app_do_compare,
    [ACTION_LET_GO] = app_do_forget,
    [ACTION_PRESETS] = app_do_presets,
    [ACTION_SAVE_PRESET] = app_do_save_preset,
    [ACTION_LOG] = do_log,
    [ACTION_VIEW] = do_view,
    [ACTION_ZOOM] = do_zoom,
    [ACTION_FREEZE] = do_freeze,
    [ACTION_NEXT_PROBLEM] = do_next_problem,
    [ACTION_NEXT_PANEL] = do_next_panel,
    [ACTION_PREVIOUS_PANEL] = do_previous_panel,
    [ACTION_THEME] = do_theme,
    [ACTION_REDRAW] = do_redraw,
    [ACTION_UP] = do_up,
    [ACTION_DOWN] = do_down,
    [ACTION_PAGE_UP] = do_page_up,
    [ACTION_PAGE_DOWN] = do_page_down,
    [ACTION_HOME] = do_home,
    [ACTION_END] = do_end,
    [ACTION_OPEN] = do_open,
    [ACTION_BACK] = do_back,
    [ACTION_FILTER] = do_filter,
    [ACTION_FIND_NEXT] = do_find_next,
    [ACTION_FIND_PREVIOUS] = do_find_previous,
    [ACTION_SORT_NEXT] = do_sort_next,
    [ACTION_SORT_PREVIOUS] = do_sort_previous,
    [ACTION_INVERT] = do_invert,
    [ACTION_TAG] = do_tag,
    [ACTION_UNTAG] = do_untag,
    [ACTION_FOLLOW] = do_follow,
    [ACTION_COPY] = app_do_copy,
    [ACTION_COLUMNS] = app_do_columns,
    [ACTION_WRITE] = do_write,
    [ACTION_INPUT] = app_do_input,
    [ACTION_QUIT] = app_do_leave,
    [ACTION_INTERRUPT] = app_do_interrupt,
    [ACTION_INPUT_END] = app_do_input_end,
    [ACTION_ACCEPT] = app_do_accept,
    [ACTION_CANCEL] = app_do_cancel,
    [ACTION_NEXT_CHOICE] = app_do_next_choice,
    [ACTION_PREVIOUS_CHOICE] = app_do_previous_choice,
    [ACTION_SUSPEND] = app_do_suspend,
    [ACTION_HELP] = do_help,
    [ACTION_STEP_BACK] = do_step_back,
    [ACTION_STEP_FORWARD] = do_step_forward,
    [ACTION_SEEK] = do_seek,
    [ACTION_FASTER] = do_faster,
    [ACTION_SLOWER] = do_slower,
};

unsigned app_act(struct app *app, enum action_id action, int argument) {
    handler *run = handlers[action];
    return run ? run(app, argument) : not_here(app, argument);
}

unsigned app_accept(struct app *app, enum purpose purpose, const char *text) {
    switch (purpose) {
    case PURPOSE_EDIT: return app_accept_edit(app, text);
    case PURPOSE_SEEK: return accept_seek(app, text);
    case PURPOSE_FIND: return accept_find(app, text);
    case PURPOSE_COLUMNS: return app_accept_columns(app, text);
    case PURPOSE_SAVE: return app_accept_save(app, text);
    default: return 0;
    }
}
