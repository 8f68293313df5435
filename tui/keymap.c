/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/keymap.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

enum {
    SEND = ACTION_EFFECT_SEND,
    JOB = ACTION_EFFECT_JOB,
    LEAVE = ACTION_EFFECT_LEAVE,
    SUSPEND = ACTION_EFFECT_SUSPEND,
    SAVE = ACTION_EFFECT_SAVE
};

static const struct action actions[] = {
#define GROUP(symbol, title)
#define ACTION(symbol, name, group, effects, help) {name, help, ACTION_GROUP_##group, effects},
#include "tui/actions.def"
#undef GROUP
#undef ACTION
};

static const char *const group_titles[] = {
#define GROUP(symbol, title) title,
#define ACTION(symbol, name, group, effects, help)
#include "tui/actions.def"
#undef GROUP
#undef ACTION
};

static const char *const scope_names[] = {"everywhere", "settings",       "tables", "text",
                                          "replay",     "views",          "help",   "dialogs",
                                          "fields",     "keys to the job"};
_Static_assert(ARRAY_SIZE(scope_names) == KEY_SCOPE_COUNT, "a name for each scope");

enum {
    ALL = 1 << KEY_SCOPE_ALL,
    SETTINGS = 1 << KEY_SCOPE_SETTINGS,
    TABLE = 1 << KEY_SCOPE_TABLE,
    TEXT = 1 << KEY_SCOPE_TEXT,
    REPLAY = 1 << KEY_SCOPE_REPLAY,
    DEEPER = 1 << KEY_SCOPE_DEEPER,
    HELP = 1 << KEY_SCOPE_HELP,
    DIALOG = 1 << KEY_SCOPE_DIALOG,
    FIELD = 1 << KEY_SCOPE_FIELD,
    TO_JOB = 1 << KEY_SCOPE_JOB,
    MODAL = HELP | DIALOG | FIELD | TO_JOB
};

/* The order is that of the footer. Quit is its last entry and stays on narrow screens. */
static const struct binding bindings[] = {
    {"F1", ACTION_HELP, ALL, 0, "help"},
    {"?", ACTION_HELP, ALL, 0, NULL},
    {"h", ACTION_HELP, ALL, 0, NULL},
    {"Esc", ACTION_BACK, DEEPER, 0, "back"},
    {",", ACTION_STEP_BACK, REPLAY, 0, "step"},
    {".", ACTION_STEP_FORWARD, REPLAY, 0, "step"},
    {";", ACTION_SEEK, REPLAY, 0, "seek"},
    {"+", ACTION_FASTER, REPLAY, 0, "speed"},
    {"-", ACTION_SLOWER, REPLAY, 0, "speed"},
    {"m", ACTION_TOGGLE, ALL, 'm', "toggle"},
    {"f", ACTION_TOGGLE, ALL, 'f', "toggle"},
    {"d", ACTION_TOGGLE, ALL, 'd', "toggle"},
    {"c", ACTION_TOGGLE, ALL, 'c', "toggle"},
    {"s", ACTION_TOGGLE, ALL, 's', "toggle"},
    {"v", ACTION_TOGGLE, ALL, 'v', "toggle"},
    {"o", ACTION_TOGGLE, ALL, 'o', "toggle"},
    {"A", ACTION_APPLY, ALL, 0, "apply"},
    {"u", ACTION_UNDO, ALL, 0, "undo"},
    {"b", ACTION_BASELINE, ALL, 0, "baseline"},
    {"B", ACTION_COMPARE, ALL, 0, NULL},
    {"L", ACTION_LET_GO, ALL, 0, NULL},
    {"1", ACTION_VIEW, ALL, 1, "views"},
    {"2", ACTION_VIEW, ALL, 2, "views"},
    {"3", ACTION_VIEW, ALL, 3, "views"},
    {"4", ACTION_VIEW, ALL, 4, "views"},
    {"5", ACTION_VIEW, ALL, 5, "views"},
    {"6", ACTION_VIEW, ALL, 6, "views"},
    {"7", ACTION_VIEW, ALL, 7, "views"},
    {"/", ACTION_FILTER, TABLE | TEXT, 0, "filter"},
    {"F4", ACTION_FILTER, TABLE | TEXT, 0, NULL},
    {"F6", ACTION_SORT_NEXT, TABLE, 0, "sort"},
    {">", ACTION_SORT_NEXT, TABLE, 0, NULL},
    {"<", ACTION_SORT_PREVIOUS, TABLE, 0, NULL},
    {"I", ACTION_INVERT, TABLE, 0, NULL},
    {"Space", ACTION_TAG, TABLE, 0, "tag"},
    {"U", ACTION_UNTAG, TABLE, 0, NULL},
    {"F", ACTION_FOLLOW, TABLE, 0, NULL},
    {"n", ACTION_FIND_NEXT, TEXT, 0, NULL},
    {"F3", ACTION_FIND_NEXT, TEXT, 0, NULL},
    {"N", ACTION_FIND_PREVIOUS, TEXT, 0, NULL},
    {"i", ACTION_INPUT, ALL, 0, NULL},
    {"P", ACTION_PRESETS, ALL, 0, "presets"},
    {"W", ACTION_SAVE_PRESET, ALL, 0, NULL},
    {"p", ACTION_FREEZE, ALL, 0, "freeze"},
    {"Z", ACTION_FREEZE, ALL, 0, NULL},
    {"z", ACTION_ZOOM, ALL, 0, "zoom"},
    {"e", ACTION_EDIT, ALL, 0, "edit"},
    {"x", ACTION_UNSTAGE, ALL, 0, NULL},
    {"@", ACTION_LOG, ALL, 0, "log"},
    {"!", ACTION_NEXT_PROBLEM, ALL, 0, NULL},
    {"Tab", ACTION_NEXT_PANEL, ALL, 0, NULL},
    {"Shift-Tab", ACTION_PREVIOUS_PANEL, ALL, 0, NULL},
    {"T", ACTION_THEME, ALL, 0, NULL},
    {"^L", ACTION_REDRAW, ALL, 0, NULL},
    {"F5", ACTION_REDRAW, ALL, 0, NULL},

    {"Right", ACTION_STAGE_NEXT, SETTINGS, 0, NULL},
    {"Space", ACTION_STAGE_NEXT, SETTINGS, 0, NULL},
    {"Left", ACTION_STAGE_PREVIOUS, SETTINGS, 0, NULL},

    {"Up", ACTION_UP, ALL | HELP | DIALOG | FIELD, 0, NULL},
    {"k", ACTION_UP, ALL | HELP, 0, NULL},
    {"Down", ACTION_DOWN, ALL | HELP | DIALOG | FIELD, 0, NULL},
    {"j", ACTION_DOWN, ALL | HELP, 0, NULL},
    {"Left", ACTION_LEFT, FIELD, 0, NULL},
    {"Right", ACTION_RIGHT, FIELD, 0, NULL},
    {"PgUp", ACTION_PAGE_UP, ALL | HELP, 0, NULL},
    {"PgDn", ACTION_PAGE_DOWN, ALL | HELP, 0, NULL},
    {"Home", ACTION_HOME, ALL | HELP | FIELD, 0, NULL},
    {"g", ACTION_HOME, ALL | HELP, 0, NULL},
    {"^A", ACTION_HOME, FIELD, 0, NULL},
    {"End", ACTION_END, ALL | HELP | FIELD, 0, NULL},
    {"G", ACTION_END, ALL | HELP, 0, NULL},
    {"^E", ACTION_END, FIELD, 0, NULL},
    {"Enter", ACTION_OPEN, ALL, 0, NULL},
    {"Esc", ACTION_BACK, HELP, 0, NULL},
    {"Backspace", ACTION_BACK, DEEPER | HELP, 0, NULL},
    {"F1", ACTION_BACK, HELP, 0, NULL},
    {"?", ACTION_BACK, HELP, 0, NULL},
    {"q", ACTION_BACK, HELP, 0, "back"},
    {"/", ACTION_FILTER, HELP, 0, "search"},
    {"y", ACTION_COPY, SETTINGS | TABLE | TEXT, 0, NULL},
    {"C", ACTION_COLUMNS, TABLE, 0, NULL},
    {"w", ACTION_WRITE, ALL, 0, NULL},

    {"Enter", ACTION_ACCEPT, DIALOG | FIELD, 0, "accept"},
    {"Space", ACTION_ACCEPT, DIALOG, 0, NULL},
    {"Esc", ACTION_CANCEL, DIALOG | FIELD, 0, "cancel"},
    {"q", ACTION_CANCEL, DIALOG, 0, NULL},
    {"Tab", ACTION_NEXT_CHOICE, DIALOG, 0, "choose"},
    {"Right", ACTION_NEXT_CHOICE, DIALOG, 0, NULL},
    {"Shift-Tab", ACTION_PREVIOUS_CHOICE, DIALOG, 0, NULL},
    {"Left", ACTION_PREVIOUS_CHOICE, DIALOG, 0, NULL},
    {"Tab", ACTION_COMPLETE, FIELD, 0, "complete"},
    {"Backspace", ACTION_ERASE, FIELD, 0, NULL},
    {"Del", ACTION_DELETE, FIELD, 0, NULL},
    {"^W", ACTION_ERASE_WORD, FIELD, 0, NULL},
    {"^U", ACTION_ERASE_ALL, FIELD, 0, NULL},

    {"^]", ACTION_INPUT_END, TO_JOB, 0, "back to the screen"},
    {"^C", ACTION_INTERRUPT, ALL | HELP | DIALOG | FIELD, 0, NULL},
    {"^Z", ACTION_SUSPEND, ALL | HELP | DIALOG | FIELD, 0, NULL},
    {"q", ACTION_QUIT, ALL, 0, "quit"},
    {"F10", ACTION_QUIT, ALL | HELP | DIALOG, 0, NULL},
};

const struct binding *keymap_bindings(size_t *ret_count) {
    *ret_count = ARRAY_SIZE(bindings);
    return bindings;
}

const struct action *action_get(enum action_id id) {
    return &actions[id];
}

int action_find(const char *name) {
    for (int i = 0; i < ACTION_COUNT; i++)
        if (!strcmp(actions[i].name, name)) return i;
    return -1;
}

const char *action_group_title(enum action_group group) {
    return group_titles[group];
}

const char *key_scope_name(enum key_scope scope) {
    return scope_names[scope];
}

unsigned keymap_scopes(enum key_scope scope) {
    unsigned only = 1u << scope;
    return only & MODAL ? only : only | ALL;
}

const struct binding *keymap_find(const struct key *key, unsigned scopes) {
    for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
        struct key bound;
        if (!(bindings[i].scopes & scopes)) continue;
        if (key_read(bindings[i].key, &bound) && is_same_key(&bound, key)) return &bindings[i];
    }
    return NULL;
}

/* The same key does the same in another scope, too. */
static bool is_named(size_t at, unsigned scopes) {
    for (size_t i = 0; i < at; i++)
        if (bindings[i].action == bindings[at].action && bindings[i].scopes & scopes &&
            strcmp(bindings[i].key, bindings[at].key) == 0)
            return true;
    return false;
}

void keymap_keys(struct buf *out, enum action_id action, unsigned scopes) {
    bool is_first = true;
    for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
        if (bindings[i].action != action || !(bindings[i].scopes & scopes)) continue;
        if (is_named(i, scopes)) continue;
        buf_printf(out, "%s%s", is_first ? "" : " ", bindings[i].key);
        is_first = false;
    }
}

/* ---- footer ---- */

static bool is_digit(const char *key) {
    return key[0] >= '0' && key[0] <= '9' && !key[1];
}

/* Digits one after the other are a range: "1-6". */
static void add_key(struct footer_entry *entry, const char *key) {
    size_t size = strlen(entry->keys);
    if (size && is_digit(key) && entry->keys[size - 1] == key[0] - 1) {
        size_t keep = size > 1 && entry->keys[size - 2] == '-' ? size - 2 : size;
        snprintf(entry->keys + keep, sizeof entry->keys - keep, "-%s", key);
        return;
    }
    snprintf(entry->keys + size, sizeof entry->keys - size, "%s%s", size ? " " : "", key);
}

static size_t collect(struct footer_entry *entries, unsigned scopes) {
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
        const struct binding *binding = &bindings[i];
        if (!binding->footer || !(binding->scopes & scopes)) continue;
        bool is_more = count > 0 && !strcmp(entries[count - 1].label, binding->footer);
        if (!is_more && count == FOOTER_ENTRIES_MAX) continue;
        if (!is_more)
            entries[count++] = (struct footer_entry){.label = binding->footer, .binding = binding};
        add_key(&entries[count - 1], binding->key);
    }
    return count;
}

static int width_of(const struct footer_entry *entry) {
    return utf8_columns(entry->keys) + 1 + utf8_columns(entry->label);
}

size_t footer_make(struct footer_entry ret_entries[FOOTER_ENTRIES_MAX], unsigned scopes,
                   int width) {
    enum { GAP = 2 };
    size_t count = collect(ret_entries, scopes);
    int sum = -GAP;
    for (size_t i = 0; i < count; i++) sum += width_of(&ret_entries[i]) + GAP;
    for (; count > 1 && sum > width; count--) {
        sum -= width_of(&ret_entries[count - 2]) + GAP;
        ret_entries[count - 2] = ret_entries[count - 1];
    }
    for (size_t i = 0, x = 0; i < count; i++) {
        ret_entries[i].x = (int)x;
        ret_entries[i].width = width_of(&ret_entries[i]);
        x += (size_t)ret_entries[i].width + GAP;
    }
    return count;
}

/* ---- help ---- */

void keymap_help(struct buf *out, unsigned scopes) {
    for (int group = 0; group < ACTION_GROUP_COUNT; group++) {
        bool has_title = false;
        for (int i = 0; i < ACTION_COUNT; i++) {
            CLEANUP(buf_done) struct buf keys = BUF_INIT;
            if ((int)actions[i].group != group) continue;
            keymap_keys(&keys, (enum action_id)i, scopes);
            if (keys.size == 0) continue;
            if (!has_title) buf_printf(out, "%s\n", group_titles[group]);
            has_title = true;
            buf_printf(out, "%s\t%s\n", buf_text(&keys), actions[i].help);
        }
    }
}
