/* The last line: which keys do what just now, from the table of keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tui/keymap.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    struct footer_entry entries[FOOTER_ENTRIES_MAX];
    size_t count = footer_make(entries, view->scopes, area.at.width - 2);
    (void)state, (void)has_focus;
    area_fill(area, STYLE_PLAIN, " ");
    for (size_t i = 0; i < count; i++) {
        int x = 1 + entries[i].x, width = utf8_columns(entries[i].keys);
        area_text(area, x, 0, STYLE_KEY, entries[i].keys);
        area_text(area, x + width + 1, 0, STYLE_KEY_LABEL, entries[i].label);
    }
}

const struct panel_class panel_footer = {
    .name = "footer",
    .title = "Keys",
    .help = "what keys do just now",
    .place = PLACE_FOOTER,
    .draw = draw,
};
