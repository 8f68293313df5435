/* The inside of a text, for text.c and text_run.c: lines, of which the last `rows` are the job's
 * screen, or a screen by itself. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TEXT_INSIDE_H
#define INDUCTOP_TUI_TEXT_INSIDE_H

#include "tui/escape.h"
#include "tui/lines.h"
#include "tui/text.h"
#include "tui/theme.h"

struct text_cursor {
    int x, y; /* on the screen */
};

struct text {
    struct escape escape;
    int columns, rows;

    struct line *ring; /* line `number` at number % ring_room */
    size_t ring_room, bytes;
    uint64_t first, end, base; /* base: the line in the first row of the screen */

    bool is_full, is_cursor_hidden;
    struct line *full; /* rows of the full screen */
    int top, bottom;   /* rows of it that scroll */

    struct text_cursor cursor, saved, main_cursor;
    struct job_colours colours;
    unsigned style;
};

/* Runs an escape sequence. */
void text_run(struct text *text, const struct escape_sequence *sequence);

/* The line in a row of the screen, made if it is not there. */
struct line *text_line(struct text *text, int y);

void text_move(struct text *text, int x, int y); /* the cursor, inside the screen */
void text_down(struct text *text);               /* the cursor, scrolling at the end */
void text_scroll(struct text *text, int top,
                 int count); /* rows from `top` to the bottom of a full screen, up or down (< 0) */
void text_erase(struct text *text, int from, int to); /* empties rows */
void text_forget_below(struct text *text,
                       int y);      /* takes away the lines under a row, not on a full screen */
void text_clear(struct text *text); /* the screen; lines of the job stay as lines */
void text_set_full(struct text *text, bool is_full);

#endif
