/* The screen's mind: which panels are seen, what keys do, what is staged. It draws on a canvas and
 * takes keys; it knows no terminal and no loop, so a script drives it as a person does.
 *
 *     app_turn()   a newer picture, unless it is frozen
 *     app_key()    one key; what it causes beyond the app comes back as effects
 *     app_draw()   the picture on a canvas of any size
 *
 * Belongs to who made it; lends the feed. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_APP_H
#define INDUCTOP_TUI_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/feed.h"
#include "engine/job_terminal.h"
#include "tui/canvas.h"
#include "tui/chart.h"
#include "tui/keys.h"

/* Besides those of enum action_effect. */
enum app_effect {
    APP_EFFECT_DRAW = 1 << 8,    /* the picture changed */
    APP_EFFECT_REPAINT = 1 << 9, /* the whole terminal is painted again */
    APP_EFFECT_THEME = 1 << 10,  /* the next theme */
    APP_EFFECT_COPY = 1 << 11,   /* app_copied() is for the clipboard */
};

struct app;

struct app_options {
    struct feed *feed;   /* lent as long as the app lives */
    bool is_front;       /* the job was started from here: leaving asks first */
    bool has_taste;      /* what a person likes is looked up and kept (tui/taste.h) */
    const char *support; /* folder of the shipped presets, or NULL; copied */
    enum chart_ink ink;
};

struct app *app_new(const struct app_options *options);
struct app *app_free(struct app *app);

/* `now_ns` as for feed_turn(). Returns true when there is more to come at once: turn again soon. */
bool app_turn(struct app *app, uint64_t now_ns);

/* Has it been told what was before it came, or does nobody tell it? Until then pictures are empty.
 */
bool is_app_settled(const struct app *app);

/* The job's terminal, lent from now on; NULL: it has none. */
void app_set_terminal(struct app *app, struct job_terminal *terminal);

/* What the job wrote. */
void app_output(struct app *app, const char *bytes, size_t size);

/* Keys go to the job: bytes are for app_type(), which gives back how many it took: all up to ^]. */
bool app_wants_bytes(const struct app *app);
size_t app_type(struct app *app, const char *bytes, size_t size);

/* Returns effects: enum action_effect and enum app_effect. */
unsigned app_key(struct app *app, const struct key *key);

/* The text that was copied last. Lent until the next one. */
const char *app_copied(const struct app *app);

/* Puts up a message in the row of what is staged, until the next key. */
void app_tell(struct app *app, unsigned style, const char *format, ...) ATTR_PRINTF(3, 4);

void app_draw(struct app *app, struct canvas *canvas);

/* Runs an action by its name, "toggle d", "view 3"; fails when there is none. For scripts. */
int app_run(struct app *app, const char *text, unsigned *ret_effects, struct err *err);

#endif
