/* Areas: drawing on a part of the canvas.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/canvas.h"
#include "tui/cells.h"
#include "engine/base/banned.h"

enum { FAR = CANVAS_SIDE_MAX * 4, PRINTF_SIZE = 512 };

static struct rect overlap(struct rect a, struct rect b) {
    int left = a.x > b.x ? a.x : b.x, top = a.y > b.y ? a.y : b.y;
    int right = a.x + a.width < b.x + b.width ? a.x + a.width : b.x + b.width;
    int bottom = a.y + a.height < b.y + b.height ? a.y + a.height : b.y + b.height;
    return (struct rect){left, top, right > left ? right - left : 0,
                         bottom > top ? bottom - top : 0};
}

/* Far away is as good as farther, and sums stay small. */
static int near(int place) {
    return place < -FAR ? -FAR : place > FAR ? FAR : place;
}

struct area canvas_area(struct canvas *canvas) {
    struct rect all = {0, 0, canvas->width, canvas->height};
    return (struct area){canvas, all, all};
}

struct area area_part(struct area area, struct rect part) {
    struct rect at = {near(area.at.x + near(part.x)), near(area.at.y + near(part.y)),
                      part.width < 0 ? 0 : near(part.width),
                      part.height < 0 ? 0 : near(part.height)};
    return (struct area){area.canvas, at, overlap(area.clip, at)};
}

struct area area_shrink(struct area area, int left, int top, int right, int bottom) {
    return area_part(area, (struct rect){left, top, area.at.width - left - right,
                                         area.at.height - top - bottom});
}

bool is_inside(struct rect rect, int x, int y) {
    return x >= rect.x && y >= rect.y && x < rect.x + rect.width && y < rect.y + rect.height;
}

int area_bytes(struct area area, int x, int y, unsigned style, const char *text, size_t size) {
    struct glyph glyph;
    int start = x = near(x);
    y = near(y);
    while (size > 0) {
        size_t used = utf8_glyph(text, size, &glyph);
        if (x < FAR) canvas_put(&area, x, y, &glyph, style);
        x += x < INT_MAX - 2 ? glyph.width : 0;
        text += used;
        size -= used;
    }
    return x - start;
}

int area_text(struct area area, int x, int y, unsigned style, const char *text) {
    return area_bytes(area, x, y, style, text, strlen(text));
}

int area_printf(struct area area, int x, int y, unsigned style, const char *format, ...) {
    char text[PRINTF_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return area_text(area, x, y, style, text);
}

/* Bytes of the text that fit into so many columns; `ret_columns` is what these take. */
static size_t fitting(const char *text, size_t size, int columns, int *ret_columns) {
    struct glyph glyph;
    size_t done = 0;
    for (*ret_columns = 0; done < size; *ret_columns += glyph.width) {
        size_t used = utf8_glyph(text + done, size - done, &glyph);
        if (*ret_columns + glyph.width > columns) break;
        done += used;
    }
    return done;
}

void area_fill(struct area area, unsigned style, const char *text) {
    struct glyph glyph;
    utf8_glyph(text, strlen(text) + (*text == 0), &glyph);
    if (glyph.width != 1) return;
    int x = area.clip.x - area.at.x, y = area.clip.y - area.at.y;
    for (int j = 0; j < area.clip.height; j++)
        for (int i = 0; i < area.clip.width; i++) canvas_put(&area, x + i, y + j, &glyph, style);
}

void area_fit(struct area area, enum align align, unsigned style, const char *text) {
    int width = area.at.width, columns;
    size_t size = strlen(text), fits = fitting(text, size, width, &columns);
    area = area_part(area, (struct rect){0, 0, width, 1});
    area_fill(area, style, " ");
    if (width <= 0) return;
    if (fits < size && utf8_columns(text) > width) {
        fits = fitting(text, size, width - 1, &columns);
        area_bytes(area, 0, 0, style, text, fits);
        area_text(area, columns, 0, style, "…");
        return;
    }
    int start = align == ALIGN_LEFT    ? 0
                : align == ALIGN_RIGHT ? width - columns
                                       : (width - columns) / 2;
    area_bytes(area, start, 0, style, text, size);
}

/* Bytes of the next row: up to a line feed, or to the last blank that fits, or as many as fit. */
static size_t row_of(const char *text, size_t size, int width) {
    int columns;
    size_t line = strcspn(text, "\n"),
           fits = fitting(text, line < size ? line : size, width, &columns);
    if (fits == line || text[fits] == ' ') return fits;
    size_t at = fits;
    while (at > 0 && text[at - 1] != ' ') at--;
    if (at > 0) return at;
    struct glyph glyph;
    return fits > 0 ? fits : utf8_glyph(text, size, &glyph);
}

int area_wrap(struct area area, unsigned style, const char *text) {
    int rows = 0;
    if (area.at.width <= 0) return 0;
    for (size_t left = strlen(text); left > 0; rows++) {
        size_t size = row_of(text, left, area.at.width);
        area_bytes(area, 0, rows, style, text, size);
        while (size < left && text[size] == ' ') size++;
        if (size < left && text[size] == '\n') size++;
        text += size;
        left -= size;
    }
    return rows;
}

void area_restyle(struct area area, unsigned style) {
    for (int j = 0; j < area.clip.height; j++) {
        struct cell *row =
            area.canvas->cells + (size_t)(area.clip.y + j) * (size_t)area.canvas->width;
        for (int i = 0; i < area.clip.width; i++) row[area.clip.x + i].style = (uint16_t)style;
    }
}

void area_horizontal(struct area area, unsigned style) {
    area_fill(area_part(area, (struct rect){0, 0, area.at.width, 1}), style, "─");
}

void area_vertical(struct area area, unsigned style) {
    area_fill(area_part(area, (struct rect){0, 0, 1, area.at.height}), style, "│");
}

struct area area_box(struct area area, unsigned style, const char *title) {
    int right = area.at.width - 1, bottom = area.at.height - 1;
    area_fill(area, style, " ");
    area_horizontal(area, style);
    area_horizontal(area_part(area, (struct rect){0, bottom, right + 1, 1}), style);
    area_vertical(area, style);
    area_vertical(area_part(area, (struct rect){right, 0, 1, bottom + 1}), style);
    area_text(area, 0, 0, style, "┌");
    area_text(area, right, 0, style, "┐");
    area_text(area, 0, bottom, style, "└");
    area_text(area, right, bottom, style, "┘");
    if (title && right > 3) {
        int width = utf8_columns(title);
        struct area line =
            area_part(area, (struct rect){2, 0, width < right - 3 ? width + 2 : right - 3, 1});
        area_fill(line, style, " ");
        area_fit(area_part(line, (struct rect){1, 0, line.at.width - 2, 1}), ALIGN_LEFT, style,
                 title);
    }
    return area_shrink(area, 1, 1, 1, 1);
}

void area_cursor(struct area area, int x, int y) {
    x += area.at.x;
    y += area.at.y;
    if (!is_inside(area.clip, x, y)) return;
    area.canvas->cursor_x = x;
    area.canvas->cursor_y = y;
}
