/* Lines of cells that can be written anywhere, and packed when nobody will: for tui/text.c.
 *
 * A line is a plain value whose memory belongs to who holds it: zeroed is empty, line_done() frees.
 * One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_LINES_H
#define INDUCTOP_TUI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "tui/canvas.h"

struct line_packed;

struct line {
    struct cell *cells; /* of an open line */
    int count, room;
    bool is_cut; /* more was written than a line may hold */
    struct line_packed *packed;
};

void line_done(struct line *line);

/* Bytes that it takes in memory. */
size_t line_bytes(const struct line *line);

int line_columns(const struct line *line);

/* A packed line is opened again by any change; `most` is the largest count of columns. What lies
 * beyond is left out and is_cut set. */
void line_put(struct line *line, int x, const struct glyph *glyph, unsigned style, int most);

/* Adds a combining mark to the character before x. */
void line_mark(struct line *line, int x, const char *bytes, size_t size);

void line_cut(struct line *line, int from); /* takes the end away */
void line_blank(struct line *line, int from, int to, unsigned style);
void line_insert(struct line *line, int x, int count,
                 int most);                            /* blanks; what is behind moves right */
void line_remove(struct line *line, int x, int count); /* what is behind moves left */

/* Makes it small, for keeping. Blanks at the end go. */
void line_pack(struct line *line);

/* Cells into the first row of the area, from column `from`; "…" where the line was cut. */
void line_draw(const struct line *line, int from, struct area area);

void line_plain(const struct line *line, struct buf *out);

#endif
