/* What panels see: the snapshot, and how a person looks at it. Made by the app for every picture,
 * lent while panels are updated and drawn. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_VIEW_H
#define INDUCTOP_TUI_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/data/snapshot.h"
#include "engine/setup/settings.h"
#include "tui/chart.h"
#include "tui/layout.h"
#include "tui/staging.h"
#include "tui/theme.h"

struct field;
struct preset_shelf;

enum view_state { /* of the picture's source */
                  VIEW_CONNECTING,
                  VIEW_CATCHING_UP,
                  VIEW_LIVE,
                  VIEW_PAUSED,
                  VIEW_LOST,
                  VIEW_ENDED
};

struct view {
    const struct snapshot *snapshot; /* never NULL */

    /* The group whose settings are shown and turned. NULL while no rank is there. */
    const struct snapshot_group *group;
    const struct snapshot_rank *rank; /* the one whose steps are charted; NULL: none */
    const char *device;               /* of the group's ranks; NULL: not known */
    const struct staging *staging;
    const char *unit; /* the one whose own settings are shown and turned, as in front of '/' in a
                         key; NULL: what holds for all */

    /* Where the picture comes from. */
    enum view_state state;
    const char *state_reason; /* never NULL */
    bool is_tape, is_frozen, is_readonly, is_in_charge;
    double speed, length, progress; /* of a tape */
    int screens;
    uint64_t missed, bad; /* events and steps that this screen could not be told; unreadable ones */

    /* What is going on with a person's own request; "": nothing. */
    const char *message;
    unsigned message_style;
    const struct field *field; /* NULL: no line takes text */
    const char *field_caption;

    bool has_terminal; /* the job has a terminal that is seen from here */
    bool is_input;     /* keys go to the job */
    uint64_t unsaved;  /* bytes of its output that cannot be saved just now */
    const char *const
        *question; /* asks what to do, then the answers, NULL behind the last; NULL: none */
    int answer;    /* the one that Enter takes, from 0 */

    bool is_open; /* the view stands alone on the screen */
    bool is_zoomed;
    const char *title;       /* of the view that is open; NULL: the overview */
    unsigned help_scopes;    /* of keys where help was asked for */
    const char *help_filter; /* never NULL */
    unsigned scopes;         /* of keys that hold now: 1 << enum key_scope */
    enum ranks_as ranks_as;
    enum chart_ink ink;
    const struct preset_shelf *presets; /* NULL: not looked up yet */
};

/* What would be in force after an apply, as its number. */
uint32_t view_variant_next(const struct view *view);

/* Title in the first row; returns what is left under it. */
struct area view_title(struct area area, bool has_focus, const char *text, const char *right);

/* A line of a detail: a name, and a text that is wrapped from a column on which all of them share.
 * Nothing is drawn when there is no text. Returns the row below. */
int view_line(struct area area, int y, const char *name, const char *text, unsigned style);
int view_linef(struct area area, int y, const char *name, unsigned style, const char *format, ...)
    ATTR_PRINTF(5, 6);
int view_place(struct area area, int y, const char *name, const char *file, bool has_line,
               int64_t line);

/* A safe cell text: "-" in the style of what is missing when `text` is NULL or empty. */
struct table_cell;
void show_put(struct table_cell *cell, unsigned style, const char *text);
void show_printf(struct table_cell *cell, unsigned style, const char *format, ...)
    ATTR_PRINTF(3, 4);

/* The same number for the same process at all times. */
uint64_t rank_id(const struct snapshot *snapshot, const struct snapshot_rank *rank);

/* What stands in front of '/' in a key for this unit: its name, or its number where the name is not
 * its alone or cannot stand there. */
enum { UNIT_OWNER_SIZE = 80 };
void unit_owner(const struct snapshot_units *units, int64_t unit, char ret[UNIT_OWNER_SIZE]);

/* Part of the calls that ran compiled code in the steps that were looked at; NaN: none was. */
double active_share(const struct snapshot_active *active);

/* "on, 100 % of calls", "never called"; with how many units it stands for. */
enum { ACTIVE_TEXT_SIZE = 80 };
void active_text(const struct snapshot_active *active, char ret[ACTIVE_TEXT_SIZE]);

/* What the rank told of the unit; NULL: nothing. */
const struct snapshot_active *active_of(const struct snapshot_rank *rank,
                                        const struct snapshot_unit *unit);

/* Could it have settings of its own? What is compiled in place on our account cannot. */
bool can_unit_be_set(const struct snapshot_unit *unit);

/* " -- COMMAND": how the job was started, behind options of ours. Added to `ret`. */
void put_job(struct buf *ret, const struct view *view);

/* The command that runs the job with these settings from its start. Added to `ret`. */
void put_command(struct buf *ret, const struct view *view, const struct settings *settings);

/* Settings pairs as a short label, "regional dynamic=on", "as written". The caller frees it. */
char *pairs_label(const struct snapshot_pairs *pairs);

#endif
