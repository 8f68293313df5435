/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/lines.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/cells.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

struct span {
    uint16_t style, columns;
};

/* The text as UTF-8 behind the spans of its styles. */
struct line_packed {
    uint32_t span_count, size;
    int columns;
    struct span spans[];
};

void line_done(struct line *line) {
    free(line->cells);
    free(line->packed);
    *line = (struct line){0};
}

size_t line_bytes(const struct line *line) {
    size_t packed = line->packed
                        ? sizeof *line->packed + line->packed->span_count * sizeof(struct span) +
                              line->packed->size
                        : 0;
    return sizeof *line + (size_t)line->room * sizeof *line->cells + packed;
}

int line_columns(const struct line *line) {
    return line->packed ? line->packed->columns : line->count;
}

static const char *packed_text(const struct line_packed *packed) {
    return (const char *)(packed->spans + packed->span_count);
}

/* ---- writing ---- */

static void need(struct line *line, int room) {
    if (room <= line->room) return;
    int wanted = line->room ? line->room * 2 : 32;
    line->room = wanted < room ? room : wanted;
    line->cells = mem_resize(line->cells, (size_t)line->room, sizeof *line->cells);
}

static void pad(struct line *line, int count) {
    need(line, count);
    while (line->count < count) {
        line->cells[line->count] = cell_blank;
        line->cells[line->count++].style = STYLE_OUTPUT;
    }
}

/* For every cell of a packed line: its glyph, where it is and how it looks. */
typedef void each_glyph(void *context, int x, const struct glyph *glyph, unsigned style);

static void for_each(const struct line_packed *packed, each_glyph *call, void *context) {
    const char *text = packed_text(packed), *end = text + packed->size;
    int x = 0, left = 0;
    for (uint32_t span = 0; text < end && span < packed->span_count;) {
        struct glyph glyph;
        text += utf8_glyph(text, (size_t)(end - text), &glyph);
        if (left == 0) left = packed->spans[span].columns;
        call(context, x, &glyph, packed->spans[span].style);
        x += glyph.width;
        left -= glyph.width;
        if (left <= 0) span++, left = 0;
    }
}

static void put_whole(struct line *line, int x, const struct glyph *glyph, unsigned style) {
    static const struct glyph right_half = {.width = 0};
    pad(line, x + glyph->width);
    cell_put(line->cells, line->count, x, glyph, style);
    if (glyph->width == 2) cell_put(line->cells, line->count, x + 1, &right_half, style);
}

static void put_again(void *context, int x, const struct glyph *glyph, unsigned style) {
    put_whole(context, x, glyph, style);
}

static void open_again(struct line *line) {
    struct line_packed *packed = TAKE(line->packed);
    if (packed) for_each(packed, put_again, line);
    free(packed);
}

void line_put(struct line *line, int x, const struct glyph *glyph, unsigned style, int most) {
    open_again(line);
    if (glyph->width == 0 || x < 0) return;
    if (x + glyph->width > most)
        line->is_cut = true;
    else
        put_whole(line, x, glyph, style);
}

void line_mark(struct line *line, int x, const char *bytes, size_t size) {
    open_again(line);
    if (x < 1 || x > line->count) return;
    struct cell *cell = &line->cells[x - 1];
    if (cell->width == 0 && x >= 2) cell--;
    size_t length = strlen(cell->text);
    if (length > 0 && length + size < UTF8_GLYPH_SIZE) memcpy(cell->text + length, bytes, size);
}

static void split_wide(struct line *line, int x) {
    if (x > 0 && x < line->count && line->cells[x].width == 0) {
        unsigned style = line->cells[x].style;
        line->cells[x - 1] = line->cells[x] = cell_blank;
        line->cells[x - 1].style = line->cells[x].style = (uint16_t)style;
    }
}

void line_cut(struct line *line, int from) {
    open_again(line);
    if (from >= line->count) return;
    split_wide(line, from);
    line->count = from < 0 ? 0 : from;
    line->is_cut = false;
}

void line_blank(struct line *line, int from, int to, unsigned style) {
    open_again(line);
    if (to > line->count) to = line->count;
    split_wide(line, from);
    split_wide(line, to);
    for (int x = from < 0 ? 0 : from; x < to; x++) {
        line->cells[x] = cell_blank;
        line->cells[x].style = (uint16_t)style;
    }
}

void line_insert(struct line *line, int x, int count, int most) {
    open_again(line);
    if (x < 0 || x >= line->count || count < 1) return;
    if (count > most - x) count = most - x;
    split_wide(line, x);
    int old = line->count, wanted = old + count > most ? most : old + count;
    pad(line, wanted);
    memmove(line->cells + x + count, line->cells + x,
            (size_t)(wanted - x - count) * sizeof *line->cells);
    for (int i = x; i < x + count; i++) {
        line->cells[i] = cell_blank;
        line->cells[i].style = STYLE_OUTPUT;
    }
    if (line->cells[line->count - 1].width == 2) line->cells[line->count - 1] = cell_blank;
}

void line_remove(struct line *line, int x, int count) {
    open_again(line);
    if (x < 0 || x >= line->count || count < 1) return;
    if (count > line->count - x) count = line->count - x;
    split_wide(line, x);
    split_wide(line, x + count);
    memmove(line->cells + x, line->cells + x + count,
            (size_t)(line->count - x - count) * sizeof *line->cells);
    line->count -= count;
}

/* ---- packing ---- */

static bool is_empty_cell(const struct cell *cell) {
    return !strcmp(cell->text, " ") && cell->style == STYLE_OUTPUT;
}

static size_t text_size(const struct line *line, uint32_t *ret_spans) {
    size_t size = 0;
    *ret_spans = 0;
    for (int x = 0; x < line->count; x++) {
        size += strlen(line->cells[x].text);
        *ret_spans += x == 0 || line->cells[x].style != line->cells[x - 1].style;
    }
    return size;
}

void line_pack(struct line *line) {
    if (line->packed) return;
    while (line->count > 0 && is_empty_cell(&line->cells[line->count - 1])) line->count--;
    uint32_t spans;
    size_t size = text_size(line, &spans);
    struct line_packed *packed = mem_new(sizeof *packed + spans * sizeof(struct span) + size);
    *packed = (struct line_packed){spans, (uint32_t)size, line->count};
    char *text = (char *)(packed->spans + spans);
    struct span *span = packed->spans - 1;
    for (int x = 0; x < line->count; x++) {
        const struct cell *cell = &line->cells[x];
        size_t length = strlen(cell->text);
        memcpy(text, cell->text, length);
        text += length;
        if (x == 0 || cell->style != line->cells[x - 1].style)
            *++span = (struct span){cell->style, 0};
        span->columns++;
    }
    bool is_cut = line->is_cut;
    line_done(line);
    line->packed = packed;
    line->is_cut = is_cut;
}

/* ---- drawing ---- */

struct drawing {
    struct area area;
    int from;
};

static void draw_glyph(void *context, int x, const struct glyph *glyph, unsigned style) {
    struct drawing *drawing = context;
    canvas_put(&drawing->area, x - drawing->from, 0, glyph, style);
}

static void draw_open(const struct line *line, int from, struct area area) {
    for (int x = from > 0 ? from - 1 : 0; x < line->count && x - from < area.at.width; x++) {
        struct glyph glyph = {.width = line->cells[x].width};
        memcpy(glyph.text, line->cells[x].text, sizeof glyph.text);
        canvas_put(&area, x - from, 0, &glyph, line->cells[x].style);
    }
}

void line_draw(const struct line *line, int from, struct area area) {
    struct drawing drawing = {area_part(area, (struct rect){0, 0, area.at.width, 1}), from};
    area_fill(drawing.area, STYLE_OUTPUT, " ");
    if (line->packed)
        for_each(line->packed, draw_glyph, &drawing);
    else
        draw_open(line, from, drawing.area);
    int end = line_columns(line) - from;
    if (line->is_cut && end >= 0) area_text(drawing.area, end, 0, STYLE_DIM, "…");
}

void line_plain(const struct line *line, struct buf *out) {
    if (line->packed)
        buf_add(out, packed_text(line->packed), line->packed->size);
    else
        for (int x = 0; x < line->count; x++) buf_puts(out, line->cells[x].text);
}
