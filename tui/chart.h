/* Charts of cells: a series over steps, intervals, a heat strip over ranks, sparklines.
 *
 * What is missing is NaN and leaves a gap; nothing is drawn as 0 that is not 0. Values are in the
 * unit of the caller. All is drawn with braille (2 by 4 dots a cell), with blocks where a
 * terminal's font has no braille, or with ASCII on an ASCII canvas, which needs no saying. No
 * state, any thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_CHART_H
#define INDUCTOP_TUI_CHART_H

#include <stddef.h>
#include <stdint.h>

#include "tui/canvas.h"

enum chart_ink { CHART_BRAILLE, CHART_BLOCKS };

/* ---- series ---- */

enum chart_mark_kind {
    CHART_MARK_COMPILE,
    CHART_MARK_SWITCH
}; /* in one place the later one is drawn */

struct chart_mark {
    size_t index; /* of the value that it stands over */
    enum chart_mark_kind kind;
};

struct chart {
    const double *values; /* oldest first */
    size_t count;
    const uint16_t *styles; /* one for each value; NULL: all STYLE_CHART */
    int64_t first;          /* what the first value is called on the axis, for example its step */
    double unit;            /* what 1 is on the axis: 1e6 for ns shown as ms; 0 is 1 */
    const struct chart_mark *marks;
    size_t mark_count;
    enum chart_ink ink;
};

/* Oldest at the left. With more values than dots, each column shows the median of its values, and a
 * dot their largest when it stands out; columns keep their values while new ones come. Single
 * values far above the rest are cut off at the top, and the peak is told below. The scale begins at
 * 0 unless the values are close together; the lowest row has its figure always. While there are
 * fewer values than dots they begin at the left. */
void chart_draw(const struct chart *chart, struct area area);

/* The signs of the marks, for a legend. */
const char *chart_mark_sign(enum chart_mark_kind kind);

/* ---- intervals ---- */

struct interval {
    double low, middle, high;
};

struct interval_scale {
    double low, high, reference;
};

/* A common scale that holds all intervals and the reference (1: no gain). */
struct interval_scale interval_scale_of(const struct interval *intervals, size_t count,
                                        double reference);

/* One interval in the first row of the area, with its middle and the reference. */
void interval_draw(const struct interval *interval, const struct interval_scale *scale,
                   struct area area);

/* ---- heat strip ---- */

struct strip_shape {
    int label_width, in_row,
        per_cell; /* columns before the cells; cells in a row; values in a cell */
};

struct strip_shape strip_shape_of(size_t count, int width, int height);

/* One cell for each value, or for several the worst of them: how much larger it is than the median
 * of all. */
void strip_draw(const double *values, size_t count, struct area area);

/* The first value of the cell at a place of the area; `count` when there is none. */
size_t strip_at(const struct strip_shape *shape, size_t count, int x, int y);

/* ---- sparkline ---- */

/* The last values that fit into the first row, between the smallest and the largest. */
void spark_draw(const double *values, size_t count, unsigned style, struct area area);

/* ---- parts of a whole ---- */

struct part {
    double value;
    unsigned style;
};

/* One bar in the first row, its parts side by side in their styles; missing parts are left out. */
void parts_draw(const struct part *parts, size_t count, struct area area);

#endif
