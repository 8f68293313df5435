/* What is done with the row or the columns of a table: copied, chosen.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/app_inside.h"
#include "tui/taste.h"
#include "engine/base/banned.h"

const char *app_copied(const struct app *app) {
    return buf_text(&app->copied);
}

unsigned app_do_copy(struct app *app, int argument) {
    const struct panel_class *class = app_focus_class(app);
    struct table *table = app_focus_table(app);
    (void)argument;
    buf_clear(&app->copied);
    if (class && class->copy)
        class->copy(app->states[app_focus(app)], &app->view, &app->copied);
    else if (table)
        table_row_text(table, &app->copied);
    if (app->copied.size == 0) {
        app_tell(app, STYLE_PLAIN, "there is nothing to copy here");
        return 0;
    }
    app_tell(app, STYLE_NOTE, "to the clipboard: %.300s", buf_text(&app->copied));
    return APP_EFFECT_COPY;
}

unsigned app_do_columns(struct app *app, int argument) {
    CLEANUP(buf_done) struct buf names = BUF_INIT;
    const struct table *table = app_focus_table(app);
    (void)argument;
    if (!table) {
        app_tell(app, STYLE_PLAIN, "there is no table here");
        return 0;
    }
    table_columns(table, true, &names);
    app_ask(app, PURPOSE_COLUMNS, "columns (none: all):", buf_text(&names));
    return 0;
}

static void key_of(char ret[64], const struct panel_class *class) {
    snprintf(ret, 64, "columns.%.40s", class->name);
}

unsigned app_accept_columns(struct app *app, const char *text) {
    struct err err;
    char key[64];
    if (table_set_columns(app_focus_table(app), text, &err)) {
        CLEANUP(buf_done) struct buf names = BUF_INIT;
        table_columns(app_focus_table(app), false, &names);
        app_ask(app, PURPOSE_COLUMNS, "columns (none: all):", text);
        app_tell(app, STYLE_BAD, "%s: there are %s", err.message, buf_text(&names));
        return 0;
    }
    key_of(key, app_focus_class(app));
    if (app->has_taste && taste_put(key, text, &err))
        app_tell(app, STYLE_WARN, "not kept: %s", err.message);
    return ACTION_EFFECT_SAVE;
}

/* Columns that are no more are no reason to say anything. */
void app_recall_columns(struct app *app) {
    size_t count;
    const struct panel_class *const *classes = panel_classes(&count);
    for (size_t i = 0; app->has_taste && i < count; i++) {
        char key[64];
        if (!classes[i]->table) continue;
        key_of(key, classes[i]);
        CLEANUP(cleanup_free) char *names = taste_get(key);
        if (names) table_set_columns(classes[i]->table(app->states[i]), names, NULL);
    }
}
