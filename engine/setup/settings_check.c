/* Whether a key can have a value, and whether values go together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/setup/nearest.h"
#include "engine/setup/settings.h"
#include "engine/setup/spelling.h"

#include "engine/base/banned.h"

#define OPTIONS_PREFIX "options."

enum { NAMES_MAX = 128 };

static const char *unitless(const char *key) {
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

/* Names of settings, then those of inductor's options; the first `ret_settings` are settings. */
static size_t all_names(const char *names[NAMES_MAX], size_t *ret_settings) {
    size_t count = 0, options;
    for (int i = 0; i < SETTING_ID_COUNT; i++)
        if (i != SETTING_OPTIONS) names[count++] = setting_get(i)->key;
    *ret_settings = count;
    const char *const *option_names = setting_option_names(&options);
    for (size_t i = 0; i < options && count < NAMES_MAX; i++) names[count++] = option_names[i];
    return count;
}

static int refuse_unknown(const char *key, const char *name, struct err *err) {
    const char *names[NAMES_MAX];
    size_t settings, places[NEAREST_MAX];
    size_t count = all_names(names, &settings);
    size_t found = nearest_find(name, names, count, places);
    int code = err_set(err, ERR_UNKNOWN, "setting '%s' is not known", key);
    CLEANUP(buf_done) struct buf hint = BUF_INIT;
    for (size_t i = 0; i < found; i++)
        buf_printf(&hint, "%s'%s%s'",
                   i == 0          ? "Did you mean "
                   : i + 1 < found ? ", "
                                   : " or ",
                   places[i] < settings ? "" : OPTIONS_PREFIX, names[places[i]]);
    if (found)
        err_hint(err, "%s?", buf_text(&hint));
    else
        err_hint(err, "Options of inductor are written as options.NAME.");
    return code;
}

static int refuse_slip(const char *key, const char *value, const char *const *names, size_t count,
                       struct err *err) {
    int code = err_set(err, ERR_UNKNOWN, "value '%s' of setting '%s' is not known", value, key);
    nearest_hint(err, value, names, count);
    return code;
}

static size_t value_names(int id, const char *names[NAMES_MAX]) {
    size_t count;
    const struct setting_value *values = setting_values(id, &count);
    for (size_t i = 0; i < count; i++) names[i] = values[i].value;
    return count;
}

static int refuse_choice(int id, const char *key, const char *value, struct err *err) {
    const char *names[NAMES_MAX];
    size_t count = value_names(id, names);
    CLEANUP(buf_done) struct buf list = BUF_INIT;
    for (size_t i = 0; i < count; i++) buf_printf(&list, "%s, ", names[i]);
    int code =
        err_set(err, ERR_INVALID, "value '%s' of setting '%s' is not one of %s" SETTING_AS_WRITTEN,
                value, key, buf_text(&list));
    nearest_hint(err, value, names, count);
    return code;
}

static bool is_dotted_name(const char *name) {
    if (*name == '.' || has_suffix(name, ".") || strstr(name, "..")) return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_' && *name != '.') return false;
    return true;
}

static int check_key(const char *key, struct err *err) {
    const char *name = unitless(key);
    if (!is_clean_text(key))
        return err_set(err, ERR_INVALID, "name of a setting holds characters that are no text");
    if (strlen(key) > SETTING_KEY_MAX)
        return err_set(err, ERR_LIMIT, "name of a setting has more than %d bytes", SETTING_KEY_MAX);
    if (setting_find(key) < 0 || strchr(key, '=')) return refuse_unknown(key, name, err);
    if (name == key) return 0;
    if (name == key + 1 || strchr(key, '/') + 1 != name)
        return err_set(err, ERR_SYNTAX, "setting '%s' does not name a unit: expected UNIT/NAME",
                       key);
    return 0;
}

static int check_option(const char *key, struct err *err) {
    size_t count;
    const char *const *names = setting_option_names(&count);
    const char *name = unitless(key) + strlen(OPTIONS_PREFIX);
    if (!is_dotted_name(name))
        return err_set(err, ERR_INVALID, "setting '%s' is no name of an inductor option", key);
    if (!is_slip_of(name, names, count)) return 0;
    return refuse_unknown(key, name, err);
}

static int check_effect(const struct setting *row, const char *key, struct err *err) {
    if (row->effect == SETTING_EFFECT_LIVE) return 0;
    int code = err_set(
        err, ERR_REFUSED,
        "setting '%s' cannot be switched while the job runs: it takes effect at the %s", key,
        row->effect == SETTING_EFFECT_RESTART ? "next start of a process" : "next compile only");
    if (has_prefix(row->path, "env:"))
        err_hint(err, "Set the environment variable %s before the start.",
                 row->path + strlen("env:"));
    else
        err_hint(err, "Set %s in the script.", row->path);
    return code;
}

static int check_value(int id, const char *key, const char *value, struct err *err) {
    const char *names[NAMES_MAX];
    size_t count = value_names(id, names);
    char spelt[SETTING_VALUE_MAX + 1];
    spelling_of(id, value, spelt);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], spelt) == 0) return 0;
    switch (setting_get(id)->type) {
    case SETTING_TYPE_CHOICE: return refuse_choice(id, key, value, err);
    case SETTING_TYPE_OPEN:
        return is_slip_of(value, names, count) ? refuse_slip(key, value, names, count, err) : 0;
    case SETTING_TYPE_COUNT: {
        uint64_t number;
        if (str_to_u64(value, &number) && number > 0) return 0;
        return err_set(err, ERR_INVALID, "value '%s' of setting '%s' is no whole number above 0",
                       value, key);
    }
    case SETTING_TYPE_TEXT: return 0;
    }
    return 0;
}

int settings_check(const char *key, const char *value, struct err *err) {
    if (strcmp(key, SETTING_AS_WRITTEN) == 0)
        return *value ? err_set(err, ERR_INVALID, "setting '%s' takes no value", key) : 0;
    int rc = check_key(key, err);
    if (rc < 0) return rc;
    int id = setting_find(key);
    if (!*value) return err_set(err, ERR_INVALID, "setting '%s' has no value", key);
    if (strlen(value) > SETTING_VALUE_MAX)
        return err_set(err, ERR_LIMIT, "value of setting '%s' has more than %d bytes", key,
                       SETTING_VALUE_MAX);
    if (!is_clean_text(value))
        return err_set(err, ERR_INVALID, "value of setting '%s' holds characters that are no text",
                       key);
    if (id == SETTING_OPTIONS && (rc = check_option(key, err)) < 0) return rc;
    if ((rc = check_effect(setting_get(id), key, err)) < 0) return rc;
    return strcmp(value, SETTING_AS_WRITTEN) == 0 ? 0 : check_value(id, key, value, err);
}

int settings_set(struct settings *set, const char *key, const char *value, struct err *err) {
    int rc = settings_check(key, value, err);
    if (rc < 0) return rc;
    if (set->count >= SETTINGS_MAX && !settings_get(set, key))
        return err_set(err, ERR_LIMIT, "more than %d settings in one set", SETTINGS_MAX);
    char spelt[SETTING_VALUE_MAX + 1];
    spelling_of(setting_find(key), value, spelt);
    settings_put(set, key, spelt);
    return 0;
}

/* The settings of one unit: those for all units with its own over them. */
static bool has_options_for(const struct settings *set, const char *unit, size_t length) {
    for (size_t i = 0; i < set->count; i++) {
        const char *key = set->pairs[i].key, *name = unitless(key);
        bool is_meant =
            name == key || ((size_t)(name - key) == length && strncmp(key, unit, length) == 0);
        bool is_set = strcmp(set->pairs[i].value, SETTING_AS_WRITTEN) != 0;
        if (is_meant && is_set && setting_find(key) == SETTING_OPTIONS) return true;
    }
    return false;
}

static bool is_mode_set(const struct settings *set, const char *key) {
    const char *mode = settings_get(set, key);
    return mode && strcmp(mode, SETTING_AS_WRITTEN) != 0;
}

static int refuse_mode(struct err *err) {
    int code = err_set(
        err, ERR_REFUSED,
        "setting 'mode' does not go together with 'options.*': torch takes one or the other");
    err_hint(err, "A mode is a set of options; take mode=as-written and write the options out.");
    return code;
}

int settings_check_set(const struct settings *set, struct err *err) {
    if (is_mode_set(set, "mode") && has_options_for(set, "", 0)) return refuse_mode(err);
    for (size_t i = 0; i < set->count; i++) {
        const char *key = set->pairs[i].key, *name = unitless(key);
        if (name == key) continue;
        size_t length = (size_t)(name - key);
        char own[SETTING_KEY_MAX + 8];
        snprintf(own, sizeof own, "%.*smode", (int)length, key);
        bool has_mode = settings_get(set, own) ? is_mode_set(set, own) : is_mode_set(set, "mode");
        if (has_mode && has_options_for(set, key, length)) return refuse_mode(err);
    }
    return 0;
}
