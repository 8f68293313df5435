/* The small query language of table filters; the words are told in tui/table.h.
 *
 *   filter = group { "|" group }     group = term { ["and"] term }
 *   term   = ["!"] ( word | "quoted words" | name op value )     op = > >= < <= = != ~
 *
 * A filter belongs to who made it and lends the columns. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FILTER_H
#define INDUCTOP_TUI_FILTER_H

#include "tui/table.h"

struct filter;

/* An empty text gives a filter that lets all rows pass. */
int filter_new(const char *text, const struct table_column *columns, size_t count,
               struct filter **ret_filter, struct err *err);
struct filter *filter_free(struct filter *filter);

bool is_match(const struct filter *filter, const void *rows, size_t row);

/* The text it was made from. */
const char *filter_text(const struct filter *filter);

#endif
