/* A table on an area of the canvas.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "tui/table_inside.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

enum { MARK_WIDTH = 1, GAP = 1, WORDS_LEAST = 5 };

/* ---- which columns there is room for ---- */

static int width_of(const struct table *table, const struct table_span *spans) {
    int width = MARK_WIDTH;
    for (size_t i = 0; i < table->column_count; i++)
        if (spans[i].width > 0) width += spans[i].width + GAP;
    return width - GAP;
}

static bool leave_one_out(const struct table *table, struct table_span *spans) {
    size_t worst = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        if (spans[i].width == 0 || table->columns[i].leaves == 0) continue;
        if (worst == table->column_count || table->columns[i].leaves > table->columns[worst].leaves)
            worst = i;
    }
    if (worst == table->column_count) return false;
    spans[worst].width = 0;
    return true;
}

/* Words can be cut, figures cannot: a column of words gives way when nothing more can leave. */
static bool narrow_one(const struct table *table, struct table_span *spans) {
    size_t widest = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        bool can_be_cut = table->columns[i].align == ALIGN_LEFT && spans[i].width > WORDS_LEAST;
        if (can_be_cut && (widest == table->column_count || spans[i].width > spans[widest].width))
            widest = i;
    }
    if (widest == table->column_count) return false;
    spans[widest].width--;
    return true;
}

static void stretch(const struct table *table, struct table_span *spans, int left) {
    int flex = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (spans[i].width > 0) flex += table->columns[i].flex;
    for (size_t i = 0; i < table->column_count && left > 0 && flex > 0; i++) {
        if (spans[i].width == 0 || table->columns[i].flex == 0) continue;
        int more = left * table->columns[i].flex / flex;
        spans[i].width += more;
        left -= more;
        flex -= table->columns[i].flex;
    }
}

static void measure(struct table *table, int width) {
    struct table_span *spans = table->spans;
    for (size_t i = 0; i < table->column_count; i++)
        spans[i].width = is_column_left_out(table, i) ? 0 : table->columns[i].width;
    while (width_of(table, spans) > width && leave_one_out(table, spans)) {
    }
    while (width_of(table, spans) > width && narrow_one(table, spans)) {
    }
    stretch(table, spans, width - width_of(table, spans));
    int x = MARK_WIDTH;
    for (size_t i = 0; i < table->column_count; i++) {
        if (spans[i].width == 0) continue;
        spans[i].x = x;
        x += spans[i].width + GAP;
    }
}

/* ---- drawing ---- */

static struct area span_area(struct area line, const struct table_span *span) {
    return area_part(line, (struct rect){span->x, 0, span->width, 1});
}

static void draw_title(const struct table *table, size_t i, struct area line, bool has_focus) {
    const struct table_column *column = &table->columns[i];
    bool is_sort = (int)i == table->sort_column;
    unsigned style = is_sort ? STYLE_TITLE_SORT : has_focus ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    char text[64];
    snprintf(text, sizeof text, "%.50s%s", column->title,
             !is_sort            ? ""
             : table->descending ? "▼"
                                 : "▲");
    bool fits = utf8_columns(text) <= table->spans[i].width;
    area_fit(span_area(line, &table->spans[i]), column->align, style, fits ? text : column->title);
}

static void draw_titles(const struct table *table, struct area line, bool has_focus) {
    unsigned style = has_focus ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    area_fill(line, style, " ");
    if (table->title) {
        area_fit(area_shrink(line, MARK_WIDTH, 0, 0, 0), ALIGN_LEFT, style, table->title);
        return;
    }
    for (size_t i = 0; i < table->column_count; i++)
        if (table->spans[i].width > 0) draw_title(table, i, line, has_focus);
}

static void draw_row(const struct table *table, struct area line, size_t place, bool has_focus) {
    size_t row = table->order[place];
    bool has_tag = is_tagged(table, table_id(table, row)), is_cursor = place == table->cursor;
    unsigned whole = is_cursor && has_focus ? STYLE_CURSOR : has_tag ? STYLE_TAGGED : STYLE_PLAIN;
    area_fill(line, whole, " ");
    area_text(line, 0, 0, is_cursor && !has_focus ? STYLE_CURSOR_AWAY : whole,
              has_tag     ? "*"
              : is_cursor ? "▸"
                          : " ");
    for (size_t i = 0; i < table->column_count; i++) {
        struct table_span span = table->spans[i];
        if (span.width == 0) continue;
        struct table_cell cell = {
            .text = "", .style = STYLE_PLAIN, .ascii = is_canvas_ascii(line.canvas)};
        table->columns[i].show(table->source.rows, row, &cell);
        if (cell.runs_on) span.width = line.at.width - span.x;
        area_fit(span_area(line, &span), cell.runs_on ? ALIGN_LEFT : table->columns[i].align,
                 whole == STYLE_PLAIN ? cell.style : whole, cell.text);
        if (cell.runs_on) return;
    }
}

static void draw_scroll(const struct table *table, struct area column) {
    int height = column.at.height;
    int size = (int)((size_t)height * (size_t)height / table->count);
    if (size < 1) size = 1;
    int at = (int)(table->top * (size_t)(height - size) / (table->count - (size_t)height));
    area_fill(area_part(column, (struct rect){0, at, 1, size}), STYLE_SCROLL, "▐");
}

static void scroll_to_cursor(struct table *table, size_t page) {
    if (table->cursor < table->top) table->top = table->cursor;
    if (page > 0 && table->cursor >= table->top + page) table->top = table->cursor - page + 1;
    if (table->top + page > table->count)
        table->top = table->count > page ? table->count - page : 0;
}

static void draw_empty(const struct table *table, struct area body) {
    bool is_filtered = table->source.count > 0;
    area_wrap(area_shrink(body, MARK_WIDTH, 0, 0, 0), STYLE_DIM,
              is_filtered ? "nothing passes the filter (/ changes it)" : table->empty);
}

void table_draw(struct table *table, struct area area, bool has_focus) {
    int page = area.at.height - 1, width = area.at.width;
    bool has_scroll = page > 0 && table->count > (size_t)page && width > 2;
    table->drawn = area.at;
    table->page = page > 0 ? page : 1;
    measure(table, width - has_scroll);
    scroll_to_cursor(table, page > 0 ? (size_t)page : 0);
    draw_titles(table, area_part(area, (struct rect){0, 0, width, 1}), has_focus);
    struct area body = area_shrink(area, 0, 1, 0, 0);
    area_fill(body, STYLE_PLAIN, " ");
    if (table->count == 0) draw_empty(table, body);
    for (int y = 0; y < page && table->top + (size_t)y < table->count; y++)
        draw_row(table, area_part(body, (struct rect){0, y, width - has_scroll, 1}),
                 table->top + (size_t)y, has_focus);
    if (has_scroll) draw_scroll(table, area_part(body, (struct rect){width - 1, 0, 1, page}));
}

enum table_hit table_click(struct table *table, int x, int y) {
    if (!is_inside((struct rect){0, 0, table->drawn.width, table->drawn.height}, x, y))
        return TABLE_HIT_NONE;
    size_t place = table->top + (size_t)(y - 1);
    if (y > 0 && place < table->count) {
        table_go(table, table_id(table, table->order[place]));
        return TABLE_HIT_ROW;
    }
    for (size_t i = 0; i < table->column_count && y == 0 && !table->title; i++) {
        struct table_span span = table->spans[i];
        if (span.width == 0 || x < span.x || x > span.x + span.width) continue;
        if ((int)i == table->sort_column)
            table_invert(table);
        else
            table_sort(table, (int)i, table->columns[i].descending);
        return TABLE_HIT_TITLE;
    }
    return TABLE_HIT_NONE;
}
