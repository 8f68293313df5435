/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/escape.h"
#include "tui/lines.h"
#include "tui/text_inside.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

enum { SIDE_MAX = 500, TAB = 8 };

static int clamp(int value, int least, int most) {
    return value < least ? least : value > most ? most : value;
}

/* ---- lines ---- */

static struct line *slot(const struct text *text, uint64_t number) {
    return &text->ring[number % text->ring_room];
}

static void grow_ring(struct text *text) {
    size_t room = text->ring_room * 2;
    struct line *ring = mem_array(room, sizeof *ring);
    for (uint64_t number = text->first; number < text->end; number++)
        ring[number % room] = *slot(text, number);
    free(text->ring);
    text->ring = ring;
    text->ring_room = room;
}

/* What scrolls off the screen is packed; what is too old or too much goes. */
static void set_base(struct text *text, uint64_t base) {
    for (uint64_t number = text->base; number < base && number < text->end; number++) {
        line_pack(slot(text, number));
        text->bytes += line_bytes(slot(text, number));
    }
    text->base = base;
    while (text->first < text->base && text->first < text->end &&
           (text->end - text->first > TEXT_LINES_MAX || text->bytes > TEXT_BYTES_MAX)) {
        text->bytes -= line_bytes(slot(text, text->first));
        line_done(slot(text, text->first++));
    }
}

struct line *text_line(struct text *text, int y) {
    if (text->is_full) return &text->full[y];
    while (text->end <= text->base + (uint64_t)y) {
        if (text->end - text->first == text->ring_room) grow_ring(text);
        *slot(text, text->end++) = (struct line){0};
    }
    return slot(text, text->base + (uint64_t)y);
}

/* Are there cells for this row? Asking makes none. */
static bool has_line(const struct text *text, int y) {
    return text->is_full || text->base + (uint64_t)y < text->end;
}

void text_erase(struct text *text, int from, int to) {
    for (int y = from; y < to; y++)
        if (has_line(text, y)) line_cut(text_line(text, y), 0);
}

void text_forget_below(struct text *text, int y) {
    uint64_t end = text->base + (uint64_t)y + 1;
    while (text->end > end) line_done(slot(text, --text->end));
}

void text_clear(struct text *text) {
    if (text->is_full)
        text_erase(text, 0, text->rows);
    else {
        set_base(text, text->end);
        text->cursor.y = 0;
    }
}

/* ---- scrolling ---- */

void text_scroll(struct text *text, int top, int count) {
    struct line *rows = text->full;
    if (!text->is_full || top < 0 || top > text->bottom) return;
    int height = text->bottom - top + 1, steps = clamp(abs(count), 0, height);
    for (; steps > 0; steps--) {
        if (count > 0) {
            line_done(&rows[top]);
            memmove(rows + top, rows + top + 1, (size_t)(height - 1) * sizeof *rows);
            rows[text->bottom] = (struct line){0};
        } else {
            line_done(&rows[text->bottom]);
            memmove(rows + top + 1, rows + top, (size_t)(height - 1) * sizeof *rows);
            rows[top] = (struct line){0};
        }
    }
}

void text_down(struct text *text) {
    int bottom = text->is_full ? text->bottom : text->rows - 1;
    if (text->cursor.y != bottom)
        text->cursor.y = clamp(text->cursor.y + 1, 0, text->rows - 1);
    else if (text->is_full)
        text_scroll(text, text->top, 1);
    else {
        text_line(text, text->cursor.y); /* an empty line is a line */
        set_base(text, text->base + 1);
    }
}

/* ---- full screen ---- */

static struct line *new_rows(int rows) {
    return mem_array((size_t)rows, sizeof(struct line));
}

void text_set_full(struct text *text, bool is_full) {
    if (is_full == text->is_full) return;
    if (is_full) {
        text->full = new_rows(text->rows);
        text->main_cursor = text->cursor;
        text->top = 0;
        text->bottom = text->rows - 1;
    } else {
        for (int y = 0; y < text->rows; y++) line_done(&text->full[y]);
        free(TAKE(text->full));
        text->cursor = text->main_cursor;
        text->is_cursor_hidden = false;
    }
    text->is_full = is_full;
    text_move(text, text->cursor.x, text->cursor.y);
}

static void resize_full(struct text *text, int rows) {
    struct line *full = new_rows(rows);
    for (int y = 0; y < text->rows; y++) {
        if (y < rows)
            full[y] = text->full[y];
        else
            line_done(&text->full[y]);
    }
    free(text->full);
    text->full = full;
    text->top = 0;
    text->bottom = rows - 1;
}

void text_resize(struct text *text, int columns, int rows) {
    rows = clamp(rows, 1, SIDE_MAX);
    struct text_cursor *main_cursor = text->is_full ? &text->main_cursor : &text->cursor;
    if (main_cursor->y >= rows) {
        set_base(text, text->base + (uint64_t)(main_cursor->y - rows + 1));
        main_cursor->y = rows - 1;
    }
    if (text->is_full) resize_full(text, rows);
    text->columns = clamp(columns, 1, SIDE_MAX);
    text->rows = rows;
    text_move(text, text->cursor.x, text->cursor.y);
}

/* ---- characters ---- */

void text_move(struct text *text, int x, int y) {
    text->cursor.x = clamp(x, 0, text->is_full ? text->columns - 1 : TEXT_COLUMNS_MAX);
    text->cursor.y = clamp(y, 0, text->rows - 1);
}

static void put_mark(struct text *text, uint32_t point) {
    char bytes[4];
    if (has_line(text, text->cursor.y))
        line_mark(text_line(text, text->cursor.y), text->cursor.x, bytes, utf8_write(bytes, point));
}

static void character(void *context, uint32_t point) {
    struct text *text = context;
    struct glyph glyph = {.width = 0};
    uint32_t drawn = utf8_drawn(point);
    if (drawn == 0) return;
    glyph.width = (uint8_t)utf8_width(drawn);
    if (glyph.width == 0) {
        put_mark(text, drawn);
        return;
    }
    utf8_write(glyph.text, drawn);
    if (text->is_full && text->cursor.x + glyph.width > text->columns) {
        text->cursor.x = 0;
        text_down(text);
    }
    int most = text->is_full ? text->columns : TEXT_COLUMNS_MAX;
    line_put(text_line(text, text->cursor.y), text->cursor.x, &glyph, text->style, most);
    if (text->cursor.x < most) text->cursor.x += glyph.width;
}

static void control(void *context, unsigned char byte) {
    struct text *text = context;
    switch (byte) {
    case '\r': text->cursor.x = 0; break;
    case '\b': text->cursor.x -= text->cursor.x > 0; break;
    case '\t': text_move(text, (text->cursor.x / TAB + 1) * TAB, text->cursor.y); break;
    case '\n':
    case '\v':
    case '\f':
        if (!text->is_full) text->cursor.x = 0;
        text_down(text);
        break;
    default: break;
    }
}

static void sequence(void *context, const struct escape_sequence *sequence) {
    text_run(context, sequence);
}

static const struct escape_calls calls = {character, control, sequence};

void text_feed(struct text *text, const char *bytes, size_t size) {
    escape_feed(&text->escape, bytes, size);
}

/* ---- life ---- */

struct text *text_new(int columns, int rows) {
    struct text *text = mem_new(sizeof *text);
    text->ring_room = 64;
    text->ring = mem_array(text->ring_room, sizeof *text->ring);
    text->columns = clamp(columns, 1, SIDE_MAX);
    text->rows = clamp(rows, 1, SIDE_MAX);
    text->colours = (struct job_colours){-1, -1, 0};
    text->style = STYLE_OUTPUT;
    escape_init(&text->escape, &calls, text);
    return text;
}

struct text *text_free(struct text *text) {
    if (!text) return NULL;
    text_set_full(text, false);
    for (uint64_t number = text->first; number < text->end; number++) line_done(slot(text, number));
    free(text->ring);
    free(text);
    return NULL;
}

/* ---- looking ---- */

uint64_t text_first(const struct text *text) {
    return text->first;
}

uint64_t text_end(const struct text *text) {
    return text->end;
}

static const struct line *line_at(const struct text *text, uint64_t number) {
    static const struct line none;
    return number >= text->first && number < text->end ? slot(text, number) : &none;
}

int text_columns(const struct text *text, uint64_t number) {
    return line_columns(line_at(text, number));
}

void text_draw(const struct text *text, uint64_t number, int from, struct area area) {
    line_draw(line_at(text, number), from, area);
}

void text_plain(const struct text *text, uint64_t number, struct buf *out) {
    line_plain(line_at(text, number), out);
}

bool is_text_full_screen(const struct text *text) {
    return text->is_full;
}

void text_draw_screen(const struct text *text, struct area area, bool has_cursor) {
    int height = area.at.height, used = text->is_full ? text->rows : (int)(text->end - text->base);
    if (used <= text->cursor.y) used = text->cursor.y + 1;
    int top = used > height ? used - height : 0, x = text->cursor.x, left = 0;
    if (text->cursor.y < top) top = text->cursor.y;
    if (has_cursor && area.at.width > 0 && x >= area.at.width) left = x - area.at.width + 1;
    area_fill(area, STYLE_OUTPUT, " ");
    for (int y = 0; y < height && top + y < used; y++) {
        struct area row = area_part(area, (struct rect){0, y, area.at.width, 1});
        if (text->is_full)
            line_draw(&text->full[top + y], left, row);
        else
            text_draw(text, text->base + (uint64_t)(top + y), left, row);
    }
    if (has_cursor && !text->is_cursor_hidden) area_cursor(area, x - left, text->cursor.y - top);
}
