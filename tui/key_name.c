/* Keys by name, for the help and for scripts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "tui/keys.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

static const char *const symbol_names[] = {"Enter", "Tab",  "Esc",   "Backspace", "Up",
                                           "Down",  "Left", "Right", "Home",      "End",
                                           "PgUp",  "PgDn", "Ins",   "Del"};
_Static_assert(ARRAY_SIZE(symbol_names) == KEY_SYMBOL_COUNT, "a name for each symbol");

static const struct {
    const char *prefix;
    unsigned modifier;
} prefixes[] = {{"Ctrl-", KEY_CTRL}, {"Alt-", KEY_ALT}, {"Shift-", KEY_SHIFT}};

static const struct {
    const char *name;
    enum key_symbol symbol;
} others[] = {{"Escape", KEY_SYMBOL_ESCAPE},
              {"PageUp", KEY_SYMBOL_PAGE_UP},
              {"PageDown", KEY_SYMBOL_PAGE_DOWN},
              {"Delete", KEY_SYMBOL_DELETE},
              {"Insert", KEY_SYMBOL_INSERT}};

static void base_name(const struct key *key, char name[KEY_NAME_SIZE]) {
    static const char *const kinds[] = {[KEY_KIND_MOUSE] = "mouse",
                                        [KEY_KIND_PASTE] = "paste",
                                        [KEY_KIND_MODE] = "mode",
                                        [KEY_KIND_POSITION] = "position"};
    if (key->kind == KEY_KIND_SYMBOL)
        snprintf(name, KEY_NAME_SIZE, "%s", symbol_names[key->code]);
    else if (key->kind == KEY_KIND_FUNCTION)
        snprintf(name, KEY_NAME_SIZE, "F%d", key->code);
    else if (key->kind != KEY_KIND_CHARACTER)
        snprintf(name, KEY_NAME_SIZE, "%s", kinds[key->kind]);
    else if (key->code == ' ')
        snprintf(name, KEY_NAME_SIZE, "Space");
    else
        name[utf8_write(name, (uint32_t)key->code)] = 0;
}

void key_name(const struct key *key, char ret_name[KEY_NAME_SIZE]) {
    char base[KEY_NAME_SIZE] = "", before[KEY_NAME_SIZE] = "";
    base_name(key, base);
    bool is_caret = key->kind == KEY_KIND_CHARACTER && key->modifiers == KEY_CTRL &&
                    key->code > ' ' && key->code < 0x7F;
    if (is_caret) {
        snprintf(ret_name, KEY_NAME_SIZE, "^%c", toupper(key->code));
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (key->modifiers & prefixes[i].modifier)
            snprintf(before + strlen(before), sizeof before - strlen(before), "%s",
                     prefixes[i].prefix);
    snprintf(ret_name, KEY_NAME_SIZE, "%.18s%.12s", before, base);
}

static bool read_symbol(const char *name, struct key *key) {
    key->kind = KEY_KIND_SYMBOL;
    for (int i = 0; i < KEY_SYMBOL_COUNT; i++)
        if (!strcasecmp(symbol_names[i], name)) return key->code = i, true;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (!strcasecmp(others[i].name, name)) return key->code = (int)others[i].symbol, true;
    return false;
}

static bool read_base(const char *name, struct key *key) {
    uint64_t number;
    uint32_t point;
    if (name[0] == 'F' && name[1] >= '1' && str_to_u64(name + 1, &number) && number < 64) {
        key->kind = KEY_KIND_FUNCTION;
        key->code = (int)number;
        return true;
    }
    if (*name && read_symbol(name, key)) return true;
    key->kind = KEY_KIND_CHARACTER;
    key->code = ' ';
    if (!strcasecmp(name, "Space")) return true;
    if (!*name || utf8_read(name, strlen(name), &point) != strlen(name) || point < 0x20)
        return false;
    key->code = (int)point;
    return true;
}

bool key_read(const char *name, struct key *ret_key) {
    struct key key = {0};
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (!strncasecmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)) &&
            name[strlen(prefixes[i].prefix)]) {
            key.modifiers |= prefixes[i].modifier;
            name += strlen(prefixes[i].prefix);
        }
    if (name[0] == '^' && name[1] && !name[2]) {
        key.modifiers |= KEY_CTRL;
        name++;
    }
    if (!read_base(name, &key)) return false;
    if (key.kind == KEY_KIND_CHARACTER && key.modifiers & KEY_CTRL) key.code = tolower(key.code);
    *ret_key = key;
    return true;
}

bool is_same_key(const struct key *a, const struct key *b) {
    return a->kind == b->kind && a->code == b->code && a->modifiers == b->modifiers;
}
