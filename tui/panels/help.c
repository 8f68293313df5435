/* Every key that means something where help was asked for, and what each panel shows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/keymap.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

enum { KEYS_WIDTH = 22 };

struct help_panel {
    int top, height, count; /* of lines */
};

static void *open_panel(void) {
    return mem_new(sizeof(struct help_panel));
}

static void add_panels(struct buf *out) {
    size_t count;
    const struct panel_class *const *classes = panel_classes(&count);
    buf_printf(out, "Panels and views\n%d Overview\tthe first screen\n", VIEW_OVERVIEW);
    for (size_t i = 0; i < count; i++) {
        const struct panel_class *class = classes[i];
        if (class->view > 0 && class->view < 10) buf_printf(out, "%d ", class->view);
        buf_printf(out, "%s\t%s\n", class->title, class->help);
    }
}

static bool is_wanted(const char *line, size_t size, const char *filter) {
    return !filter[0] || memmem(line, size, filter, strlen(filter));
}

static void draw_line(struct area area, int y, const char *line, size_t size) {
    const char *tab = memchr(line, '\t', size);
    if (!tab) {
        area_bytes(area, 1, y, STYLE_BOX_TITLE, line, size);
        return;
    }
    size_t keys = (size_t)(tab - line);
    struct area left = area_part(area, (struct rect){2, y, KEYS_WIDTH - 3, 1});
    area_bytes(left, 0, 0, STYLE_KEY, line, keys);
    char help[160];
    snprintf(help, sizeof help, "%.*s", (int)(size - keys - 1), tab + 1);
    struct area right =
        area_part(area, (struct rect){KEYS_WIDTH, y, area.at.width - KEYS_WIDTH, 1});
    area_fit(right, ALIGN_LEFT, STYLE_PLAIN, help);
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    struct help_panel *panel = state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    int number = 0;
    keymap_help(&text, view->help_scopes);
    add_panels(&text);
    struct area body = view_title(area, has_focus, "Keys that hold where you were", "q back");
    panel->height = body.at.height;
    if (panel->top > panel->count - panel->height) panel->top = panel->count - panel->height;
    if (panel->top < 0) panel->top = 0;
    for (const char *at = buf_text(&text); *at;) {
        size_t size = strcspn(at, "\n");
        if (is_wanted(at, size, view->help_filter)) {
            if (number >= panel->top) draw_line(body, number - panel->top, at, size);
            number++;
        }
        at += size + (at[size] != 0);
    }
    panel->count = number;
    if (number == 0) area_text(body, 1, 0, STYLE_DIM, "no key is said to do that");
}

static void move(void *state, enum table_move move) {
    struct help_panel *panel = state;
    switch (move) {
    case TABLE_UP: panel->top--; break;
    case TABLE_DOWN: panel->top++; break;
    case TABLE_PAGE_UP: panel->top -= panel->height; break;
    case TABLE_PAGE_DOWN: panel->top += panel->height; break;
    case TABLE_HOME: panel->top = 0; break;
    case TABLE_END: panel->top = panel->count; break;
    }
    if (panel->top > panel->count - panel->height) panel->top = panel->count - panel->height;
    if (panel->top < 0) panel->top = 0;
}

const struct panel_class panel_help = {
    .name = "help",
    .title = "Help",
    .help = "this list",
    .place = PLACE_VIEW,
    .view = VIEW_HELP,
    .scope = KEY_SCOPE_HELP,
    .open = open_panel,
    .close = free,
    .draw = draw,
    .move = move,
};
