/* Staging settings, applying them, undoing them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/app_inside.h"
#include "engine/base/banned.h"

enum { UNDO_MAX = 256 };

/* ---- settings ---- */

static unsigned turn(struct app *app, const char *key, int direction) {
    struct err err;
    if (staging_turn(&app->staging, key, direction, app->view.device, &err))
        app_tell(app, STYLE_WARN, "%s", err.message);
    return 0;
}

static const char *subject(const struct app *app) {
    const struct panel_class *class = app_focus_class(app);
    return class && class->subject ? class->subject(app->states[app_focus(app)]) : NULL;
}

unsigned app_turn_row(struct app *app, int direction) {
    const char *key = app->wish.focus == PLACE_SETTINGS ? subject(app) : NULL;
    return key && setting_find(key) >= 0 ? turn(app, key, direction) : 0;
}

unsigned app_do_toggle(struct app *app, int argument) {
    char key[SETTING_KEY_MAX];
    int id = setting_of_toggle((char)argument);
    if (id < 0) return 0;
    snprintf(key, sizeof key, "%s%s%s", app->unit, app->unit[0] ? "/" : "",
             setting_get((enum setting_id)id)->key);
    return turn(app, key, 1);
}

/* A row about a unit as such names it with nothing behind the '/'. */
bool app_open_unit(struct app *app) {
    const char *name = subject(app);
    size_t size = name ? strlen(name) : 0;
    if (size < 2 || name[size - 1] != '/' || size > sizeof app->unit) return false;
    snprintf(app->unit, sizeof app->unit, "%.*s", (int)size - 1, name);
    app->wish.focus = PLACE_SETTINGS;
    app_show(app, VIEW_OVERVIEW);
    table_move(app_focus_table(app), TABLE_HOME);
    return true;
}

unsigned app_do_stage_next(struct app *app, int argument) {
    (void)argument;
    return app_turn_row(app, 1);
}

unsigned app_do_stage_previous(struct app *app, int argument) {
    (void)argument;
    return app_turn_row(app, -1);
}

unsigned app_do_edit(struct app *app, int argument) {
    const char *key =
        app->open_view == VIEW_OVERVIEW && app->wish.focus == PLACE_SETTINGS ? subject(app) : NULL;
    bool has_setting = key && setting_find(key) >= 0;
    CLEANUP(cleanup_free)
    char *text =
        mem_printf("%.*s%s", SETTING_KEY_MAX, key ? key : "options.", has_setting ? "=" : "");
    (void)argument;
    app_ask(app, PURPOSE_EDIT, "KEY=VALUE[,...]:", text);
    return 0;
}

unsigned app_accept_edit(struct app *app, const char *text) {
    struct settings change = SETTINGS_INIT;
    struct err err;
    int rc = settings_parse_change(text, &change, &err);
    for (size_t i = 0; i < change.count && !rc; i++)
        if (change.pairs[i].value[0])
            rc = staging_put(&app->staging, change.pairs[i].key, change.pairs[i].value, &err);
    settings_done(&change);
    if (rc == 0) return 0;
    app_ask(app, PURPOSE_EDIT, "KEY=VALUE[,...]:", text);
    app_tell(app, STYLE_BAD, "%s%s%s", err.message, err.hint[0] ? ". " : "", err.hint);
    return 0;
}

unsigned app_do_unstage(struct app *app, int argument) {
    (void)argument;
    staging_clear(&app->staging);
    return 0;
}

/* ---- what goes to the engine ---- */

unsigned app_request(struct app *app, enum request_kind kind, const char *what, const struct settings *change) {
    app->request.kind = kind;
    settings_clear(&app->request.change);
    if (change) settings_copy(&app->request.change, change);
    snprintf(app->request.tag, sizeof app->request.tag, "%s-%d-%u", what, (int)getpid(),
             ++app->request_count);
    return ACTION_EFFECT_SEND;
}

void app_send(struct app *app) {
    struct request *ours = &app->request;
    const char *group = app->view.group ? app->view.group->key : NULL;
    struct err err = {.hint = ""};
    int rc = 0;
    if (ours->kind == REQUEST_PROPOSE)
        rc = feed_propose(app->feed, &ours->change, group, ours->tag, &err);
    else if (ours->kind == REQUEST_FORGET)
        rc = feed_forget(app->feed, &ours->change, group, ours->tag, &err);
    else if (ours->kind == REQUEST_COMPARE)
        rc = feed_compare(app->feed, &ours->change, group, ours->tag, &err);
    else if (ours->kind == REQUEST_BASELINE)
        rc = feed_baseline(app->feed, group, ours->tag, &err);
    else
        return;
    ours->kind = REQUEST_NONE;
    ours->is_open = rc == 0;
    ours->problems = app->snapshot->problem_total;
    if (rc) app_tell(app, STYLE_BAD, "%s", err.message);
}

static const struct snapshot_switch *switch_with(const struct app *app, const char *tag) {
    for (size_t i = app->snapshot->switch_count; i-- > 0;) {
        const struct snapshot_switch *change = app->snapshot->switches[i];
        if (change->tag && strstr(change->tag, tag)) return change;
    }
    return NULL;
}

void app_follow_request(struct app *app) {
    struct request *ours = &app->request;
    if (!ours->is_open) return;
    const struct snapshot_switch *change = switch_with(app, ours->tag);
    if (change && change->is_over && !change->is_tried_again) {
        ours->is_open = false;
        if (change->status != SWITCH_APPLIED)
            app_tell(app, STYLE_BAD, "%s: %s%s%s", change->change,
                     switch_status_name(change->status), change->reason ? ": " : "",
                     change->reason ? change->reason : "");
    } else if (!change && app->snapshot->problem_total > ours->problems &&
               app->snapshot->problem_count) {
        const struct snapshot_problem *problem =
            app->snapshot->problems[app->snapshot->problem_count - 1];
        ours->is_open = false;
        app_tell(app, STYLE_BAD, "%s%s%s", problem->text, problem->hint ? ": " : "",
                 problem->hint ? problem->hint : "");
    }
}

unsigned app_do_apply(struct app *app, int argument) {
    (void)argument;
    if (app->staging.change.count == 0)
        app_tell(app, STYLE_PLAIN, "nothing is staged: a key of a setting stages its next value");
    else if (!app->view.group)
        app_tell(app, STYLE_WARN, "no rank is there yet");
    else
        return app_request(app, REQUEST_PROPOSE, "screen", &app->staging.change);
    return 0;
}

/* The settings before each change that holds, oldest first; an undo takes its own away. */
static const struct snapshot_pairs *undo_target(const struct app *app, bool *ret_found) {
    const struct snapshot_pairs *before[UNDO_MAX];
    size_t depth = 0;
    for (size_t i = 0; i < app->snapshot->switch_count; i++) {
        const struct snapshot_switch *change = app->snapshot->switches[i];
        bool is_ours = app->view.group && strcmp(change->group, app->view.group->key) == 0;
        if (!is_ours || change->is_forget || change->status != SWITCH_APPLIED || !strcmp(change->by, "baseline") ||
            !strcmp(change->by, "engine"))
            continue;
        if (change->tag && strstr(change->tag, "undo-"))
            depth -= depth > 0;
        else if (depth < UNDO_MAX)
            before[depth++] = change->from;
    }
    *ret_found = depth > 0;
    return depth ? before[depth - 1] : NULL;
}

/* Asks with what leads from what is in force to `target`; when that is nothing, `none` is said. */
static unsigned request_way(struct app *app, enum request_kind kind, const char *what,
                            const struct settings *target, const char *none) {
    struct staging way;
    unsigned effects = 0;
    staging_init(&way);
    settings_copy(&way.now, &app->staging.now);
    staging_aim(&way, target);
    if (way.change.count)
        effects = app_request(app, kind, what, &way.change);
    else
        app_tell(app, STYLE_PLAIN, "%s", none);
    staging_done(&way);
    return effects;
}

/* The same, to the settings before the last change. */
static unsigned request_back(struct app *app, enum request_kind kind, const char *what,
                             const char *without) {
    bool is_found;
    const struct snapshot_pairs *pairs = undo_target(app, &is_found);
    struct settings target = SETTINGS_INIT;
    if (!is_found) {
        app_tell(app, STYLE_PLAIN, "%s", without);
        return 0;
    }
    settings_put_pairs(&target, pairs);
    unsigned effects =
        request_way(app, kind, what, &target, "the settings before the last change are in force");
    settings_done(&target);
    return effects;
}

unsigned app_do_undo(struct app *app, int argument) {
    (void)argument;
    return request_back(app, REQUEST_PROPOSE, "undo", "nothing to undo: no change was applied");
}

unsigned app_do_baseline(struct app *app, int argument) {
    (void)argument;
    if (app->view.group) return app_request(app, REQUEST_BASELINE, "baseline", NULL);
    app_tell(app, STYLE_WARN, "no rank is there yet");
    return 0;
}

static const struct shelf_item *preset_of_cursor(const struct app *app) {
    const char *name = app->open_view == VIEW_PRESETS ? subject(app) : NULL;
    return name && app->presets ? shelf_find(app->presets, name) : NULL;
}

unsigned app_do_compare(struct app *app, int argument) {
    const struct shelf_item *item = preset_of_cursor(app);
    (void)argument;
    if (!app->view.group)
        app_tell(app, STYLE_WARN, "no rank is there yet");
    else if (item && item->fault)
        app_tell(app, STYLE_BAD, "%s", item->fault);
    else if (item)
        return request_way(app, REQUEST_COMPARE, "compare", &item->preset.settings,
                           "this preset is what is in force");
    else if (app->staging.change.count)
        return app_request(app, REQUEST_COMPARE, "compare", &app->staging.change);
    else
        return request_back(app, REQUEST_COMPARE, "compare",
                            "nothing to compare with: stage a change, or go to a preset");
    return 0;
}

/* ---- presets ---- */

void app_read_presets(struct app *app) {
    struct preset_shelf *before = app->presets;
    app->presets = shelf_new(app->support);
    app_refresh(app);
    shelf_free(before);
}

unsigned app_do_presets(struct app *app, int argument) {
    (void)argument;
    app_read_presets(app);
    app_show(app, app->open_view == VIEW_PRESETS ? VIEW_OVERVIEW : VIEW_PRESETS);
    return 0;
}

void app_stage_preset(struct app *app) {
    const struct shelf_item *item = preset_of_cursor(app);
    if (!item) return;
    if (item->fault) {
        app_tell(app, STYLE_BAD, "%s", item->fault);
        return;
    }
    staging_aim(&app->staging, &item->preset.settings);
    if (app->staging.change.count == 0)
        app_tell(app, STYLE_PLAIN, "preset '%s' is what is in force", item->name);
}

static struct table *preset_table(struct app *app) {
    int panel = panel_of_view(VIEW_PRESETS);
    size_t count;
    return panel_classes(&count)[panel]->table(app->states[panel]);
}

unsigned app_do_save_preset(struct app *app, int argument) {
    (void)argument;
    app_ask(app, PURPOSE_SAVE, "save the settings in force as preset:", "");
    return 0;
}

unsigned app_accept_save(struct app *app, const char *text) {
    struct err err;
    CLEANUP(cleanup_free) char *path = NULL;
    if (shelf_save(&app->view, text, &path, &err)) {
        app_tell(app, STYLE_BAD, "%s", err.message);
        return 0;
    }
    app_read_presets(app);
    table_go(preset_table(app), shelf_row(path));
    app_tell(app, STYLE_GOOD, "saved as %s", path);
    return ACTION_EFFECT_SAVE;
}
