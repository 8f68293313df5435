/* A preset read from YAML.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/setup/doc.h"
#include "engine/setup/nearest.h"
#include "engine/setup/preset.h"
#include "engine/setup/preset_parts.h"
#include "engine/setup/spelling.h"

#include "engine/base/banned.h"

static const char *const part_names[PRESET_PART_COUNT] = {
    [PRESET_PART_NAME] = "name",         [PRESET_PART_DESCRIPTION] = "description",
    [PRESET_PART_SETTINGS] = "settings", [PRESET_PART_MEASURED_ON] = "measured_on",
    [PRESET_PART_NOTES] = "notes",
};

const char *preset_part_name(enum preset_part part) {
    return part_names[part];
}

int preset_part_find(const char *key) {
    for (int i = 0; i < PRESET_PART_COUNT; i++)
        if (strcmp(part_names[i], key) == 0) return i;
    return -1;
}

/* ---- messages with a place ---- */

static int at_key(const struct doc *node, struct err *err) {
    return err_wrap(err, "line %u, column %u", node->line, node->column);
}

static int at_value(const struct doc *node, struct err *err) {
    return err_wrap(err, "line %u, column %u", node->value_line, node->value_column);
}

static const char *const type_names[] = {
    [DOC_TEXT] = "a text", [DOC_MAP] = "a map", [DOC_LIST] = "a list"};

static int expect(const struct doc *node, const char *name, enum doc_type type, struct err *err) {
    if (node->type == type) return 0;
    err_set(err, ERR_SYNTAX, "%s is %s, not %s", name, type_names[node->type], type_names[type]);
    return at_value(node, err), -(int)ERR_SYNTAX;
}

/* ---- parts ---- */

/* Text of a person: line feeds and tabs are fine where `has_lines`. */
static int read_text(const struct doc *node, bool has_lines, char **ret, struct err *err) {
    CLEANUP(cleanup_free) char *name = mem_printf("'%s'", node->key);
    int rc = expect(node, name, DOC_TEXT, err);
    if (rc < 0) return rc;
    CLEANUP(cleanup_free) char *flat = mem_strdup(node->text);
    for (char *at = flat; has_lines && (at = strpbrk(at, "\n\t"));) *at = ' ';
    if (!is_clean_text(flat)) {
        rc = err_set(err, ERR_INVALID, "'%s' holds characters that are no text", node->key);
        return at_value(node, err), rc;
    }
    free(*ret);
    *ret = *node->text ? mem_strdup(node->text) : NULL;
    return 0;
}

/* One setting, or a map of them whose keys go behind `prefix`: options, and what is nested in it.
 */
static int read_setting(const struct doc *node, const char *prefix, struct settings *settings,
                        struct err *err) {
    CLEANUP(cleanup_free) char *key = mem_printf("%s%s", prefix, node->key);
    bool is_group = node->type == DOC_MAP && (*prefix || strcmp(node->key, "options") == 0);
    if (is_group) {
        CLEANUP(cleanup_free) char *deeper = mem_printf("%s.", key);
        for (size_t i = 0; i < node->count; i++) {
            int rc = read_setting(node->children[i], deeper, settings, err);
            if (rc < 0) return rc;
        }
        return 0;
    }
    int rc = settings_check(key, SETTING_AS_WRITTEN, err);
    if (rc == 0 && node->type != DOC_TEXT)
        rc =
            err_set(err, ERR_SYNTAX, "setting '%s' is %s, not a text", key, type_names[node->type]);
    else if (rc == 0 && settings_get(settings, key))
        rc = err_set(err, ERR_SYNTAX, "setting '%s' is given twice", key);
    if (rc < 0) return at_key(node, err), rc;
    rc = settings_set(settings, key, node->text, err);
    return rc < 0 ? (at_value(node, err), rc) : 0;
}

static int read_settings(const struct doc *node, struct settings *settings, struct err *err) {
    bool is_empty = node->type == DOC_TEXT && !*node->text;
    if (is_empty) return 0;
    int rc = expect(node, "'settings'", DOC_MAP, err);
    if (rc < 0) return rc;
    for (size_t i = 0; i < node->count; i++)
        if ((rc = read_setting(node->children[i], "", settings, err)) < 0) return rc;
    if ((rc = settings_check_set(settings, err)) < 0) return at_key(node, err), rc;
    return 0;
}

/* A key that is none of ours is somebody else's, unless it looks like a slip of the finger. */
static int check_foreign(const struct doc *node, const char *kind, const char *const *names,
                         size_t count, struct err *err) {
    if (!is_slip_of(node->key, names, count)) return 0;
    int rc = err_set(err, ERR_UNKNOWN, "%s '%s' is not known", kind, node->key);
    nearest_hint(err, node->key, names, count);
    return at_key(node, err), rc;
}

static int read_measure(const struct doc *node, struct preset *preset, struct err *err) {
    const char *names[PRESET_MEASURE_COUNT];
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++) {
        names[i] = preset_measure_name(i);
        if (strcmp(names[i], node->key) != 0) continue;
        CLEANUP(cleanup_free) char *name = mem_printf("'%s'", node->key);
        int rc = expect(node, name, DOC_TEXT, err);
        if (rc < 0) return rc;
        rc = preset_measure(preset, i, *node->text ? node->text : NULL, err);
        return rc < 0 ? (at_value(node, err), rc) : 0;
    }
    return check_foreign(node, "key", names, PRESET_MEASURE_COUNT, err);
}

static int read_measured_on(const struct doc *node, struct preset *preset, struct err *err) {
    int rc = expect(node, "'measured_on'", DOC_MAP, err);
    for (size_t i = 0; rc == 0 && i < node->count; i++)
        rc = read_measure(node->children[i], preset, err);
    return rc;
}

static int read_part(const struct doc *node, struct preset *preset, struct err *err) {
    switch (preset_part_find(node->key)) {
    case PRESET_PART_NAME: return read_text(node, false, &preset->name, err);
    case PRESET_PART_DESCRIPTION: return read_text(node, true, &preset->description, err);
    case PRESET_PART_SETTINGS: return read_settings(node, &preset->settings, err);
    case PRESET_PART_MEASURED_ON: return read_measured_on(node, preset, err);
    case PRESET_PART_NOTES: return read_text(node, true, &preset->notes, err);
    default: return check_foreign(node, "key", part_names, PRESET_PART_COUNT, err);
    }
}

int preset_read_doc(const struct doc *root, struct preset *ret, struct err *err) {
    CLEANUP(preset_done) struct preset preset = {0};
    int rc = expect(root, "preset", DOC_MAP, err);
    for (size_t i = 0; rc == 0 && i < root->count; i++)
        rc = read_part(root->children[i], &preset, err);
    if (rc < 0) return rc;
    if (!doc_get(root, "settings")) {
        rc = err_set(err, ERR_MISSING, "key 'settings' is missing");
        err_hint(err, "A preset has a map 'settings' of keys and values; it may be empty.");
        return rc;
    }
    preset_done(ret);
    *ret = preset;
    preset_init(&preset);
    return 0;
}

int preset_read(const char *text, size_t size, struct preset *ret, struct err *err) {
    CLEANUP(doc_cleanup) struct doc *root = NULL;
    int rc = doc_read(text, size, &root, err);
    return rc < 0 ? rc : preset_read_doc(root, ret, err);
}
