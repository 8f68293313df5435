/* `inductop replay` with a panel that draws nothing: break_panel PANEL TAPE [OPTIONS]. Golden
 * screens must not pass with it. Without words it prints the names of the panels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "tui/panels.h"
#include "tui/replay_command.h"
#include "engine/base/banned.h"

/* Linked with --wrap=panel_classes: the app asks us. */
const struct panel_class *const *__real_panel_classes(size_t *ret_count);
const struct panel_class *const *__wrap_panel_classes(size_t *ret_count);

static const struct panel_class *classes[PANEL_COUNT];
static struct panel_class broken;

const struct panel_class *const *__wrap_panel_classes(size_t *ret_count) {
    *ret_count = PANEL_COUNT;
    return classes;
}

static void draw_nothing(void *state, const struct view *view, struct area area, bool has_focus) {
    (void)state, (void)view, (void)area, (void)has_focus;
}

int main(int argc, char **argv) {
    size_t count;
    memcpy(classes, __real_panel_classes(&count), sizeof classes);
    for (size_t i = 0; i < count; i++) {
        if (argc < 2) puts(classes[i]->name);
        if (argc < 2 || strcmp(classes[i]->name, argv[1]) != 0) continue;
        broken = *classes[i];
        broken.draw = draw_nothing;
        classes[i] = &broken;
    }
    if (argc > 1 && !broken.name) fprintf(stderr, "no panel '%s'\n", argv[1]);
    return argc < 2 ? 0 : broken.name ? replay_command(argc - 1, argv + 1) : 2;
}
