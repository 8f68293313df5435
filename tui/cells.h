/* The inside of a canvas, for canvas.c and area.c; and rows of cells, for lines of text as well.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_CELLS_H
#define INDUCTOP_TUI_CELLS_H

#include "tui/canvas.h"

struct canvas {
    struct cell *cells;
    int width, height;
    int cursor_x, cursor_y; /* -1: hidden */
    bool ascii;
};

extern const struct cell cell_blank;

/* Puts half a glyph (width 0), or one of width 1, into row[x] of `width` cells; what it covers of a
 * wide one becomes blank. */
void cell_put(struct cell *row, int width, int x, const struct glyph *glyph, unsigned style);

/* Puts a glyph at a place of the area, or what of it lies inside the clip. */
void canvas_put(struct area *area, int x, int y, const struct glyph *glyph, unsigned style);

#endif
