/* Keys, mouse and pastes on their way to actions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "tui/app_inside.h"
#include "engine/base/banned.h"

enum { WHEEL_ROWS = 3 };

/* ---- lines that take text ---- */

void app_ask(struct app *app, enum purpose purpose, const char *caption, const char *text) {
    app->purpose = purpose;
    app->view.field_caption = caption;
    field_set(&app->field, text);
}

/* While one types: a filter shows at once what it leaves. */
static void field_changed(struct app *app) {
    struct err err;
    struct table *table = app_focus_table(app);
    app->message[0] = 0;
    if (app->purpose == PURPOSE_HELP)
        snprintf(app->help_filter, sizeof app->help_filter, "%s", app->field.text);
    else if (app->purpose == PURPOSE_FILTER && table &&
             table_set_filter(table, app->field.text, &err))
        app_tell(app, STYLE_WARN, "%s", err.message);
}

static void cancel(struct app *app) {
    struct table *table = app_focus_table(app);
    if (app->purpose == PURPOSE_FILTER && table) table_set_filter(table, app->filter_before, NULL);
    if (app->purpose == PURPOSE_HELP) app->help_filter[0] = 0;
    app->purpose = PURPOSE_NONE;
}

static unsigned take_text(struct app *app) {
    enum purpose purpose = app->purpose;
    char text[FIELD_SIZE];
    snprintf(text, sizeof text, "%s", app->field.text);
    app->purpose = PURPOSE_NONE;
    app->message[0] = 0;
    return app_accept(app, purpose, text);
}

/* ---- completion ---- */

struct completion {
    const char *word;
    size_t size, count, common; /* matches, and what they have in common */
    char first[SETTING_KEY_MAX];
    struct buf all;
};

static void offer(struct completion *completion, const char *text) {
    if (strncmp(text, completion->word, completion->size)) return;
    if (completion->count++ == 0) {
        snprintf(completion->first, sizeof completion->first, "%s", text);
        completion->common = strlen(completion->first);
    } else
        while (strncmp(text, completion->first, completion->common)) completion->common--;
    buf_printf(&completion->all, " %s", text);
}

static void offer_keys(struct completion *completion) {
    char key[SETTING_KEY_MAX];
    size_t count;
    for (int i = 0; i < SETTING_ID_COUNT; i++) {
        const struct setting *setting = setting_get((enum setting_id)i);
        if (setting->effect != SETTING_EFFECT_LIVE || strchr(setting->key, '*')) continue;
        snprintf(key, sizeof key, "%s=", setting->key);
        offer(completion, key);
    }
    const char *const *names = setting_option_names(&count);
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "options.%s=", names[i]);
        offer(completion, key);
    }
}

static void offer_values(struct completion *completion, const char *key) {
    size_t count = 0;
    int id = setting_find(key);
    const struct setting_value *values =
        id < 0 ? NULL : setting_values((enum setting_id)id, &count);
    for (size_t i = 0; i < count; i++) offer(completion, values[i].value);
    offer(completion, SETTING_AS_WRITTEN);
}

static void offer_columns(struct completion *completion, const struct table *table) {
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    char *rest = NULL;
    table_columns(table, false, &names);
    for (char *name = strtok_r(names.data, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        offer(completion, name);
}

static void finish_word(struct app *app, struct completion *completion, size_t at) {
    char text[SETTING_KEY_MAX];
    app->message[0] = 0;
    if (completion->count > 0) {
        snprintf(text, sizeof text, "%.*s", (int)completion->common, completion->first);
        field_replace(&app->field, at, text);
    }
    if (completion->count != 1)
        app_tell(app, STYLE_PLAIN, "%s",
                 completion->count ? buf_text(&completion->all) + 1 : "nothing begins so");
    buf_done(&completion->all);
}

static void complete(struct app *app) {
    char word[FIELD_SIZE];
    size_t at, size = field_word(&app->field, ", ", &at);
    snprintf(word, sizeof word, "%.*s", (int)size, app->field.text + at);
    if (app->purpose == PURPOSE_COLUMNS && app_focus_table(app)) {
        struct completion completion = {.word = word, .size = size};
        offer_columns(&completion, app_focus_table(app));
        finish_word(app, &completion, at);
    }
    if (app->purpose != PURPOSE_EDIT) return;
    char *equals = strchr(word, '=');
    struct completion completion = {.word = equals ? equals + 1 : word};
    const char *slash = equals ? NULL : strrchr(word, '/');
    if (slash) { /* the unit stays */
        completion.word = slash + 1;
        at += (size_t)(slash + 1 - word);
    }
    completion.size = strlen(completion.word);
    if (equals) {
        *equals = 0;
        offer_values(&completion, word);
        at += (size_t)(equals + 1 - word);
    } else
        offer_keys(&completion);
    finish_word(app, &completion, at);
}

static unsigned field_key(struct app *app, const struct key *key) {
    const struct binding *binding = keymap_find(key, keymap_scopes(KEY_SCOPE_FIELD));
    if (!binding) {
        if (field_take(&app->field, key)) field_changed(app);
        return APP_EFFECT_DRAW;
    }
    switch (binding->action) {
    case ACTION_ACCEPT: return take_text(app) | APP_EFFECT_DRAW;
    case ACTION_CANCEL: cancel(app); break;
    case ACTION_COMPLETE: complete(app); break;
    case ACTION_INTERRUPT:
    case ACTION_SUSPEND: return app_act(app, binding->action, binding->argument);
    default:
        if (field_edit(&app->field, binding->action)) field_changed(app);
    }
    return APP_EFFECT_DRAW;
}

/* ---- mouse ---- */

static unsigned click_footer(struct app *app, int x) {
    struct footer_entry entries[FOOTER_ENTRIES_MAX];
    size_t count = footer_make(entries, app->view.scopes, app->wish.width - 2);
    for (size_t i = 0; i < count; i++)
        if (x > entries[i].x && x <= entries[i].x + entries[i].width)
            return app_act(app, entries[i].binding->action, entries[i].binding->argument);
    return 0;
}

static void click_place(struct app *app, enum place place, const struct key *key) {
    struct rect at = app->layout.places[place];
    int focus = place == PLACE_VIEW ? panel_of_view(app->open_view) : panel_at(place);
    if (place == PLACE_DETAIL || focus < 0 || place == PLACE_STAGED || place == PLACE_STRIP) return;
    if (place != PLACE_VIEW) app->wish.focus = place;
    struct table *table = app_focus_table(app);
    if (!table) return;
    if (key->code == KEY_MOUSE_PRESS) table_click(table, key->x - at.x, key->y - at.y);
    for (int i = 0; i < WHEEL_ROWS && key->code != KEY_MOUSE_PRESS; i++)
        table_move(table, key->code == KEY_MOUSE_WHEEL_UP ? TABLE_UP : TABLE_DOWN);
}

static unsigned mouse(struct app *app, const struct key *key) {
    bool is_wheel = key->code == KEY_MOUSE_WHEEL_UP || key->code == KEY_MOUSE_WHEEL_DOWN;
    if (key->code != KEY_MOUSE_PRESS && !is_wheel) return 0;
    enum place place = layout_at(&app->layout, key->x, key->y);
    if (place == PLACE_FOOTER && !is_wheel)
        return click_footer(app, key->x - app->layout.places[place].x) | APP_EFFECT_DRAW;
    if (place < PLACE_COUNT && place != PLACE_HEADER && place != PLACE_FOOTER &&
        is_shown(&app->layout, place))
        click_place(app, place, key);
    return APP_EFFECT_DRAW;
}

/* ---- all keys ---- */

static unsigned dispatch(struct app *app, const struct key *key) {
    if (key->kind == KEY_KIND_MOUSE) return mouse(app, key);
    if (app->purpose != PURPOSE_NONE) return field_key(app, key);
    if (key->kind == KEY_KIND_PASTE) return 0;
    app_refresh(app);
    const struct binding *binding = keymap_find(key, app->view.scopes);
    if (!binding) return 0;
    app->message[0] = 0;
    return app_act(app, binding->action, binding->argument) | APP_EFFECT_DRAW;
}

unsigned app_key(struct app *app, const struct key *key) {
    unsigned effects = dispatch(app, key);
    if (effects & ACTION_EFFECT_SEND) app_send(app);
    app_refresh(app);
    return effects;
}

int app_run(struct app *app, const char *text, unsigned *ret_effects, struct err *err) {
    char name[64];
    const char *blank = strchr(text, ' ');
    int argument = 0;
    snprintf(name, sizeof name, "%.*s", blank ? (int)(blank - text) : 60, text);
    int action = action_find(name);
    if (action < 0) return err_set(err, ERR_INVALID, "action '%s' is not known", name);
    if (blank)
        argument = blank[1] >= '0' && blank[1] <= '9' ? (int)strtol(blank + 1, NULL, 10) : blank[1];
    app->message[0] = 0;
    unsigned effects = app_act(app, (enum action_id)action, argument);
    if (effects & ACTION_EFFECT_SEND) app_send(app);
    app_refresh(app);
    *ret_effects = effects;
    return 0;
}
