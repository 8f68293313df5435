/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/settings.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#include "engine/base/banned.h"

#define OPTIONS_PREFIX "options."

static const struct setting table[SETTING_ID_COUNT] = {
#define SETTING(symbol, key, type, effect, toggle, label, path, needs, cannot, risk, help)         \
    [SETTING_##symbol] = {key,                                                                     \
                          SETTING_TYPE_##type,                                                     \
                          SETTING_EFFECT_##effect,                                                 \
                          toggle,                                                                  \
                          SETTING_LABEL_##label,                                                   \
                          path,                                                                    \
                          needs,                                                                   \
                          cannot,                                                                  \
                          risk,                                                                    \
                          help},
#define VALUE(symbol, value, needs, help)
#define OPTION_NAME(name)
#include "engine/setup/settings.def"
#undef SETTING
#undef VALUE
#undef OPTION_NAME
};

static const struct setting_value values[] = {
#define SETTING(symbol, key, type, effect, toggle, label, path, needs, cannot, risk, help)
#define VALUE(symbol, value, needs, help) {SETTING_##symbol, value, needs, help},
#define OPTION_NAME(name)
#include "engine/setup/settings.def"
#undef SETTING
#undef VALUE
#undef OPTION_NAME
};

static const char *const option_names[] = {
#define SETTING(symbol, key, type, effect, toggle, label, path, needs, cannot, risk, help)
#define VALUE(symbol, value, needs, help)
#define OPTION_NAME(name) name,
#include "engine/setup/settings.def"
#undef SETTING
#undef VALUE
#undef OPTION_NAME
};

const struct setting *setting_get(enum setting_id id) {
    return &table[id];
}

static const char *without_unit(const char *key) {
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

int setting_find(const char *key) {
    const char *name = without_unit(key);
    if (has_prefix(name, OPTIONS_PREFIX))
        return name[strlen(OPTIONS_PREFIX)] ? SETTING_OPTIONS : -1;
    for (int i = 0; i < SETTING_ID_COUNT; i++)
        if (i != SETTING_OPTIONS && strcmp(table[i].key, name) == 0) return i;
    return -1;
}

const struct setting_value *setting_values(enum setting_id id, size_t *ret_count) {
    const struct setting_value *first = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        if (values[i].setting != id) continue;
        if (!first) first = &values[i];
        ++*ret_count;
    }
    return first;
}

const char *const *setting_option_names(size_t *ret_count) {
    *ret_count = ARRAY_SIZE(option_names);
    return option_names;
}

const char *setting_type_name(enum setting_type type) {
    static const char *const names[] = {"choice", "open", "count", "text"};
    return names[type];
}

const char *setting_effect_name(enum setting_effect effect) {
    static const char *const names[] = {"live", "next compile", "restart"};
    return names[effect];
}

void settings_init(struct settings *set) {
    *set = (struct settings)SETTINGS_INIT;
}

void settings_done(struct settings *set) {
    settings_clear(set);
    free(set->pairs);
    settings_init(set);
}

void settings_clear(struct settings *set) {
    for (size_t i = 0; i < set->count; i++) {
        free(set->pairs[i].key);
        free(set->pairs[i].value);
    }
    set->count = 0;
}

void settings_copy(struct settings *set, const struct settings *from) {
    if (set == from) return;
    settings_clear(set);
    for (size_t i = 0; i < from->count; i++)
        settings_put(set, from->pairs[i].key, from->pairs[i].value);
}

/* Byte order of "a=" and "b=": that of the lines, which differs from that of the keys ("a.b=" comes
 * before "a="). */
static int compare_lines(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    int left = *a ? (unsigned char)*a : '=', right = *b ? (unsigned char)*b : '=';
    return left != right ? left - right : (*a != 0) - (*b != 0);
}

/* Place of the key, or where it would stand. */
static size_t place(const struct settings *set, const char *key, bool *ret_found) {
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_lines(set->pairs[middle].key, key);
        if (order == 0) return *ret_found = true, middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return *ret_found = false, low;
}

const char *settings_get(const struct settings *set, const char *key) {
    bool found;
    size_t at = place(set, key, &found);
    return found ? set->pairs[at].value : NULL;
}

void settings_put(struct settings *set, const char *key, const char *value) {
    bool found;
    size_t at = place(set, key, &found);
    char *copy = mem_strdup(value);
    if (found) {
        free(set->pairs[at].value);
        set->pairs[at].value = copy;
        return;
    }
    if (set->count == set->room) {
        set->room = set->room ? 2 * set->room : 8;
        set->pairs = mem_resize(set->pairs, set->room, sizeof set->pairs[0]);
    }
    memmove(&set->pairs[at + 1], &set->pairs[at], (set->count - at) * sizeof set->pairs[0]);
    set->pairs[at] = (struct settings_pair){mem_strdup(key), copy};
    set->count++;
}

void settings_remove(struct settings *set, const char *key) {
    bool found;
    size_t at = place(set, key, &found);
    if (!found) return;
    free(set->pairs[at].key);
    free(set->pairs[at].value);
    set->count--;
    memmove(&set->pairs[at], &set->pairs[at + 1], (set->count - at) * sizeof set->pairs[0]);
}

void settings_merge(struct settings *set, const struct settings *change) {
    if (settings_get(change, SETTING_AS_WRITTEN)) settings_clear(set);
    for (size_t i = 0; i < change->count; i++) {
        const struct settings_pair *pair = &change->pairs[i];
        if (strcmp(pair->key, SETTING_AS_WRITTEN) == 0) continue;
        if (strcmp(pair->value, SETTING_AS_WRITTEN) == 0)
            settings_remove(set, pair->key);
        else
            settings_put(set, pair->key, pair->value);
    }
}

bool is_same_settings(const struct settings *a, const struct settings *b) {
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->pairs[i].key, b->pairs[i].key) != 0 ||
            strcmp(a->pairs[i].value, b->pairs[i].value) != 0)
            return false;
    return true;
}

uint32_t settings_key(const struct settings *set) {
    if (!set->count) return 0;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    for (size_t i = 0; i < set->count; i++)
        buf_printf(&lines, "%s=%s\n", set->pairs[i].key, set->pairs[i].value);
    uint32_t key = str_hash(lines.data, lines.size) & 0x7fffffffu;
    return key ? key : 1;
}

static void label_pair(struct buf *label, const struct settings_pair *pair, int id) {
    const char *name = without_unit(pair->key);
    buf_puts(label, label->size ? " " : "");
    bool is_taken_away = strcmp(pair->value, SETTING_AS_WRITTEN) == 0;
    if (id >= 0 && name == pair->key && table[id].label == SETTING_LABEL_VALUE && !is_taken_away) {
        buf_puts(label, pair->value);
        return;
    }
    const char *shown = id == SETTING_OPTIONS ? name + strlen(OPTIONS_PREFIX) : name;
    buf_printf(label, "%.*s%s=%s", (int)(name - pair->key), pair->key, shown, pair->value);
}

static int order_of(const struct settings_pair *pair) {
    int id = setting_find(pair->key);
    return id < 0 ? SETTING_ID_COUNT : id;
}

static int compare_in_label(const void *left, const void *right) {
    const struct settings_pair *const *a = left, *const *b = right;
    int order = order_of(*a) - order_of(*b);
    return order ? order : strcmp((*a)->key, (*b)->key);
}

char *settings_label(const struct settings *set) {
    if (!set->count) return mem_strdup("as written");
    struct buf label = BUF_INIT;
    const struct settings_pair **pairs = mem_array(set->count, sizeof *pairs);
    for (size_t i = 0; i < set->count; i++) pairs[i] = &set->pairs[i];
    qsort(pairs, set->count, sizeof *pairs, compare_in_label);
    for (size_t i = 0; i < set->count; i++)
        label_pair(&label, pairs[i], setting_find(pairs[i]->key));
    free(pairs);
    return buf_take(&label);
}

static void text_value(struct buf *text, const char *value) {
    bool is_plain = *value && *value != ' ' && !has_suffix(value, " ") && !strpbrk(value, ",\"");
    if (is_plain) {
        buf_puts(text, value);
        return;
    }
    buf_puts(text, "\"");
    for (; *value; value++)
        buf_printf(text, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
    buf_puts(text, "\"");
}

char *settings_text(const struct settings *set) {
    if (!set->count) return mem_strdup(SETTING_AS_WRITTEN);
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < set->count; i++) {
        buf_printf(&text, "%s%s", i ? "," : "", set->pairs[i].key);
        if (strcmp(set->pairs[i].key, SETTING_AS_WRITTEN) == 0) continue;
        buf_puts(&text, "=");
        text_value(&text, set->pairs[i].value);
    }
    return buf_take(&text);
}
