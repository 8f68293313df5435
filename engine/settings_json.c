/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/settings_json.h"

#include "engine/event/event.h"
#include "engine/base/banned.h"

json_t *settings_to_json(const struct settings *set) {
    json_t *object = json_object();
    for (size_t i = 0; i < set->count; i++)
        json_object_set_new(object, set->pairs[i].key, event_string(set->pairs[i].value));
    return object;
}

void settings_from_json(struct settings *set, const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (json_is_string(value)) settings_put(set, key, json_string_value(value));
    }
}

uint32_t settings_json_key(const json_t *object) {
    struct settings set = SETTINGS_INIT;
    settings_from_json(&set, object);
    uint32_t key = settings_key(&set);
    settings_done(&set);
    return key;
}
