/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/spelling.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/base/banned.h"

static const char *const on_words[] = {"true", "yes", "1", NULL};
static const char *const off_words[] = {"false", "no", "0", NULL};
static const char *const auto_words[] = {"none", "null", NULL};

static const struct {
    const char *value; /* stored */
    const char *const *words;
} synonyms[] = {{"on", on_words}, {"off", off_words}, {"auto", auto_words}};

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcasecmp(text, *words) == 0) return true;
    return false;
}

static bool has_value(int id, const char *value) {
    size_t count;
    const struct setting_value *values = setting_values(id, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].value, value) == 0) return true;
    return false;
}

static const char *choice(int id, const char *value) {
    size_t count;
    const struct setting_value *values = setting_values(id, &count);
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(values[i].value, value) == 0) return values[i].value;
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (is_one_of(value, synonyms[i].words) && has_value(id, synonyms[i].value))
            return synonyms[i].value;
    return value;
}

static const char *option(const char *value) {
    if (strcmp(value, "True") == 0) return "true";
    if (strcmp(value, "False") == 0) return "false";
    return strcmp(value, "None") == 0 ? "none" : value;
}

void spelling_of(int id, const char *value, char ret_value[SETTING_VALUE_MAX + 1]) {
    if (id == SETTING_OPTIONS)
        value = option(value);
    else if (id >= 0 && setting_get(id)->type == SETTING_TYPE_CHOICE)
        value = choice(id, value);
    snprintf(ret_value, SETTING_VALUE_MAX + 1, "%s", value);
}

/* Bytes of the character at `at`, 0 when it is none. */
static int utf8_length(const unsigned char *at) {
    if (*at < 0x80) return 1;
    int length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc2 || *at > 0xf4) return 0;
    uint32_t point = *at & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[length] || point > 0x10ffff || is_surrogate ? 0 : length;
}

/* C0, delete and C1. */
static bool is_control(const unsigned char *at) {
    return *at < ' ' || *at == 127 || (*at == 0xc2 && at[1] < 0xa0);
}

bool is_clean_text(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        int length = utf8_length(at);
        if (!length || is_control(at)) return false;
        at += length;
    }
    return true;
}
