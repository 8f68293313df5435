/* One spelling for each value, so that two ways to write it are one variant. Pure, any thread; for
 * the setup room alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_SPELLING_H
#define INDUCTOP_SETUP_SPELLING_H

#include <stdbool.h>

#include "engine/setup/settings.h"

/* Writes the value as it is stored for the setting with this id (-1: unchanged); longer values are
 * cut. */
void spelling_of(int id, const char *value, char ret_value[SETTING_VALUE_MAX + 1]);

/* One line of well-formed UTF-8 without control characters? */
bool is_clean_text(const char *text);

#endif
