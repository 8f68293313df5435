/* A table: rows of data under columns that are rows of a table themselves; sorted, filtered,
 * scrolled, with a cursor and tags.
 *
 * The data stays where it is: the table asks the columns for what it needs, text only for the rows
 * in sight (and for all rows while a word filters or a column of text sorts). The cursor and the
 * tags stay with their rows by id, however the order changes. A table belongs to who made it; it
 * lends the columns and, from one table_update() to the next, the rows. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TABLE_H
#define INDUCTOP_TUI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "tui/canvas.h"

enum { TABLE_TEXT_SIZE = 256, TABLE_COLUMNS_MAX = 32 };

/* What a column shows for a row. Empty before, in STYLE_PLAIN, with `ascii` as the canvas has it.
 */
struct table_cell {
    char text[TABLE_TEXT_SIZE];
    unsigned style;
    bool ascii;   /* do not write signs that ASCII has not */
    bool runs_on; /* the text has the rest of the row, over the columns to the right */
};

struct table_column {
    const char *name;  /* in filters: "memory" in "memory > 600M" */
    const char *title; /* fits into `width` */
    const char *help;
    int width; /* columns of the screen, without the gap */
    int flex;  /* share of the room left over; 0: none */
    enum align align;
    bool descending; /* sorts downwards at first: large is interesting */
    int leaves;      /* 0: always shown; else the largest leaves first when the table is narrow */
    double bare; /* what 1 without a unit is worth in a filter, in the unit of number(): 1e6 for a
                    column in ms; 0 is 1 */
    void (*show)(const void *rows, size_t row, struct table_cell *cell);
    double (*number)(const void *rows,
                     size_t row); /* to sort and compare by, NaN: missing; NULL: by text */
    bool if_told; /* left out while number() is missing for every row */
};

struct table_source {
    const void *rows;
    size_t count;
    uint64_t (*id)(
        const void *rows,
        size_t row); /* the same for the same thing at all times; NULL: the row's number */
};

enum table_move { TABLE_UP, TABLE_DOWN, TABLE_PAGE_UP, TABLE_PAGE_DOWN, TABLE_HOME, TABLE_END };

enum { TABLE_UNSORTED = -1 };

struct table;

struct table *table_new(const struct table_column *columns, size_t count);
struct table *table_free(struct table *table);

/* A title instead of the columns' titles (NULL: those). `empty` stands where rows would be. Both
 * lent. */
void table_set_title(struct table *table, const char *title);
void table_set_empty(struct table *table, const char *empty);

/* The cursor stays at the end while rows are added there, as in a log. */
void table_set_tail(struct table *table, bool tail);

/* The cursor goes with its row even from the first place. */
void table_set_follow(struct table *table, bool follow);
bool is_table_following(const struct table *table);

/* New data: filters, sorts, finds the cursor's row again. */
void table_update(struct table *table, const struct table_source *source);

/* ---- order ---- */

void table_sort(struct table *table, int column,
                bool descending); /* TABLE_UNSORTED: as the rows come */
void table_sort_next(
    struct table *table,
    int direction); /* the next column to the right (1) or left (-1), unsorted among them */
void table_invert(struct table *table);
int table_sort_column(const struct table *table);
bool is_table_descending(const struct table *table);

/* ---- filter ---- */

/* Words that any column holds, "name > 30", "name = text", "name ~ part", ! in front for not, blank
 * or and, | or or. An empty text shows all rows. On failure the filter before stays. */
int table_set_filter(struct table *table, const char *text, struct err *err);
const char *table_filter(const struct table *table); /* "" without one */

/* ---- columns ---- */

/* Names of columns, with blanks between: those are shown, in the order that they have; none: all.
 * Fails for a name that is no column's, and then nothing changes. */
int table_set_columns(struct table *table, const char *names, struct err *err);

/* Adds the names: of those shown, or of all. */
void table_columns(const struct table *table, bool shown_only, struct buf *ret);

/* ---- cursor and tags ---- */

void table_move(struct table *table, enum table_move move);

/* The cursor's row in the source; false when there are no rows. */
bool table_cursor(const struct table *table, size_t *ret_row);
uint64_t table_cursor_id(const struct table *table); /* its id; without rows the last one's */
void table_go(struct table *table, uint64_t id);

void table_tag(
    struct table *table); /* tags the cursor's row, or takes its tag away, and goes down */
void table_untag(struct table *table);
bool is_tagged(const struct table *table, uint64_t id);
size_t table_tag_count(const struct table *table);

/* Adds what the shown columns show of the cursor's row, two blanks between. */
void table_row_text(const struct table *table, struct buf *ret);

size_t table_count(const struct table *table); /* rows that pass the filter */

/* ---- screen ---- */

/* Title in the first row, rows under it. Remembers the height for pages and the places for the
 * mouse. */
void table_draw(struct table *table, struct area area, bool has_focus);

enum table_hit { TABLE_HIT_NONE, TABLE_HIT_TITLE, TABLE_HIT_ROW };

/* A click at a place of the last area drawn: on a title it sorts, on a row it moves the cursor. */
enum table_hit table_click(struct table *table, int x, int y);

#endif
