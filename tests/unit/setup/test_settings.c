/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/setup/settings.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

/* ---- the table ---- */

static void test_every_row_is_whole(void **state) {
    (void)state;
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        const struct setting *row = setting_get(id);
        size_t count;
        const struct setting_value *values = setting_values(id, &count);
        assert_true(*row->key && *row->path && *row->help);
        assert_true(setting_find(id == SETTING_OPTIONS ? "options.x" : row->key) == id);
        bool has_values = row->type == SETTING_TYPE_CHOICE || row->type == SETTING_TYPE_OPEN;
        assert_int_equal(has_values, count > 0);
        assert_int_equal(*row->needs != 0, *row->cannot != 0);
        for (size_t i = 0; i < count; i++) assert_int_equal(values[i].setting, id);
        if (row->effect != SETTING_EFFECT_LIVE) assert_int_equal(row->toggle, 0);
    }
}

static void test_toggle_keys_do_not_clash(void **state) {
    (void)state;
    char keys[SETTING_ID_COUNT + 1] = "";
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        char toggle = setting_get(id)->toggle;
        if (!toggle) continue;
        assert_null(strchr(keys, toggle));
        keys[strlen(keys)] = toggle;
    }
    assert_string_equal(keys, "omfdcsv");
}

static void test_every_value_of_a_live_setting_is_taken_as_it_is(void **state) {
    (void)state;
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        size_t count;
        const struct setting_value *values = setting_values(id, &count);
        for (size_t i = 0; i < count; i++) {
            CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
            struct err err;
            int rc = settings_set(&set, setting_get(id)->key, values[i].value, &err);
            if (setting_get(id)->effect != SETTING_EFFECT_LIVE) {
                assert_int_equal(rc, -ERR_REFUSED);
                check_message(&err, setting_get(id)->key);
                check_hint(&err, "Set ");
                continue;
            }
            assert_int_equal(rc, 0);
            assert_string_equal(settings_get(&set, setting_get(id)->key), values[i].value);
        }
    }
}

static void test_find_knows_units_and_options(void **state) {
    (void)state;
    assert_int_equal(setting_find("Net.block/dynamic"), SETTING_DYNAMIC);
    assert_int_equal(setting_find("2/options.triton.cudagraphs"), SETTING_OPTIONS);
    assert_int_equal(setting_find("options."), -1);
    assert_int_equal(setting_find("options"), -1);
    assert_int_equal(setting_find(""), -1);
    assert_int_equal(setting_find("Net/"), -1);
    assert_int_equal(setting_find("Mode"), -1);
}

/* ---- checks ---- */

static const struct {
    const char *key, *value, *stored;
} good[] = {
    {"mode", "max-autotune", "max-autotune"},
    {"mode", "some-mode-of-a-newer-torch", "some-mode-of-a-newer-torch"},
    {"mode", "as-written", "as-written"},
    {"backend", "my_backend", "my_backend"},
    {"backend", "count_graphs", "count_graphs"},
    {"backend", "inductor2", "inductor2"},
    {"backend", "trt", "trt"},
    {"fullgraph", "True", "on"},
    {"fullgraph", "yes", "on"},
    {"fullgraph", "1", "on"},
    {"fullgraph", "OFF", "off"},
    {"dynamic", "None", "auto"},
    {"dynamic", "false", "off"},
    {"shape_padding", "true", "on"},
    {"cudagraphs", "0", "off"},
    {"options.max_autotune", "True", "true"},
    {"options.max_autotune", "1", "1"},
    {"options.cpp.simdlen", "None", "none"},
    {"options.not_known_here", "[1, 2]", "[1, 2]"},
    {"Net.block/dynamic", "on", "on"},
    {"<lambda>/mode", "default", "default"},
    {"12/scope", "eager", "eager"},
    {"\xc3\x9c"
     "bung/mode",
     "default", "default"},
    {"as-written", "", ""},
};

static void test_good_pairs_are_stored_in_one_spelling(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        if (settings_set(&set, good[i].key, good[i].value, &err) < 0)
            fail_msg("%s: %s", good[i].key, err.message);
        assert_string_equal(settings_get(&set, good[i].key), good[i].stored);
    }
}

static const struct {
    const char *key, *value;
    enum err_code code;
    const char *message, *hint;
} bad[] = {
    {"mode", "max-autotun", ERR_UNKNOWN, "value 'max-autotun' of setting 'mode' is not known",
     "'max-autotune'"},
    {"mode", "Max-Autotune-No-Cudagraph", ERR_UNKNOWN, "is not known",
     "'max-autotune-no-cudagraphs'"},
    {"backend", "inductr", ERR_UNKNOWN, "value 'inductr'", "'inductor'"},
    {"backend", "aot_eagre", ERR_UNKNOWN, "value 'aot_eagre'", "'aot_eager'"},
    {"scope", "regionl", ERR_INVALID, "is not one of whole, regional, eager, as-written",
     "'regional'"},
    {"fullgraph", "maybe", ERR_INVALID, "is not one of off, on, as-written", NULL},
    {"fullgraph", "auto", ERR_INVALID, "'auto'", NULL},
    {"dynamic", "2", ERR_INVALID, "value '2' of setting 'dynamic'", NULL},
    {"max_autotun", "1", ERR_UNKNOWN, "setting 'max_autotun' is not known",
     "'options.max_autotune'"},
    {"max_autotune", "1", ERR_UNKNOWN, "setting 'max_autotune' is not known",
     "'options.max_autotune'"},
    {"cudagraph", "on", ERR_UNKNOWN, "setting 'cudagraph' is not known",
     "Did you mean 'cudagraphs'?"},
    {"options.max_autotun", "1", ERR_UNKNOWN, "setting 'options.max_autotun'",
     "'options.max_autotune'"},
    {"options.a b", "1", ERR_INVALID, "no name of an inductor option", NULL},
    {"options.a..b", "1", ERR_INVALID, "no name of an inductor option", NULL},
    {"options.*", "1", ERR_INVALID, "no name of an inductor option", NULL},
    {"zzzzzz", "1", ERR_UNKNOWN, "setting 'zzzzzz' is not known", "options.NAME"},
    {"", "1", ERR_UNKNOWN, "setting '' is not known", NULL},
    {"mode", "", ERR_INVALID, "setting 'mode' has no value", NULL},
    {"mode", "a\nb", ERR_INVALID, "characters that are no text", NULL},
    {"mode", "a\x1b[0m", ERR_INVALID, "characters that are no text", NULL},
    {"mode",
     "\xc2\x9b"
     "0m",
     ERR_INVALID, "characters that are no text", NULL},
    {"mode", "\xff", ERR_INVALID, "characters that are no text", NULL},
    {"mode", "\xc0\xaf", ERR_INVALID, "characters that are no text", NULL},
    {"mode", "\xed\xa0\x80", ERR_INVALID, "characters that are no text", NULL},
    {"mode\x07", "x", ERR_INVALID, "characters that are no text", NULL},
    {"/mode", "default", ERR_SYNTAX, "does not name a unit", NULL},
    {"a/b/mode", "default", ERR_SYNTAX, "does not name a unit", NULL},
    {"as-written", "x", ERR_INVALID, "takes no value", NULL},
    {"Net/as-written", "x", ERR_UNKNOWN, "setting 'Net/as-written' is not known", NULL},
    {"recompile_limit", "9", ERR_REFUSED, "takes effect at the next compile only",
     "Set torch._dynamo.config.recompile_limit"},
    {"compile_threads", "2", ERR_REFUSED, "next start of a process", "Set torch._inductor.config"},
    {"cache_dir", "/x", ERR_REFUSED, "next start of a process",
     "environment variable TORCHINDUCTOR_CACHE_DIR"},
};

static void test_bad_pairs_say_why_and_change_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        assert_int_equal(settings_set(&set, bad[i].key, bad[i].value, &err), -(int)bad[i].code);
        check_message(&err, bad[i].message);
        if (bad[i].hint) check_hint(&err, bad[i].hint);
        assert_int_equal(set.count, 0);
        assert_int_equal(settings_check(bad[i].key, bad[i].value, NULL), -(int)bad[i].code);
    }
}

static void test_lengths_and_counts_are_bounded(void **state) {
    (void)state;
    CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
    struct err err;
    char text[SETTING_VALUE_MAX + 2] = "";
    memset(text, 'a', SETTING_VALUE_MAX);
    assert_int_equal(settings_set(&set, "options.x", text, &err), 0);
    text[SETTING_VALUE_MAX] = 'a';
    assert_int_equal(settings_set(&set, "options.x", text, &err), -ERR_LIMIT);
    check_message(&err, "more than");
    assert_int_equal(settings_set(&set, text, "x", &err), -ERR_LIMIT);
    for (int i = 1; i < SETTINGS_MAX; i++) {
        CLEANUP(cleanup_free) char *key = mem_printf("options.k%d", i);
        assert_int_equal(settings_set(&set, key, "1", &err), 0);
    }
    assert_int_equal(settings_set(&set, "options.one_more", "1", &err), -ERR_LIMIT);
    assert_int_equal(settings_set(&set, "options.k1", "2", &err), 0);
    assert_int_equal(set.count, SETTINGS_MAX);
}

static const struct {
    const char *text;
    bool goes;
} together[] = {
    {"mode=default,options.x=1", false},
    {"mode=as-written,options.x=1", true},
    {"mode=default,options.x=as-written", true},
    {"mode=default,cudagraphs=on,shape_padding=off", true},
    {"mode=default,Net/options.x=1", false},
    {"mode=default,Net/options.x=1,Net/mode=as-written", true},
    {"Net/mode=default,options.x=1", false},
    {"Net/mode=default,Net/options.x=1", false},
    {"Net/mode=default,Other/options.x=1", true},
};

static void test_mode_and_options_do_not_go_together(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(together); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        assert_int_equal(settings_parse_change(together[i].text, &set, &err), 0);
        int rc = settings_check_set(&set, &err);
        if ((rc == 0) != together[i].goes) fail_msg("%s: %d", together[i].text, rc);
        if (rc < 0) check_message(&err, "'mode' does not go together with 'options.*'");
    }
}

/* ---- sets ---- */

static const struct {
    const char *set, *change, *result;
} merges[] = {
    {"as-written", "mode=default", "mode=default"},
    {"mode=default", "dynamic=on", "dynamic=on,mode=default"},
    {"mode=default", "mode=max-autotune", "mode=max-autotune"},
    {"dynamic=on,mode=default", "mode=as-written", "dynamic=on"},
    {"dynamic=on", "mode=as-written", "dynamic=on"},
    {"dynamic=on,mode=default", "as-written", "as-written"},
    {"dynamic=on,mode=default", "scope=eager,as-written", "scope=eager"},
    {"Net/mode=default,mode=default", "mode=as-written", "Net/mode=default"},
};

static void test_merge(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(merges); i++) {
        CLEANUP(settings_done)
        struct settings read = SETTINGS_INIT,
                        set = SETTINGS_INIT, change = SETTINGS_INIT;
        assert_int_equal(settings_parse_change(merges[i].set, &read, NULL), 0);
        assert_int_equal(settings_parse_change(merges[i].change, &change, NULL), 0);
        settings_merge(&set, &read);
        settings_merge(&set, &change);
        CLEANUP(cleanup_free) char *text = settings_text(&set);
        assert_string_equal(text, merges[i].result);
    }
}

static void test_order_is_that_of_lines(void **state) {
    (void)state;
    static const char *const keys[] = {"options.a", "mode",        "options.a.b",
                                       "2/mode",    "options.a-b", "options.aa"};
    static const char *const sorted[] = {"2/mode",      "mode",      "options.a-b",
                                         "options.a.b", "options.a", "options.aa"};
    CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) settings_put(&set, keys[i], "x");
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
        assert_string_equal(set.pairs[i].key, sorted[i]);
    settings_remove(&set, "mode");
    settings_remove(&set, "absent");
    assert_null(settings_get(&set, "mode"));
    assert_int_equal(set.count, ARRAY_SIZE(keys) - 1);
}

static void test_copy_is_equal_and_apart(void **state) {
    (void)state;
    CLEANUP(settings_done) struct settings a = SETTINGS_INIT, b = SETTINGS_INIT;
    settings_put(&a, "mode", "default");
    settings_put(&b, "scope", "eager");
    assert_false(is_same_settings(&a, &b));
    settings_copy(&b, &a);
    settings_copy(&b, &b);
    assert_true(is_same_settings(&a, &b));
    settings_put(&a, "mode", "lite");
    assert_string_equal(settings_get(&b, "mode"), "default");
    settings_clear(&a);
    assert_false(is_same_settings(&a, &b));
}

/* The same file is read by a test of the agent: numbers and labels are the same in both languages.
 */
static void test_keys_and_labels_of_known_sets(void **state) {
    (void)state;
    CLEANUP(cleanup_free)
    char *path = mem_strndup(__FILE__, strlen(__FILE__) - strlen("test_settings.c"));
    CLEANUP(cleanup_free) char *name = mem_printf("%svariants.tsv", path);
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    char line[1024], text[256], label[256];
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        uint32_t key;
        if (*line == '#') continue;
        assert_int_equal(sscanf(line, "%255[^\t]\t%" SCNu32 "\t%255[^\n]", text, &key, label), 3);
        CLEANUP(settings_done) struct settings change = SETTINGS_INIT, set = SETTINGS_INIT;
        assert_int_equal(settings_parse_change(text, &change, NULL), 0);
        settings_merge(&set, &change);
        CLEANUP(cleanup_free) char *made = settings_label(&set);
        if (settings_key(&set) != key || strcmp(made, label) != 0)
            fail_msg("%s: %" PRIu32 " '%s'", text, settings_key(&set), made);
        rows++;
    }
    fclose(file);
    assert_true(rows > 5);
}

/* ---- text ---- */

static const char *const texts[] = {
    "as-written",
    "mode=default",
    "dynamic=on,mode=default,scope=whole",
    "mode=as-written",
    "options.s=\"a,b\"",
    "options.s=\"say \\\"x\\\" and \\\\\"",
    "options.s=\" blanks \"",
    "options.s=a=b",
    "2/dynamic=on,Net.a/mode=default",
};

static void test_text_round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        if (settings_parse_change(texts[i], &set, &err) < 0)
            fail_msg("%s: %s", texts[i], err.message);
        CLEANUP(cleanup_free) char *text = settings_text(&set);
        assert_string_equal(text, texts[i]);
    }
}

static const struct {
    const char *text, *key, *value;
} loose[] = {
    {" mode = default , dynamic=on ", "mode", "default"},
    {"mode=default,options.s= \"a\" ,dynamic=on", "options.s", "a"},
    {"options.s=\"\\d\"", "options.s", "\\d"},
    {"as-written=,mode=default", "as-written", ""},
    {"options.list=[1;2]", "options.list", "[1;2]"},
};

static void test_parse_forgives_blanks(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(loose); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        if (settings_parse_change(loose[i].text, &set, &err) < 0)
            fail_msg("%s: %s", loose[i].text, err.message);
        assert_string_equal(settings_get(&set, loose[i].key), loose[i].value);
    }
}

static const struct {
    const char *text, *message;
} broken[] = {
    {"", "no setting is given"},
    {"  ", "no setting is given"},
    {"mode", "setting 'mode' has no value"},
    {"mode=", "setting 'mode' has no value"},
    {"=default", "name of a setting is missing"},
    {"mode=default,", "name of a setting is missing"},
    {",mode=default", "name of a setting is missing"},
    {"mode=default,mode=lite", "setting 'mode' is given twice"},
    {"options.s=\"a", "no closing quote"},
    {"options.s=\"a\\", "no closing quote"},
    {"options.s=\"a\"b", "goes on after its closing quote"},
    {"as-written=1", "takes no value"},
    {"mode=default,nope=1", "setting 'nope' is not known"},
};

static void test_parse_failure_leaves_the_result_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        CLEANUP(settings_done) struct settings set = SETTINGS_INIT;
        struct err err = {0};
        settings_put(&set, "scope", "eager");
        assert_true(settings_parse_change(broken[i].text, &set, &err) < 0);
        check_message(&err, broken[i].message);
        assert_int_equal(set.count, 1);
        assert_string_equal(settings_get(&set, "scope"), "eager");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_toggle_keys_do_not_clash),
        cmocka_unit_test(test_every_value_of_a_live_setting_is_taken_as_it_is),
        cmocka_unit_test(test_find_knows_units_and_options),
        cmocka_unit_test(test_good_pairs_are_stored_in_one_spelling),
        cmocka_unit_test(test_bad_pairs_say_why_and_change_nothing),
        cmocka_unit_test(test_lengths_and_counts_are_bounded),
        cmocka_unit_test(test_mode_and_options_do_not_go_together),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_order_is_that_of_lines),
        cmocka_unit_test(test_copy_is_equal_and_apart),
        cmocka_unit_test(test_keys_and_labels_of_known_sets),
        cmocka_unit_test(test_text_round_trip),
        cmocka_unit_test(test_parse_forgives_blanks),
        cmocka_unit_test(test_parse_failure_leaves_the_result_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
