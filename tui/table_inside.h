/* The inside of a table, for table.c and table_draw.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TABLE_INSIDE_H
#define INDUCTOP_TUI_TABLE_INSIDE_H

#include "tui/filter.h"
#include "tui/table.h"

/* Where a column lies in the area of the last drawing; width 0: left out. */
struct table_span {
    int x, width;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    const char *title, *empty;
    struct table_source source;
    struct filter *filter;
    int sort_column;
    uint32_t hidden; /* 1 << column */
    bool descending, has_tail, is_following;

    uint32_t *order; /* rows of the source that pass the filter, as they are shown */
    size_t count, room;
    size_t cursor, top; /* places in `order` */
    uint64_t cursor_id;
    bool is_away; /* the row with cursor_id is filtered away; the cursor goes back to it when it
                     comes back */
    uint64_t *tags;
    size_t tag_count;

    int page; /* rows of the last drawing */
    struct rect drawn;
    struct table_span spans[TABLE_COLUMNS_MAX];
};

uint64_t table_id(const struct table *table, size_t row);

/* Hidden, or there is nothing to show in it. */
bool is_column_left_out(const struct table *table, size_t i);

#endif
