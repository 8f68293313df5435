/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/panels.h"

#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

extern const struct panel_class panel_header, panel_settings, panel_chart, panel_speedup,
    panel_staged, panel_strip, panel_ranks, panel_findings, panel_output, panel_compiles,
    panel_breaks, panel_units, panel_presets, panel_log, panel_help, panel_footer;

static const struct panel_class *const classes[] = {
    &panel_header,  &panel_settings, &panel_chart,  &panel_speedup,  &panel_staged, &panel_strip,
    &panel_ranks,   &panel_findings, &panel_output, &panel_compiles, &panel_breaks, &panel_units,
    &panel_presets, &panel_log,      &panel_help,   &panel_footer,
};
_Static_assert(ARRAY_SIZE(classes) == PANEL_COUNT, "every panel has a place in the app");

const struct panel_class *const *panel_classes(size_t *ret_count) {
    *ret_count = ARRAY_SIZE(classes);
    return classes;
}

struct table *panel_own_table(void *state) {
    return *(struct table **)state;
}

void panel_draw_table(void *state, const struct view *view, struct area area, bool has_focus) {
    (void)view;
    table_draw(panel_own_table(state), area, has_focus);
}

int panel_at(enum place place) {
    for (int i = 0; i < PANEL_COUNT; i++)
        if (classes[i]->place == place && place != PLACE_VIEW) return i;
    return -1;
}

int panel_of_view(int view) {
    for (int i = 0; i < PANEL_COUNT; i++)
        if (classes[i]->view == view && view != VIEW_NONE) return i;
    return -1;
}

int panel_find(const char *name) {
    for (int i = 0; i < PANEL_COUNT; i++)
        if (strcmp(classes[i]->name, name) == 0) return i;
    return -1;
}
