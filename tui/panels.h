/* Panels: each one file of tui/panels/ that ends in one record of this kind, and one row in
 * panels.c.
 *
 * A panel draws a snapshot and the view (tui/view.h) on an area; it knows no terminal, no app and
 * no engine. It has a state of its own, made by open(), with cursor and order. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_PANELS_H
#define INDUCTOP_TUI_PANELS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/canvas.h"
#include "tui/keymap.h"
#include "tui/layout.h"
#include "tui/table.h"
#include "tui/view.h"

enum { PANEL_COUNT = 16 };
enum {
    VIEW_NONE = 0,
    VIEW_OVERVIEW = 1, /* up to VIEW_UNITS: the digits */
    VIEW_RANKS,
    VIEW_COMPILES,
    VIEW_BREAKS,
    VIEW_PRESETS,
    VIEW_OUTPUT,
    VIEW_UNITS,
    VIEW_LOG = 100,
    VIEW_HELP,
    VIEW_FINDINGS
};

struct panel_class {
    const char *name, *title, *help;
    enum place place; /* in the overview; PLACE_VIEW: not in it */
    int view;         /* the number that shows it alone, of the action "view"; VIEW_NONE: none */
    enum key_scope scope;

    /* Its state; NULL functions: it has none. */
    void *(*open)(void);
    void (*close)(void *state);

    /* A new snapshot: rows may be kept until the next one, as long as the snapshot is. May be NULL.
     */
    void (*update)(void *state, const struct view *view);

    void (*draw)(void *state, const struct view *view, struct area area, bool has_focus);

    /* Its table, for keys that move, sort, filter and tag. NULL: it has none. */
    struct table *(*table)(void *state);

    /* What the row of the cursor is about: the key of a setting, the name of a preset, a unit as
     * "UNIT/". NULL: it is about nothing that can be named so. Lent until the next update. */
    const char *(*subject)(void *state);

    /* What is worth copying of the row of the cursor, added to `ret`; nothing added: nothing is.
     * NULL: the row's text, when there is a table. */
    void (*copy)(void *state, const struct view *view, struct buf *ret);

    /* A panel of text moves by itself; NULL: it does not move. */
    void (*move)(void *state, enum table_move move);

    /* What the job writes goes here. NULL: not to this panel. */
    void (*write)(void *state, const char *bytes, size_t size);

    /* Goes to the next line above (-1) or below (1) that holds the word; false: there is none.
     * NULL: this panel cannot be searched. */
    bool (*find)(void *state, const char *word, int direction);

    /* The job's terminal has another size. NULL: it does not matter. */
    void (*fit)(void *state, int columns, int rows);

    /* Draws more about the row of its cursor, with its title; NULL: there is none. */
    void (*detail)(void *state, const struct view *view, struct area area);

    /* Rows that it would like to have under its title; NULL: it does not matter. */
    int (*rows)(const struct view *view);
};

/* For a panel that is a table: its state begins with a `struct table *`. */
struct table *panel_own_table(void *state);
void panel_draw_table(void *state, const struct view *view, struct area area, bool has_focus);

const struct panel_class *const *panel_classes(size_t *ret_count);

/* The panel at a place of the overview, that of a view; -1: none. */
int panel_at(enum place place);
int panel_of_view(int view);
int panel_find(const char *name);

#endif
