/* The presets that can be found, read once when they are looked at, and how one is made of what
 * runs. One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_PRESET_SHELF_H
#define INDUCTOP_TUI_PRESET_SHELF_H

#include <stddef.h>

#include "engine/base/err.h"
#include "engine/setup/preset.h"
#include "tui/view.h"

struct shelf_item {
    char *name, *path, *fault; /* fault: why it could not be read; NULL: it was */
    enum preset_origin origin;
    struct preset preset;
};

struct preset_shelf {
    struct shelf_item *items;
    size_t count;
};

/* `support`: the folder of the shipped ones, or NULL. Never fails: faults stand with their files.
 */
struct preset_shelf *shelf_new(const char *support);
struct preset_shelf *shelf_free(struct preset_shelf *shelf);

/* NULL: none of this name. */
const struct shelf_item *shelf_find(const struct preset_shelf *shelf, const char *name);

/* The same number for the preset of this file at all times. */
uint64_t shelf_row(const char *path);

/* Saves the settings in force, with what was measured under them, as the user's preset `name`.
 * `ret_path`, owned by the caller, says where. */
int shelf_save(const struct view *view, const char *name, char **ret_path, struct err *err);

#endif
