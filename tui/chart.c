/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/format.h"
#include "tui/scale.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

enum { LABELS_FROM_WIDTH = 16, STEPS_FROM_HEIGHT = 3, MARKS_FROM_HEIGHT = 5 };

/* A largest value this much above the median of its column gets a dot of its own; less is noise. */
#define PEAK_FROM 1.25

/* One upright line of dots: the median of its values, the largest, the style of the latest. */
struct column {
    double level, peak;
    uint16_t style;
};

/* How values become columns: `per` values each, by multiples of the step's number, so that a column
 * keeps its values. */
struct columns {
    struct column *rows;
    int count;
    int64_t per, first; /* number of the first column */
    double peak;        /* of all values */
};

static int64_t column_number(const struct chart *chart, int64_t per, size_t index) {
    int64_t number = chart->first + (int64_t)index;
    return number >= 0 ? number / per : -((-number + per - 1) / per);
}

static struct column column_of(const struct chart *chart, size_t from, size_t to, double *scratch) {
    struct column column = {NAN, NAN, STYLE_CHART};
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        if (!isfinite(chart->values[i])) continue;
        scratch[count++] = chart->values[i];
        if (chart->styles) column.style = chart->styles[i];
    }
    if (count == 0) return column;
    scale_sort(scratch, count);
    column.level = scratch[(count - 1) / 2];
    column.peak = scratch[count - 1];
    return column;
}

/* 1, 2, 3, 4, 6, 8, 12, ...: all columns get other values only seldom while the series grows. */
static int64_t values_a_column(size_t count, int room) {
    int64_t least = ((int64_t)count + room - 1) / room, per = 1;
    while (per < least && per * 3 / 2 < least) per *= 2;
    return per >= least ? per : per * 3 % 2 == 0 ? per * 3 / 2 : per * 2;
}

static struct columns columns_of(const struct chart *chart, int room) {
    struct columns columns = {
        .rows = mem_array((size_t)room, sizeof *columns.rows), .per = 1, .peak = NAN};
    for (int i = 0; i < room; i++) columns.rows[i] = (struct column){NAN, NAN, STYLE_CHART};
    if (chart->count == 0) return columns;
    columns.per = values_a_column(chart->count, room);
    int64_t last = column_number(chart, columns.per, chart->count - 1);
    columns.first = column_number(chart, columns.per, 0);
    if (columns.first < last - room + 1) columns.first = last - room + 1;
    columns.count = room;
    double *scratch = mem_array((size_t)columns.per, sizeof *scratch);
    for (size_t i = 0, end; i < chart->count; i = end) {
        int64_t number = column_number(chart, columns.per, i);
        for (end = i + 1; end < chart->count && column_number(chart, columns.per, end) == number;)
            end++;
        if (number < columns.first) continue;
        struct column column = column_of(chart, i, end, scratch);
        columns.rows[number - columns.first] = column;
        if (isfinite(column.peak) && !(column.peak <= columns.peak)) columns.peak = column.peak;
    }
    free(scratch);
    return columns;
}

/* From the values and not from the columns: their number does not change the scale. */
static struct scale scale_for(const struct chart *chart, int rows) {
    double *values = mem_array(chart->count ? chart->count : 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < chart->count; i++)
        if (isfinite(chart->values[i])) values[count++] = chart->values[i];
    struct scale scale = scale_of(values, count, rows);
    free(values);
    return scale;
}

/* ---- drawing ---- */

struct plot {
    const struct chart *chart;
    struct area area; /* of the dots */
    struct columns columns;
    struct scale scale;
    int dots_x, dots_y; /* in a cell */
};

static int level_of(const struct plot *plot, double value) {
    int dots = plot->area.at.height * plot->dots_y;
    if (!isfinite(value)) return 0;
    double part = (value - plot->scale.low) / (plot->scale.high - plot->scale.low);
    int level = (int)lround(fmin(fmax(part, 0), 1) * dots);
    return level > 0 ? level : 1;
}

static void put_braille(const struct plot *plot, int x, int y) {
    static const uint8_t bits[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    uint32_t dots = 0;
    unsigned style = STYLE_CHART;
    int base = (plot->area.at.height - 1 - y) * 4;
    for (int i = 0; i < 2; i++) {
        const struct column *column = &plot->columns.rows[x * 2 + i];
        bool has_peak = column->peak > column->level * PEAK_FROM;
        int level = level_of(plot, column->level) - base,
            peak = has_peak ? level_of(plot, column->peak) - 1 - base : -1;
        for (int dot = 0; dot < 4; dot++)
            if (dot < level || dot == peak) dots |= bits[i][dot];
        if (level > 0 || (peak >= 0 && peak < 4)) style = column->style;
    }
    char text[5] = {0};
    utf8_write(text, 0x2800 + dots);
    if (dots) area_text(plot->area, x, y, style, text);
}

static void put_block(const struct plot *plot, int x, int y) {
    static const char *const blocks[] = {"", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[] = {"", ".", ":", "#"};
    const struct column *column = &plot->columns.rows[x];
    int level = level_of(plot, column->level) - (plot->area.at.height - 1 - y) * plot->dots_y;
    int filled = level < 0 ? 0 : level > plot->dots_y ? plot->dots_y : level;
    area_text(plot->area, x, y, column->style, plot->dots_y == 8 ? blocks[filled] : signs[filled]);
}

static void draw_dots(const struct plot *plot) {
    for (int y = 0; y < plot->area.at.height; y++)
        for (int x = 0; x < plot->area.at.width; x++) {
            if (plot->dots_x == 2)
                put_braille(plot, x, y);
            else
                put_block(plot, x, y);
        }
}

const char *chart_mark_sign(enum chart_mark_kind kind) {
    return kind == CHART_MARK_SWITCH ? "▲" : "●";
}

static void draw_marks(const struct plot *plot, struct area row) {
    const struct chart *chart = plot->chart;
    for (int kind = CHART_MARK_COMPILE; kind <= CHART_MARK_SWITCH; kind++)
        for (size_t i = 0; i < chart->mark_count; i++) {
            if ((int)chart->marks[i].kind != kind || chart->marks[i].index >= chart->count)
                continue;
            int64_t column = column_number(chart, plot->columns.per, chart->marks[i].index) -
                             plot->columns.first;
            unsigned style = kind == CHART_MARK_SWITCH ? STYLE_MARK_SWITCH : STYLE_MARK_COMPILE;
            if (column >= 0)
                area_text(row, (int)(column / plot->dots_x), 0, style,
                          chart_mark_sign((enum chart_mark_kind)kind));
        }
}

/* Figures beside the rows that they are nearest to, and the upright line. */
static void draw_levels(const struct plot *plot, struct area area, int width) {
    int height = plot->area.at.height, y0 = plot->area.at.y - area.at.y;
    double unit = plot->chart->unit != 0 ? plot->chart->unit : 1;
    area_vertical(area_part(area, (struct rect){width, y0, 1, height}), STYLE_AXIS);
    for (double tick = plot->scale.low; tick <= plot->scale.high * (1 + 1e-9);
         tick += plot->scale.tick) {
        char text[24];
        double part = (tick - plot->scale.low) / (plot->scale.high - plot->scale.low);
        int y = (int)lround((1 - part) * (height - 1));
        snprintf(text, sizeof text, "%.*f", plot->scale.digits, tick / unit);
        area_fit(area_part(area, (struct rect){0, y0 + y, width, 1}), ALIGN_RIGHT, STYLE_AXIS,
                 text);
        area_text(area, width, y0 + y, STYLE_AXIS, "┤");
    }
}

/* The numbers of the first and last value, and the peak between them when it is off the scale. */
static void draw_steps(const struct plot *plot, struct area row) {
    const struct chart *chart = plot->chart;
    int64_t last = chart->first + (int64_t)chart->count - 1,
            first = plot->columns.first * plot->columns.per;
    char left[32], right[32], peak[64] = "";
    if (first < chart->first) first = chart->first;
    snprintf(left, sizeof left, "%lld", (long long)first);
    snprintf(right, sizeof right, "%lld", (long long)last);
    int64_t skipped = first - plot->columns.first * plot->columns.per,
            at = skipped / plot->columns.per / plot->dots_x;
    int64_t end =
        (column_number(chart, plot->columns.per, chart->count - 1) - plot->columns.first) /
            plot->dots_x +
        1;
    int left_x = (int)at, right_x = (int)end - (int)strlen(right);
    if (right_x < 0) right_x = 0;
    area_text(row, right_x, 0, STYLE_AXIS, right);
    if (left_x + (int)strlen(left) >= right_x) return;
    area_text(row, left_x, 0, STYLE_AXIS, left);
    if (!(plot->columns.peak > plot->scale.high) || chart->unit == 0) return;
    snprintf(peak, sizeof peak, "peak %s",
             format_duration(plot->columns.peak / chart->unit * 1e6).text);
    int from = left_x + (int)strlen(left) + 1, room = right_x - 1 - from, width = (int)strlen(peak);
    if (width <= room) area_text(row, from + (room - width) / 2, 0, STYLE_AXIS, peak);
}

static int level_width(const struct plot *plot) {
    char text[24];
    int width = 0;
    double unit = plot->chart->unit != 0 ? plot->chart->unit : 1;
    const double ends[] = {plot->scale.low, plot->scale.high};
    for (int i = 0; i < 2; i++) {
        int length = snprintf(text, sizeof text, "%.*f", plot->scale.digits, ends[i] / unit);
        if (length > width) width = length;
    }
    return width;
}

static void draw(struct plot *plot, struct area area) {
    int height = area.at.height, has_steps = height >= STEPS_FROM_HEIGHT,
        has_marks = height >= MARKS_FROM_HEIGHT;
    double unit = plot->chart->unit != 0 ? plot->chart->unit : 1;
    plot->scale = scale_for(plot->chart, height - has_steps - has_marks);
    plot->scale.digits = scale_digits(plot->scale.tick / unit);
    int labels = area.at.width >= LABELS_FROM_WIDTH ? level_width(plot) : 0,
        left = labels ? labels + 1 : 0;
    plot->area = area_shrink(area, left, has_marks, 0, has_steps);
    if (plot->area.at.width < 1) return;
    plot->columns = columns_of(plot->chart, plot->area.at.width * plot->dots_x);
    draw_dots(plot);
    draw_marks(plot, area_part(area, (struct rect){left, 0, plot->area.at.width, 1}));
    if (!isfinite(plot->columns.peak)) return;
    if (labels) draw_levels(plot, area, labels);
    if (!has_steps) return;
    if (labels) area_text(area, labels, height - 1, STYLE_AXIS, "└");
    draw_steps(plot, area_part(area, (struct rect){left, height - 1, plot->area.at.width, 1}));
}

void chart_draw(const struct chart *chart, struct area area) {
    bool ascii = is_canvas_ascii(area.canvas), is_braille = !ascii && chart->ink == CHART_BRAILLE;
    struct plot plot = {.chart = chart,
                        .dots_x = is_braille ? 2 : 1,
                        .dots_y = is_braille ? 4
                                  : ascii    ? 3
                                             : 8};
    area_fill(area, STYLE_PLAIN, " ");
    if (area.at.width < 1 || area.at.height < 1 || area.at.width > CANVAS_SIDE_MAX) return;
    draw(&plot, area);
    free(plot.columns.rows);
}
