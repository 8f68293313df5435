/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/staging.h"

#include <string.h>

#include "engine/base/banned.h"

void staging_init(struct staging *staging) {
    settings_init(&staging->now);
    settings_init(&staging->change);
}

void staging_done(struct staging *staging) {
    settings_done(&staging->now);
    settings_done(&staging->change);
}

const char *staging_now(const struct staging *staging, const char *key) {
    return settings_get(&staging->now, key);
}

const char *staging_next(const struct staging *staging, const char *key) {
    return settings_get(&staging->change, key);
}

/* NULL and "as-written" are the same value. */
static bool is_same_value(const char *a, const char *b) {
    if (!a) a = SETTING_AS_WRITTEN;
    if (!b) b = SETTING_AS_WRITTEN;
    return strcmp(a, b) == 0;
}

void settings_put_pairs(struct settings *set, const struct snapshot_pairs *pairs) {
    for (size_t i = 0; pairs && i < pairs->count; i++)
        settings_put(set, pairs->pairs[i].key, pairs->pairs[i].value);
}

void staging_set_now(struct staging *staging, const struct snapshot_pairs *pairs) {
    settings_clear(&staging->now);
    settings_put_pairs(&staging->now, pairs);
    for (size_t i = staging->change.count; i-- > 0;) {
        const struct settings_pair *pair = &staging->change.pairs[i];
        if (is_same_value(pair->value, staging_now(staging, pair->key)))
            settings_remove(&staging->change, pair->key);
    }
}

int staging_put(struct staging *staging, const char *key, const char *value, struct err *err) {
    int rc = settings_set(&staging->change, key, value, err);
    if (rc) return rc;
    if (is_same_value(staging_next(staging, key), staging_now(staging, key)))
        settings_remove(&staging->change, key);
    return 0;
}

const char *setting_objection(enum setting_id id, const char *device) {
    const struct setting *setting = setting_get(id);
    if (!device || !setting->needs[0] || strcmp(setting->needs, device) == 0) return NULL;
    return setting->cannot;
}

const char *setting_value_objection(const struct setting_value *value, const char *device) {
    if (!device || !value->needs[0] || strcmp(value->needs, device) == 0) return NULL;
    return value->needs;
}

/* Places: the values in their order, then as written. The first value is torch's own default, as
 * most scripts have it, so turning from as written begins behind it. */
static size_t place_of(const struct setting_value *values, size_t count, const char *value) {
    for (size_t i = 0; value && i < count; i++)
        if (strcmp(values[i].value, value) == 0) return i;
    return count;
}

static size_t turned(size_t at, size_t count, int direction) {
    if (at == count) return direction > 0 && count > 1 ? 1 : 0;
    if (at == 0) return direction > 0 ? count : count - 1;
    if (direction > 0) return at + 1 == count ? 0 : at + 1;
    return at == 1 ? count : at - 1;
}

int staging_turn(struct staging *staging, const char *key, int direction, const char *device,
                 struct err *err) {
    size_t count;
    int found = setting_find(key);
    if (found < 0) return err_set(err, ERR_UNKNOWN, "setting '%s' is not known", key);
    enum setting_id id = (enum setting_id)found;
    const struct setting_value *values = setting_values(id, &count);
    const char *objection = setting_objection(id, device);
    if (objection) return err_set(err, ERR_REFUSED, "%s: n/a: %s", key, objection);
    if (count == 0) return err_set(err, ERR_REFUSED, "%s takes any value: e edits it", key);
    const char *value = staging_next(staging, key);
    if (!value) value = staging_now(staging, key);
    size_t at = place_of(values, count, value);
    do at = turned(at, count, direction);
    while (at < count && setting_value_objection(&values[at], device));
    return staging_put(staging, key, at < count ? values[at].value : SETTING_AS_WRITTEN, err);
}

void staging_aim(struct staging *staging, const struct settings *target) {
    settings_clear(&staging->change);
    for (size_t i = 0; i < staging->now.count; i++)
        if (!settings_get(target, staging->now.pairs[i].key))
            settings_put(&staging->change, staging->now.pairs[i].key, SETTING_AS_WRITTEN);
    for (size_t i = 0; i < target->count; i++) {
        const struct settings_pair *pair = &target->pairs[i];
        if (!is_same_value(pair->value, staging_now(staging, pair->key)))
            settings_put(&staging->change, pair->key, pair->value);
    }
}

void staging_clear(struct staging *staging) {
    settings_clear(&staging->change);
}

void staging_result(const struct staging *staging, struct settings *ret) {
    settings_copy(ret, &staging->now);
    settings_merge(ret, &staging->change);
}

static const char *spoken(const char *value) {
    return !value || strcmp(value, SETTING_AS_WRITTEN) == 0 ? "as written" : value;
}

void staging_words(const struct staging *staging, struct buf *out) {
    for (size_t i = 0; i < staging->change.count; i++) {
        const struct settings_pair *pair = &staging->change.pairs[i];
        buf_printf(out, "%s%s %s to %s", i ? ", " : "", pair->key,
                   spoken(staging_now(staging, pair->key)), spoken(pair->value));
    }
}

int setting_of_toggle(char toggle) {
    for (int i = 0; i < SETTING_ID_COUNT; i++)
        if (setting_get((enum setting_id)i)->toggle == toggle) return i;
    return -1;
}
