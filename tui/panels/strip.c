/* All ranks at once: how much slower each is than most.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    const struct snapshot *snapshot = view->snapshot;
    CLEANUP(cleanup_free) double *values = mem_array(snapshot->rank_count + 1, sizeof *values);
    char title[96];
    (void)state;
    for (size_t i = 0; i < snapshot->rank_count; i++) values[i] = snapshot->ranks[i]->median_ms;
    snprintf(title, sizeof title, "Step time of %zu ranks against their median",
             snapshot->rank_count);
    struct area body = view_title(area, has_focus, title, "▂ as most ▄ 5 % ▆ 15 % █ 50 % slower");
    strip_draw(values, snapshot->rank_count, area_shrink(body, 1, 0, 0, 0));
}

const struct panel_class panel_strip = {
    .name = "strip",
    .title = "Heat strip",
    .help = "step time of every rank against the median, one cell a rank",
    .place = PLACE_STRIP,
    .draw = draw,
};
