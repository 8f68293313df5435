/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/keymap.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

enum { EVERYTHING = (1 << KEY_SCOPE_COUNT) - 1 };

static const struct binding *rows;
static size_t count;

static int set_up(void **state) {
    (void)state;
    rows = keymap_bindings(&count);
    return 0;
}

static void test_every_key_has_a_name_that_reads(void **state) {
    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct key key;
        char name[KEY_NAME_SIZE];
        if (!key_read(rows[i].key, &key)) fail_msg("'%s' is no key", rows[i].key);
        key_name(&key, name);
        assert_string_equal(name, rows[i].key);
    }
}

/* In a scope, and in it together with what holds everywhere, and on a tape. */
static void test_no_clash(void **state) {
    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            if (strcmp(rows[i].key, rows[j].key)) continue;
            for (int scope = 0; scope < KEY_SCOPE_COUNT; scope++) {
                unsigned held = keymap_scopes((enum key_scope)scope);
                if (held & 1u << KEY_SCOPE_ALL)
                    held |= 1u << KEY_SCOPE_REPLAY | 1u << KEY_SCOPE_DEEPER;
                if (rows[i].scopes & held && rows[j].scopes & held)
                    fail_msg("'%s' means %s and %s in %s", rows[i].key,
                             action_get(rows[i].action)->name, action_get(rows[j].action)->name,
                             key_scope_name((enum key_scope)scope));
            }
        }
}

static void test_every_action_is_reachable(void **state) {
    (void)state;
    for (int i = 0; i < ACTION_COUNT; i++) {
        CLEANUP(buf_done) struct buf keys = BUF_INIT;
        keymap_keys(&keys, (enum action_id)i, EVERYTHING);
        if (keys.size == 0) fail_msg("no key does '%s'", action_get((enum action_id)i)->name);
        assert_int_equal(action_find(action_get((enum action_id)i)->name), i);
    }
    assert_int_equal(action_find("kill"), -1);
}

static void test_every_action_has_help(void **state) {
    (void)state;
    for (int i = 0; i < ACTION_COUNT; i++) {
        const char *help = action_get((enum action_id)i)->help;
        if (!*help || help[strlen(help) - 1] == '.')
            fail_msg("help of '%s': '%s'", action_get((enum action_id)i)->name, help);
        assert_true(utf8_columns(help) <= 72);
    }
}

/* Keys that fingers know from elsewhere must not do harm here. */
static void test_k_only_moves(void **state) {
    (void)state;
    struct key key;
    key_read("k", &key);
    for (int scope = 0; scope < KEY_SCOPE_COUNT; scope++) {
        const struct binding *row = keymap_find(&key, 1u << scope);
        assert_true(!row || row->action == ACTION_UP);
    }
    for (int i = 0; i < ACTION_COUNT; i++)
        assert_null(strstr(action_get((enum action_id)i)->name, "kill"));
}

static void test_a_way_out_everywhere(void **state) {
    (void)state;
    static const struct {
        enum key_scope scope;
        const char *key;
        enum action_id action;
    } ways[] = {
        {KEY_SCOPE_ALL, "q", ACTION_QUIT},        {KEY_SCOPE_ALL, "^C", ACTION_INTERRUPT},
        {KEY_SCOPE_HELP, "q", ACTION_BACK},       {KEY_SCOPE_HELP, "Esc", ACTION_BACK},
        {KEY_SCOPE_DIALOG, "Esc", ACTION_CANCEL}, {KEY_SCOPE_FIELD, "Esc", ACTION_CANCEL},
        {KEY_SCOPE_JOB, "^]", ACTION_INPUT_END},  {KEY_SCOPE_DEEPER, "Esc", ACTION_BACK},
    };
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct key key;
        key_read(ways[i].key, &key);
        const struct binding *row = keymap_find(&key, keymap_scopes(ways[i].scope));
        assert_non_null(row);
        assert_int_equal(row->action, ways[i].action);
    }
    struct key key;
    key_read("q", &key); /* goes to the job, into a field */
    assert_null(keymap_find(&key, keymap_scopes(KEY_SCOPE_JOB)));
    assert_null(keymap_find(&key, keymap_scopes(KEY_SCOPE_FIELD)));
    key_read("^C", &key);
    assert_null(keymap_find(&key, keymap_scopes(KEY_SCOPE_JOB)));
}

/* The table of settings names the key that toggles each. */
static void test_toggles_are_those_of_the_settings(void **state) {
    (void)state;
    static const struct {
        const char *key;
        char toggle;
    } settings[] = {
#define SETTING(symbol, key, type, effect, toggle, label, path, needs, cannot, risk, help)         \
    {key, toggle},
#define VALUE(symbol, value, needs, help)
#define OPTION_NAME(name)
#include "engine/setup/settings.def"
#undef SETTING
#undef VALUE
#undef OPTION_NAME
    };
    size_t toggles = 0, bound = 0;
    for (size_t i = 0; i < count; i++) bound += rows[i].action == ACTION_TOGGLE;
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        char name[2] = {settings[i].toggle, 0};
        struct key key;
        if (!settings[i].toggle) continue;
        toggles++;
        assert_true(key_read(name, &key));
        const struct binding *row = keymap_find(&key, 1u << KEY_SCOPE_ALL);
        if (!row || row->action != ACTION_TOGGLE || row->argument != settings[i].toggle)
            fail_msg("'%s' does not toggle %s", name, settings[i].key);
    }
    assert_int_equal(toggles, bound);
}

static void test_unknown_key_does_nothing(void **state) {
    (void)state;
    struct key key;
    key_read("F20", &key);
    assert_null(keymap_find(&key, EVERYTHING));
    key = (struct key){.kind = KEY_KIND_PASTE};
    assert_null(keymap_find(&key, EVERYTHING));
}

static void footer_text(char out[512], unsigned scopes, int width) {
    struct footer_entry entries[FOOTER_ENTRIES_MAX];
    size_t entry_count = footer_make(entries, scopes, width), at = 0;
    out[0] = 0;
    for (size_t i = 0; i < entry_count; i++) {
        assert_int_equal(entries[i].x, utf8_columns(out) + (i > 0 ? 2 : 0));
        at += (size_t)snprintf(out + at, 512 - at, "%s%s %s", i ? "  " : "", entries[i].keys,
                               entries[i].label);
    }
    assert_true(entry_count <= 1 || utf8_columns(out) <= width);
}

static void test_footer(void **state) {
    (void)state;
    char text[512];
    footer_text(text, keymap_scopes(KEY_SCOPE_SETTINGS), 200);
    assert_string_equal(text, "F1 help  m f d c s v o toggle  A apply  u undo  b baseline  1-7 views "
                              " P presets  p freeze  z zoom  e edit  @ log  q quit");
    footer_text(text, keymap_scopes(KEY_SCOPE_SETTINGS), 80);
    assert_string_equal(
        text, "F1 help  m f d c s v o toggle  A apply  u undo  b baseline  1-7 views  q quit");
    unsigned deeper = keymap_scopes(KEY_SCOPE_SETTINGS) | 1u << KEY_SCOPE_DEEPER;
    footer_text(text, deeper, 40);
    assert_string_equal(text, "F1 help  Esc back  q quit");
    footer_text(text, keymap_scopes(KEY_SCOPE_SETTINGS), 20);
    assert_string_equal(text, "F1 help  q quit");
    footer_text(text, keymap_scopes(KEY_SCOPE_JOB), 80);
    assert_string_equal(text, "^] back to the screen");
    footer_text(text, keymap_scopes(KEY_SCOPE_DIALOG), 80);
    assert_string_equal(text, "Enter accept  Esc cancel  Tab choose");
    footer_text(text, keymap_scopes(KEY_SCOPE_TABLE) | 1u << KEY_SCOPE_REPLAY, 300);
    assert_non_null(strstr(text, ", . step  ; seek  + - speed"));
    for (int width = 1; width < 300; width++)
        footer_text(text, keymap_scopes(KEY_SCOPE_TABLE), width);
}

static void test_help_lists_every_binding(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    keymap_help(&out, EVERYTHING);
    assert_non_null(
        strstr(buf_text(&out), "Settings\nm f d c s v o\tstage the next value of a setting\n"));
    assert_non_null(strstr(buf_text(&out), "F1 ? h\tthis help\n"));
    buf_clear(&out);
    keymap_help(&out, keymap_scopes(KEY_SCOPE_JOB));
    assert_string_equal(buf_text(&out), "Job\n^]\tkeys go to the screen again\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_has_a_name_that_reads),
        cmocka_unit_test(test_no_clash),
        cmocka_unit_test(test_every_action_is_reachable),
        cmocka_unit_test(test_every_action_has_help),
        cmocka_unit_test(test_k_only_moves),
        cmocka_unit_test(test_a_way_out_everywhere),
        cmocka_unit_test(test_toggles_are_those_of_the_settings),
        cmocka_unit_test(test_unknown_key_does_nothing),
        cmocka_unit_test(test_footer),
        cmocka_unit_test(test_help_lists_every_binding),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
