/* What the files of the app share: app.c (the picture), app_keys.c (keys and fields), app_actions.c
 * (what actions do). SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_APP_INSIDE_H
#define INDUCTOP_TUI_APP_INSIDE_H

#include "engine/data/snapshot.h"
#include "tui/app.h"
#include "tui/field.h"
#include "tui/keymap.h"
#include "tui/layout.h"
#include "tui/panels.h"
#include "tui/preset_shelf.h"
#include "tui/staging.h"
#include "tui/view.h"

enum { APP_TAG_SIZE = 48, APP_MESSAGE_SIZE = 400, FORGET_MOST = 8 };

/* What a line that takes text is for. */
enum purpose {
    PURPOSE_NONE,
    PURPOSE_FILTER,
    PURPOSE_EDIT,
    PURPOSE_SEEK,
    PURPOSE_SAVE,
    PURPOSE_HELP,
    PURPOSE_FIND,
    PURPOSE_COLUMNS
};

/* What is asked of the engine when a handler returns ACTION_EFFECT_SEND. */
enum request_kind { REQUEST_NONE, REQUEST_PROPOSE, REQUEST_FORGET, REQUEST_BASELINE, REQUEST_COMPARE };

struct request {
    enum request_kind kind;
    struct settings change;
    char tag[APP_TAG_SIZE]; /* it comes back in what becomes of it */
    bool is_open;           /* sent, and not known yet what became of it */
    uint64_t problems;      /* told when it was sent */
};

/* The question which settings to let go of. */
struct forget {
    const char *lines[FORGET_MOST + 3]; /* it, "keep all", one for each, NULL */
    uint32_t variants[FORGET_MOST];
    size_t count;
};

struct app {
    struct feed *feed;
    char *support;
    const struct snapshot *snapshot; /* never NULL; a reference */
    void *states[PANEL_COUNT];
    struct view view;
    struct staging staging;
    char unit[UNIT_OWNER_SIZE]; /* see view.unit; "": none */
    struct preset_shelf *presets;
    struct layout_wish wish;
    struct layout layout; /* of the last drawing */
    int open_view;        /* VIEW_OVERVIEW: none */
    int view_before_help;
    struct job_terminal *terminal;       /* lent; NULL: the job has none */
    int terminal_width, terminal_height; /* of the screen when the job's terminal was last fitted */
    bool is_front, is_input, is_frozen;
    const char *const *question; /* see view.question */
    unsigned (*answered)(struct app *app, int answer);
    int answer; /* the one marked, from 0 */
    struct forget forget;
    struct field field;
    enum purpose purpose;
    char filter_before[FIELD_SIZE], help_filter[FIELD_SIZE],
        word[FIELD_SIZE]; /* word: to be found */
    char message[APP_MESSAGE_SIZE];
    struct request request;
    unsigned request_count;
    struct buf copied;
    bool has_taste;
    struct canvas *drawn; /* what was drawn last, for writing it to a file */
};

/* The panel that has the keys; -1: none. */
int app_focus(const struct app *app);
const struct panel_class *app_focus_class(const struct app *app);
struct table *app_focus_table(const struct app *app); /* NULL: it has none */
struct table *app_table_at(const struct app *app, enum place place);

/* The panels see what the view is now. After anything that changes it. */
void app_refresh(struct app *app);

void app_show(struct app *app, int view);

/* app_keys.c */
void app_ask(struct app *app, enum purpose purpose, const char *caption, const char *text);

/* app_job.c: asks; `question` is lent, `answered` is called with the answer that is taken. */
void app_question_open(struct app *app, const char *const *question, unsigned (*answered)(struct app *app, int answer));
void app_question_move(struct app *app, int by);

/* app_forget.c */
unsigned app_do_forget(struct app *app, int argument);
void app_forget_done(struct app *app);

/* app_job.c */
unsigned app_do_input(struct app *app, int argument);
unsigned app_do_input_end(struct app *app, int argument);
unsigned app_do_leave(struct app *app, int argument);
unsigned app_do_interrupt(struct app *app, int argument);
unsigned app_do_accept(struct app *app, int argument);
unsigned app_do_cancel(struct app *app, int argument);
unsigned app_do_next_choice(struct app *app, int argument);
unsigned app_do_previous_choice(struct app *app, int argument);
unsigned app_do_suspend(struct app *app, int argument);

/* app_actions.c */
unsigned app_act(struct app *app, enum action_id action, int argument);
unsigned app_accept(struct app *app, enum purpose purpose, const char *text);

/* app_table.c: what is done with the row or the columns of a table */
unsigned app_do_copy(struct app *app, int argument);
unsigned app_do_columns(struct app *app, int argument);
unsigned app_accept_columns(struct app *app, const char *text);
void app_recall_columns(struct app *app);

/* app_turning.c: what is turned, and what goes to the engine */
unsigned app_request(struct app *app, enum request_kind kind, const char *what, const struct settings *change);
unsigned app_do_toggle(struct app *app, int argument);
unsigned app_do_stage_next(struct app *app, int argument);
unsigned app_do_stage_previous(struct app *app, int argument);
unsigned app_do_edit(struct app *app, int argument);
unsigned app_do_apply(struct app *app, int argument);
unsigned app_do_unstage(struct app *app, int argument);
unsigned app_do_undo(struct app *app, int argument);
unsigned app_do_baseline(struct app *app, int argument);
unsigned app_do_compare(struct app *app, int argument);
unsigned app_do_presets(struct app *app, int argument);
unsigned app_do_save_preset(struct app *app, int argument);
unsigned app_turn_row(struct app *app, int direction); /* of the settings */
bool app_open_unit(struct app *app); /* that of the cursor; false: it is on none */
unsigned app_accept_edit(struct app *app, const char *text);
unsigned app_accept_save(struct app *app, const char *text);
void app_read_presets(struct app *app);
void app_stage_preset(struct app *app); /* that of the cursor */

/* Sends what was asked for; what keeps it from that is told on the screen. */
void app_send(struct app *app);

/* Has anything become of the request? Tells failures. */
void app_follow_request(struct app *app);

#endif
