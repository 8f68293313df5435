/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/ascii.h"
#include "tui/cells.h"
#include "engine/base/banned.h"

const struct cell cell_blank = {.text = " ", .width = 1};

static int side(int length) {
    return length < 1 ? 1 : length > CANVAS_SIDE_MAX ? CANVAS_SIDE_MAX : length;
}

struct canvas *canvas_new(int width, int height) {
    struct canvas *canvas = mem_new(sizeof *canvas);
    canvas_resize(canvas, width, height);
    return canvas;
}

struct canvas *canvas_free(struct canvas *canvas) {
    if (canvas) free(canvas->cells);
    free(canvas);
    return NULL;
}

void canvas_resize(struct canvas *canvas, int width, int height) {
    canvas->width = side(width);
    canvas->height = side(height);
    canvas->cells = mem_resize(canvas->cells, (size_t)canvas->width * (size_t)canvas->height,
                               sizeof *canvas->cells);
    canvas_clear(canvas);
}

void canvas_clear(struct canvas *canvas) {
    size_t count = (size_t)canvas->width * (size_t)canvas->height;
    for (size_t i = 0; i < count; i++) canvas->cells[i] = cell_blank;
    canvas->cursor_x = canvas->cursor_y = -1;
}

void canvas_copy(struct canvas *canvas, const struct canvas *from) {
    size_t count = (size_t)from->width * (size_t)from->height;
    canvas->cells = mem_resize(canvas->cells, count, sizeof *canvas->cells);
    memcpy(canvas->cells, from->cells, count * sizeof *canvas->cells);
    struct cell *cells = canvas->cells;
    *canvas = *from;
    canvas->cells = cells;
}

void canvas_set_ascii(struct canvas *canvas, bool ascii) {
    canvas->ascii = ascii;
}

bool is_canvas_ascii(const struct canvas *canvas) {
    return canvas->ascii;
}

int canvas_width(const struct canvas *canvas) {
    return canvas->width;
}

int canvas_height(const struct canvas *canvas) {
    return canvas->height;
}

const struct cell *canvas_row(const struct canvas *canvas, int y) {
    return canvas->cells + (size_t)y * (size_t)canvas->width;
}

bool canvas_cursor(const struct canvas *canvas, int *ret_x, int *ret_y) {
    if (canvas->cursor_x < 0) return false;
    *ret_x = canvas->cursor_x;
    *ret_y = canvas->cursor_y;
    return true;
}

/* ---- putting glyphs into cells ---- */

/* The half of a wide glyph that is left over becomes a blank in its own style. */
static void break_wide(struct cell *row, int width, int x) {
    if (row[x].width == 0 && x > 0) {
        unsigned style = row[x - 1].style;
        row[x - 1] = cell_blank;
        row[x - 1].style = (uint16_t)style;
    } else if (row[x].width == 2 && x + 1 < width) {
        unsigned style = row[x + 1].style;
        row[x + 1] = cell_blank;
        row[x + 1].style = (uint16_t)style;
    }
}

void cell_put(struct cell *row, int width, int x, const struct glyph *glyph, unsigned style) {
    break_wide(row, width, x);
    memcpy(row[x].text, glyph->text, sizeof row[x].text);
    row[x].width = glyph->width;
    row[x].style = (uint16_t)style;
}

/* In ASCII a wide character is two signs in two cells. */
static void put_ascii(struct cell *row, int width, int x, const struct glyph *glyph,
                      unsigned style) {
    uint32_t point;
    utf8_read(glyph->text, strlen(glyph->text), &point);
    struct glyph sign = {.text = {ascii_for(point)}, .width = 1};
    for (int i = 0; i < glyph->width; i++) cell_put(row, width, x + i, &sign, style);
}

void canvas_put(struct area *area, int x, int y, const struct glyph *glyph, unsigned style) {
    static const struct glyph gap = {.text = " ", .width = 1}, right_half = {.width = 0};
    struct canvas *canvas = area->canvas;
    int left = area->clip.x, right = left + area->clip.width;
    x += area->at.x;
    y += area->at.y;
    if (glyph->width == 0 || y < area->clip.y || y >= area->clip.y + area->clip.height) return;
    if (left >= right || x >= right || x + glyph->width <= left) return;
    struct cell *row = canvas->cells + (size_t)y * (size_t)canvas->width;
    bool is_plain = (unsigned char)glyph->text[0] < 0x80 && glyph->text[1] == 0;
    if (x < left || x + glyph->width > right) { /* half of a wide one is outside */
        cell_put(row, canvas->width, x < left ? left : x, &gap, style);
    } else if (canvas->ascii && !is_plain) {
        put_ascii(row, canvas->width, x, glyph, style);
    } else {
        cell_put(row, canvas->width, x, glyph, style);
        if (glyph->width == 2) cell_put(row, canvas->width, x + 1, &right_half, style);
    }
}
