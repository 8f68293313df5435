/* The picture: a grid of cells that panels draw on, and areas, the parts of it that they may draw
 * on.
 *
 * Pure memory: no terminal, no colours, only style numbers (tui/theme.h says what they look like; 0
 * is plain). Every text that is drawn is made safe here: no control character, no broken UTF-8 ever
 * gets into a cell. Nothing is drawn outside an area's clip, whatever the coordinates, so callers
 * need no checks. A cell holds one glyph; a wide one lies in two cells, of which the right has
 * width 0 and no text, and loses its other half as a blank when one half is drawn over.
 *
 * A canvas belongs to who made it; areas are plain values and lend it. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_CANVAS_H
#define INDUCTOP_TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/attr.h"
#include "tui/utf8.h"

enum { CANVAS_SIDE_MAX = 1000 };

struct rect {
    int x, y, width, height;
};

struct cell {
    char text[UTF8_GLYPH_SIZE]; /* NUL-terminated, unused bytes zero: cells can be compared as
                                   memory */
    uint8_t width;              /* 1, 2, or 0: the right half of the cell before */
    uint16_t style;
};

struct canvas;

enum align { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_CENTRE };

/* All blank, plain, no cursor. Sizes are brought to 1 ... CANVAS_SIDE_MAX. */
struct canvas *canvas_new(int width, int height);
struct canvas *canvas_free(struct canvas *canvas);

/* Blanks everything, takes the cursor away. */
void canvas_resize(struct canvas *canvas, int width, int height);
void canvas_clear(struct canvas *canvas);

/* Makes `canvas` equal to `from`, size and cursor included. */
void canvas_copy(struct canvas *canvas, const struct canvas *from);

/* From now on what is drawn becomes ASCII (tui/ascii.h). */
void canvas_set_ascii(struct canvas *canvas, bool ascii);
bool is_canvas_ascii(const struct canvas *canvas);

int canvas_width(const struct canvas *canvas);
int canvas_height(const struct canvas *canvas);

/* A row of canvas_width() cells; 0 <= y < canvas_height(). Lent until the canvas is resized. */
const struct cell *canvas_row(const struct canvas *canvas, int y);

/* Where the terminal's cursor stands; false: it is hidden. */
bool canvas_cursor(const struct canvas *canvas, int *ret_x, int *ret_y);

/* ---- areas ---- */

struct area {
    struct canvas *canvas;
    struct rect at;   /* origin and size on the canvas; may lie outside of it in part */
    struct rect clip; /* what may be drawn on, on the canvas; width or height 0: nothing */
};

struct area canvas_area(struct canvas *canvas);

/* A part of an area by coordinates in it; never draws outside of the area. */
struct area area_part(struct area area, struct rect part);

/* The part that is left without so many rows and columns on each side. */
struct area area_shrink(struct area area, int left, int top, int right, int bottom);

/* Draws text at a place; returns the columns that it takes, drawn or not. Text goes on from there
 * without wrapping. */
int area_text(struct area area, int x, int y, unsigned style, const char *text);
int area_bytes(struct area area, int x, int y, unsigned style, const char *text, size_t size);
int area_printf(struct area area, int x, int y, unsigned style, const char *format, ...)
    ATTR_PRINTF(5, 6);

/* Fills the first row of the area with the text and blanks. What is too long ends in "…". */
void area_fit(struct area area, enum align align, unsigned style, const char *text);

/* Draws text over several rows, broken at blanks; returns the rows that it needs, drawn or not. */
int area_wrap(struct area area, unsigned style, const char *text);

/* Puts `glyph`, one column wide, into every cell of the area. */
void area_fill(struct area area, unsigned style, const char *glyph);

/* Gives what is drawn in the area another style. */
void area_restyle(struct area area, unsigned style);

/* Lines along the first row or column of the area. */
void area_horizontal(struct area area, unsigned style);
void area_vertical(struct area area, unsigned style);

/* A frame along the area's sides with a title in it (NULL: none), blanks inside; returns the
 * inside. */
struct area area_box(struct area area, unsigned style, const char *title);

/* Puts the terminal's cursor there, if that is inside. */
void area_cursor(struct area area, int x, int y);

/* Does the rectangle hold this point? */
bool is_inside(struct rect rect, int x, int y);

#endif
