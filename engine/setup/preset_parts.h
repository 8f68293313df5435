/* The top-level keys of a preset file; for the files of the preset module alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_PRESET_PARTS_H
#define INDUCTOP_SETUP_PRESET_PARTS_H

#include "engine/setup/doc.h"
#include "engine/setup/preset.h"

/* In the order in which they are written. */
enum preset_part {
    PRESET_PART_NAME,
    PRESET_PART_DESCRIPTION,
    PRESET_PART_SETTINGS,
    PRESET_PART_MEASURED_ON,
    PRESET_PART_NOTES,
    PRESET_PART_COUNT
};

const char *preset_part_name(enum preset_part part);
int preset_part_find(const char *key); /* -1: none of ours */

/* As preset_read(), from a tree. */
int preset_read_doc(const struct doc *root, struct preset *ret, struct err *err);

/* As preset_load_file(), without the name of the preset in its messages. */
int preset_read_file(const char *path, struct preset *ret, struct err *err);

#endif
