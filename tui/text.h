/* What a job writes, made fit to be shown: lines of safe cells.
 *
 * Bytes go in as they come, in any pieces. Colours are kept, carriage returns, backspaces and
 * cursor moves do what they do on a terminal, so progress bars come out as one line; everything
 * else that could touch our terminal is thrown away. A long line is cut
 * ("…"), lines are counted from 0 and the oldest are forgotten when there are too many: memory is
 * bounded whatever the job writes. Programs that take the whole screen (less, pdb's full-screen
 * cousins) get a screen of their own, beside the lines.
 *
 * A text belongs to who made it. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TEXT_H
#define INDUCTOP_TUI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "tui/canvas.h"

enum {
    TEXT_COLUMNS_MAX = 4096,         /* of a line */
    TEXT_LINES_MAX = 20000,          /* kept */
    TEXT_BYTES_MAX = 8 * 1024 * 1024 /* kept, in about */
};

struct text;

/* `columns` and `rows`: the size of the job's terminal. */
struct text *text_new(int columns, int rows);
struct text *text_free(struct text *text);
void text_resize(struct text *text, int columns, int rows);

void text_feed(struct text *text, const char *bytes, size_t size);

/* Lines first <= number < end are there; numbers stay with their lines. */
uint64_t text_first(const struct text *text);
uint64_t text_end(const struct text *text);

/* Columns of a line. */
int text_columns(const struct text *text, uint64_t number);

/* Draws a line, from its column `from`, into the first row of the area. */
void text_draw(const struct text *text, uint64_t number, int from, struct area area);

/* Adds the line's characters to `out`, without colours: for searching and copying. */
void text_plain(const struct text *text, uint64_t number, struct buf *out);

/* Has a program the whole screen? Then the lines stand still, and text_draw_screen() is what there
 * is to see. */
bool is_text_full_screen(const struct text *text);

/* Draws the screen as the job's terminal would show it, as much as fits around the cursor; the
 * canvas's cursor stands where the job's does if `has_cursor`. */
void text_draw_screen(const struct text *text, struct area area, bool has_cursor);

#endif
