/* Settings as a JSON object of key to value, as they stand in events, commands and schedules.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETTINGS_JSON_H
#define INDUCTOP_SETTINGS_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "engine/setup/settings.h"

/* A new reference. */
json_t *settings_to_json(const struct settings *set);

/* Adds what is there, unchecked; values that are no text are left out, as is an `object` that is none. */
void settings_from_json(struct settings *set, const json_t *object);

/* settings_key() of what stands in an object. */
uint32_t settings_json_key(const json_t *object);

#endif
