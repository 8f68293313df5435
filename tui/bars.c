/* Interval bars, the heat strip, sparklines and parts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/chart.h"
#include "tui/scale.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

/* ---- intervals ---- */

static bool is_known(const struct interval *interval) {
    return isfinite(interval->low) && isfinite(interval->middle) && isfinite(interval->high);
}

struct interval_scale interval_scale_of(const struct interval *intervals, size_t count,
                                        double reference) {
    double low = reference, high = reference;
    for (size_t i = 0; i < count; i++) {
        if (!is_known(&intervals[i])) continue;
        low = fmin(low, intervals[i].low);
        high = fmax(high, intervals[i].high);
    }
    double tick = scale_nice(fmax(high - low, fabs(reference) * 0.05) / 8);
    return (struct interval_scale){floor(low / tick - 0.5) * tick, ceil(high / tick + 0.5) * tick,
                                   reference};
}

static int place_on(const struct interval_scale *scale, double value, int width) {
    double part = (value - scale->low) / (scale->high - scale->low);
    return (int)lround(fmin(fmax(part, 0), 1) * (width - 1));
}

void interval_draw(const struct interval *interval, const struct interval_scale *scale,
                   struct area area) {
    int width = area.at.width;
    area = area_part(area, (struct rect){0, 0, width, 1});
    area_fill(area, STYLE_PLAIN, " ");
    if (width < 1) return;
    area_text(area, place_on(scale, scale->reference, width), 0, STYLE_AXIS, "│");
    if (!is_known(interval)) return;
    int low = place_on(scale, interval->low, width), high = place_on(scale, interval->high, width);
    area_fill(area_part(area, (struct rect){low, 0, high - low + 1, 1}), STYLE_INTERVAL, "━");
    area_text(area, place_on(scale, interval->middle, width), 0, STYLE_INTERVAL_CENTRE, "┿");
}

/* ---- heat strip ---- */

enum { STRIP_LABEL_WIDTH = 5, STRIP_LABELS_FROM_WIDTH = 20 };

static const struct {
    double most; /* of the value over the median */
    const char *sign, *ascii;
    unsigned style;
} heats[] = {
    {1.05, "▂", "_", STYLE_HEAT_0},
    {1.15, "▄", "-", STYLE_HEAT_1},
    {1.5, "▆", "=", STYLE_HEAT_2},
    {INFINITY, "█", "#", STYLE_HEAT_3},
};

struct strip_shape strip_shape_of(size_t count, int width, int height) {
    struct strip_shape shape = {width >= STRIP_LABELS_FROM_WIDTH ? STRIP_LABEL_WIDTH : 0, 0, 1};
    shape.in_row = width - shape.label_width;
    size_t room = width > 0 && height > 0 ? (size_t)shape.in_row * (size_t)height : 1;
    shape.per_cell = (int)((count + room - 1) / room);
    if (shape.per_cell < 1) shape.per_cell = 1;
    return shape;
}

static double median_of(const double *values, size_t count) {
    double *sorted = mem_array(count ? count : 1, sizeof *sorted), median = NAN;
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) sorted[known++] = values[i];
    scale_sort(sorted, known);
    if (known) median = sorted[(known - 1) / 2];
    free(sorted);
    return median;
}

/* A missing value among others is what one must see, unless one of them is a straggler. */
static void strip_cell(struct area area, const double *values, size_t count, double median) {
    double worst = NAN;
    bool has_missing = false;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            has_missing = true;
        else if (!(values[i] <= worst))
            worst = values[i];
    }
    size_t heat = 0;
    while (worst / median > heats[heat].most) heat++;
    bool is_straggler = isfinite(worst) && heat == ARRAY_SIZE(heats) - 1;
    if (has_missing && !is_straggler)
        area_text(area, 0, 0, STYLE_MISSING, "?");
    else
        area_text(area, 0, 0, heats[heat].style,
                  is_canvas_ascii(area.canvas) ? heats[heat].ascii : heats[heat].sign);
}

void strip_draw(const double *values, size_t count, struct area area) {
    struct strip_shape shape = strip_shape_of(count, area.at.width, area.at.height);
    double median = median_of(values, count);
    area_fill(area, STYLE_PLAIN, " ");
    if (area.at.width < 1 || area.at.height < 1) return;
    for (size_t cell = 0, i = 0; i < count; cell++, i += (size_t)shape.per_cell) {
        int x = (int)(cell % (size_t)shape.in_row), y = (int)(cell / (size_t)shape.in_row);
        size_t size = count - i < (size_t)shape.per_cell ? count - i : (size_t)shape.per_cell;
        if (x == 0 && shape.label_width) area_printf(area, 0, y, STYLE_AXIS, "%4zu", i);
        strip_cell(area_part(area, (struct rect){shape.label_width + x, y, 1, 1}), values + i, size,
                   median);
    }
}

size_t strip_at(const struct strip_shape *shape, size_t count, int x, int y) {
    x -= shape->label_width;
    if (x < 0 || y < 0 || x >= shape->in_row) return count;
    size_t index = ((size_t)y * (size_t)shape->in_row + (size_t)x) * (size_t)shape->per_cell;
    return index < count ? index : count;
}

/* ---- sparkline ---- */

void spark_draw(const double *values, size_t count, unsigned style, struct area area) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int width = area.at.width;
    area = area_part(area, (struct rect){0, 0, width, 1});
    area_fill(area, style, " ");
    if (width < 1) return;
    size_t shown = count < (size_t)width ? count : (size_t)width;
    double low = NAN, high = NAN;
    values += count - shown;
    for (size_t i = 0; i < shown; i++) {
        if (!isfinite(values[i])) continue;
        if (!(values[i] >= low)) low = values[i];
        if (!(values[i] <= high)) high = values[i];
    }
    for (size_t i = 0; i < shown; i++) {
        if (!isfinite(values[i])) continue;
        int level = high > low ? (int)lround((values[i] - low) / (high - low) * 7) : 3;
        area_text(area, width - (int)(shown - i), 0, style, blocks[level]);
    }
}

/* ---- parts of a whole ---- */

void parts_draw(const struct part *parts, size_t count, struct area area) {
    double sum = 0, done = 0;
    int width = area.at.width;
    static const char *const signs[] = {"█", "▓", "▒", "░"};
    area = area_part(area, (struct rect){0, 0, width, 1});
    area_fill(area, STYLE_PLAIN, " ");
    for (size_t i = 0; i < count; i++)
        if (parts[i].value > 0) sum += parts[i].value;
    for (size_t i = 0; i < count; i++) {
        if (!(parts[i].value > 0)) continue;
        int from = (int)lround(done / sum * width),
            to = (int)lround((done += parts[i].value) / sum * width);
        area_fill(area_part(area, (struct rect){from, 0, to - from, 1}), parts[i].style,
                  signs[i % ARRAY_SIZE(signs)]);
    }
}
