/* Step time over steps, with switches and compilations marked.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/panels.h"
#include "tui/pieces.h"
#include "engine/base/banned.h"

enum { STEPS_MOST = 1000, STEPS_ZOOMED = 20000, MARKS_MAX = 512 };

struct chart_data {
    struct curve_point *points;
    double *values;
    uint16_t *styles;
    size_t count, mark_count;
    int64_t first;
    struct chart_mark marks[MARKS_MAX];
};

static void data_done(struct chart_data *data) {
    free(data->points);
    free(data->values);
    free(data->styles);
}

static uint32_t why_bit(const char *name) {
    for (unsigned i = 0; step_why_name(i); i++)
        if (strcmp(step_why_name(i), name) == 0) return 1u << i;
    return 0;
}

static void mark(struct chart_data *data, int64_t step, enum chart_mark_kind kind) {
    int64_t index = step - data->first;
    if (index < 0 || index >= (int64_t)data->count || data->mark_count == MARKS_MAX) return;
    data->marks[data->mark_count++] = (struct chart_mark){(size_t)index, kind};
}

/* Blocks of a baseline are no switches that a person made: their steps are drawn as others. */
static void add_marks(struct chart_data *data, const struct view *view) {
    uint32_t compile = why_bit("compile");
    for (size_t i = 0; i < data->count; i++)
        if (data->points[i].count && data->points[i].why & compile)
            mark(data, data->first + (int64_t)i, CHART_MARK_COMPILE);
    for (size_t i = 0; i < view->snapshot->switch_count; i++) {
        const struct snapshot_switch *change = view->snapshot->switches[i];
        bool is_ours = !view->group || strcmp(change->group, view->group->key) == 0;
        if (is_ours && change->has_at && change->status == SWITCH_APPLIED &&
            !change->is_measurement)
            mark(data, (int64_t)change->at, CHART_MARK_SWITCH);
    }
}

static void fill(struct chart_data *data, const struct view *view, int width) {
    const struct curve_view *curve = &view->rank->curve;
    if (curve->count == 0) return;
    const struct curve_point *newest = curve_point(curve, curve->count - 1);
    int64_t behind = (int64_t)newest->step + newest->count, first = curve_point(curve, 0)->step;
    int64_t most = view->is_zoomed ? STEPS_ZOOMED : STEPS_MOST;
    if (most < 2 * width) most = 2 * width;
    if (behind - first > most) first = behind - most;
    data->first = first;
    data->count = (size_t)(behind - first);
    data->points = mem_array(data->count, sizeof *data->points);
    data->values = mem_array(data->count, sizeof *data->values);
    data->styles = mem_array(data->count, sizeof *data->styles);
    curve_columns(curve, CURVE_BY_STEP, (double)first, (double)behind, data->points, data->count);
    for (size_t i = 0; i < data->count; i++) {
        const struct curve_point *point = &data->points[i];
        data->values[i] = point->count ? point->ms : NAN;
        data->styles[i] = point->clean == 0                       ? STYLE_CHART_UNCLEAN
                          : point->variant != view->rank->variant ? STYLE_CHART_OTHER
                                                                  : STYLE_CHART;
    }
    add_marks(data, view);
}

static struct area draw_title(const struct view *view, struct area area, bool has_focus) {
    unsigned style = has_focus ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    char rank[32] = "", legend[64];
    struct area body = view_title(area, has_focus, "", "");
    bool has_others = has_focus && view->group && view->group->rank_count > 1;
    if (view->rank)
        snprintf(rank, sizeof rank, "of rank %d%s", view->rank->rank,
                 has_others ? "; j k: others" : "");
    snprintf(legend, sizeof legend, "%s switch %s compile", chart_mark_sign(CHART_MARK_SWITCH),
             chart_mark_sign(CHART_MARK_COMPILE));
    const struct piece pieces[] = {
        {"Step time, ms", style, 0, false}, {rank, style, 2, false}, {legend, style, 1, true}};
    pieces_draw(pieces, ARRAY_SIZE(pieces), " ", style, area_shrink(area, 1, 0, 1, 0));
    return body;
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    CLEANUP(data_done) struct chart_data data = {0};
    (void)state;
    struct area body = draw_title(view, area, has_focus);
    if (view->rank) fill(&data, view, body.at.width);
    if (data.count == 0) {
        area_text(body, 1, 0, STYLE_DIM, "no step yet: the first compiles");
        return;
    }
    struct chart chart = {.values = data.values,
                          .count = data.count,
                          .styles = data.styles,
                          .first = data.first,
                          .unit = 1,
                          .marks = data.marks,
                          .mark_count = data.mark_count,
                          .ink = view->ink};
    chart_draw(&chart, area_shrink(body, 0, 0, 1, 0));
}

const struct panel_class panel_chart = {
    .name = "chart",
    .title = "Step time",
    .help = "step time of the rank under the cursor, with switches and compilations",
    .place = PLACE_CHART,
    .draw = draw,
};
