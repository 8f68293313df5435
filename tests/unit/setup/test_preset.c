/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/setup/preset.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

static int read_text(const char *text, struct preset *ret, struct err *err) {
    return preset_read(text, strlen(text), ret, err);
}

static void test_everything_is_read(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    struct err err = {0};
    int rc = read_text("# When: long jobs\n"
                       "name: fast\n"
                       "description: for long jobs\n"
                       "settings:\n"
                       "  scope: whole\n"
                       "  fullgraph: on\n"
                       "  dynamic: 'true'\n"
                       "  Net/cudagraphs: off\n"
                       "  options:\n"
                       "    epilogue_fusion: False\n"
                       "    triton: {multi_kernel: 1}\n"
                       "measured_on: {model: GPT, torch: 2.13.0, ranks: 2, step_ms: 31.9, speedup: "
                       "1.34, theirs: x}\n"
                       "x-theirs: [1, 2]\n"
                       "notes: |\n"
                       "  one\n"
                       "  two\n",
                       &preset, &err);
    if (rc < 0) fail_msg("%s", err.message);
    assert_string_equal(preset.name, "fast");
    assert_string_equal(preset.description, "for long jobs");
    assert_string_equal(preset.notes, "one\ntwo\n");
    CLEANUP(cleanup_free) char *text = settings_text(&preset.settings);
    assert_string_equal(text,
                        "Net/cudagraphs=off,dynamic=on,fullgraph=on,options.epilogue_fusion=false,"
                        "options.triton.multi_kernel=1,scope=whole");
    assert_string_equal(preset.measured[MEASURE_MODEL], "GPT");
    assert_true(preset_number(&preset, MEASURE_STEP_MS) == 31.9);
    assert_true(preset_number(&preset, MEASURE_RANKS) == 2);
    assert_true(isnan(preset_number(&preset, MEASURE_PEAK_BYTES)));
    assert_true(isnan(preset_number(&preset, MEASURE_MODEL)));
}

static const struct {
    const char *text, *message, *hint;
} bad[] = {
    {"settings:\n  max_autotun: on\n", "line 2, column 3: setting 'max_autotun' is not known",
     "'options.max_autotune'"},
    {"settings:\n  mode: max-autotun\n", "line 2, column 9: value 'max-autotun'", "'max-autotune'"},
    {"settings:\n  options:\n    max_autotun: on\n",
     "line 3, column 5: setting 'options.max_autotun'", "'options.max_autotune'"},
    {"settings:\n  recompile_limit: 9\n",
     "line 2, column 3: setting 'recompile_limit' cannot be switched", "Set torch."},
    {"settings:\n  mode: [a]\n", "line 2, column 3: setting 'mode' is a list, not a text", NULL},
    {"settings:\n  mode: {a: b}\n", "line 2, column 3: setting 'mode' is a map, not a text", NULL},
    {"settings:\n  mode:\n", "setting 'mode' has no value", NULL},
    {"settings:\n  options.x: 1\n  options: {x: 2}\n",
     "line 3, column 13: setting 'options.x' is given twice", NULL},
    {"settings:\n  mode: default\n  options: {x: 2}\n",
     "line 1, column 1: setting 'mode' does not go together", "as-written"},
    {"settings: [a]\n", "line 1, column 11: 'settings' is a list, not a map", NULL},
    {"settings: fast\n", "line 1, column 11: 'settings' is a text, not a map", NULL},
    {"setings:\n  mode: default\n", "line 1, column 1: key 'setings' is not known",
     "Did you mean 'settings'?"},
    {"name: x\n", "key 'settings' is missing", "may be empty"},
    {"", "key 'settings' is missing", NULL},
    {"- a\n", "line 1, column 1: preset is a list, not a map", NULL},
    {"text\n", "line 1, column 1: preset is a text, not a map", NULL},
    {"settings: {}\nname: [x]\n", "line 2, column 7: 'name' is a list, not a text", NULL},
    {"settings: {}\nname: \"a\\nb\"\n", "line 2, column 7: 'name' holds characters", NULL},
    {"settings: {}\nnotes: \"a\\eb\"\n", "line 2, column 8: 'notes' holds characters", NULL},
    {"settings: {}\nmeasured_on: x\n", "'measured_on' is a text, not a map", NULL},
    {"settings: {}\nmeasured_on: {step_ms: fast}\n",
     "line 2, column 24: value 'fast' of 'step_ms' is no number", NULL},
    {"settings: {}\nmeasured_on: {step_ms: -1}\n", "value '-1' of 'step_ms'", NULL},
    {"settings: {}\nmeasured_on: {step_ms: nan}\n", "value 'nan' of 'step_ms'", NULL},
    {"settings: {}\nmeasured_on: {step_ms: 1e999}\n", "value '1e999' of 'step_ms'", NULL},
    {"settings: {}\nmeasured_on: {step_ms: '1,5'}\n", "value '1,5' of 'step_ms'", NULL},
    {"settings: {}\nmeasured_on: {ranks: 1.5}\n", "value '1.5' of 'ranks' is no whole number",
     NULL},
    {"settings: {}\nmeasured_on: {model: [x]}\n", "'model' is a list, not a text", NULL},
    {"settings: {}\nmeasured_on: {stepms: 1}\n", "line 2, column 15: key 'stepms' is not known",
     "'step_ms'"},
    {"settings: {mode: *x}\n", "line 1, column 18: anchors and aliases", NULL},
};

static void test_faults_name_their_place_and_change_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(preset_done) struct preset preset = {.name = mem_strdup("before")};
        struct err err = {0};
        if (read_text(bad[i].text, &preset, &err) >= 0)
            fail_msg("row %zu was taken: %s", i, bad[i].text);
        check_message(&err, bad[i].message);
        if (bad[i].hint) check_hint(&err, bad[i].hint);
        assert_string_equal(preset.name, "before");
        assert_true(read_text(bad[i].text, &preset, NULL) < 0);
    }
}

static const char *const empty[] = {"settings:\n", "settings: {}\n", "{settings: {options: {}}}\n",
                                    "settings: ''\n"};

static void test_settings_may_be_empty(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        struct err err = {0};
        if (read_text(empty[i], &preset, &err) < 0) fail_msg("%s: %s", empty[i], err.message);
        assert_int_equal(preset.settings.count, 0);
        assert_null(preset.name);
    }
}

/* ---- writing ---- */

/* A preset with each value of each live setting, options and every measure. */
static void fill(struct preset *preset, size_t value) {
    struct err err;
    preset->name = mem_strdup("full");
    preset->description = mem_strdup("a: b # c");
    preset->notes = mem_strdup("one\n  two\n\nthree");
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        size_t count;
        const struct setting_value *values = setting_values(id, &count);
        if (!count || setting_get(id)->effect != SETTING_EFFECT_LIVE || id == SETTING_MODE)
            continue;
        assert_int_equal(settings_set(&preset->settings, setting_get(id)->key,
                                      values[value % count].value, &err),
                         0);
    }
    assert_int_equal(settings_set(&preset->settings, "options.cpp.threads", "4", &err), 0);
    assert_int_equal(settings_set(&preset->settings, "options.s", "a, 'b': \"c\"", &err), 0);
    assert_int_equal(settings_set(&preset->settings, "Net.x/dynamic", "on", &err), 0);
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++)
        assert_int_equal(preset_measure(preset, i, "12", &err), 0);
}

static void check_equal(const struct preset *a, const struct preset *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->description, b->description);
    assert_string_equal(a->notes, b->notes);
    assert_true(is_same_settings(&a->settings, &b->settings));
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++)
        assert_string_equal(a->measured[i], b->measured[i]);
}

static void test_round_trip_of_every_value(void **state) {
    (void)state;
    for (size_t value = 0; value < 20; value++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT, again = PRESET_INIT;
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct err err = {0};
        fill(&preset, value);
        if (preset_write(&preset, &text, &err) < 0) fail_msg("%s", err.message);
        if (preset_read(text.data, text.size, &again, &err) < 0)
            fail_msg("%s\n%s", err.message, buf_text(&text));
        check_equal(&preset, &again);
    }
}

static void test_a_new_file_looks_like_this(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err;
    preset.name = mem_strdup("fast");
    preset.description = mem_strdup("for long jobs");
    settings_put(&preset.settings, "scope", "whole");
    settings_put(&preset.settings, "fullgraph", "on");
    settings_put(&preset.settings, "options.cpp.threads", "4");
    assert_int_equal(preset_measure(&preset, MEASURE_STEP_MS, "31.9", &err), 0);
    preset.notes = mem_strdup("one\ntwo\n");
    assert_int_equal(preset_write(&preset, &text, &err), 0);
    assert_string_equal(buf_text(&text), "# When: for long jobs\n"
                                         "name: fast\n"
                                         "description: for long jobs\n"
                                         "settings:\n"
                                         "  scope: whole\n"
                                         "  fullgraph: on\n"
                                         "  options:\n"
                                         "    cpp.threads: 4\n"
                                         "measured_on:\n"
                                         "  step_ms: 31.9\n"
                                         "notes: |\n"
                                         "  one\n"
                                         "  two\n");
}

static const char *const unwritable[][2] = {
    {"mode", "\xff"}, {"mode", "a\x1b"}, {"never_heard_of", "1"}, {"mode", ""}, {"as-written", "x"},
};

static void test_what_could_not_be_read_again_is_not_written(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(unwritable); i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct err err = {0};
        settings_put(&preset.settings, unwritable[i][0], unwritable[i][1]);
        assert_true(preset_write(&preset, &text, &err) < 0);
        check_message(&err, "");
        assert_int_equal(text.size, 0);
    }
}

static const char old_file[] = "# When: by hand\n"
                               "\n"
                               "x-first: {keep: me} # theirs\n"
                               "name:   \"fast\"   # odd spelling stays\n"
                               "# about settings\n"
                               "settings:\n"
                               "  mode: default # gone when the part changes\n"
                               "\n"
                               "# about notes\n"
                               "notes: |\n"
                               "  # not a comment\n"
                               "  text\n"
                               "\n"
                               "x-last:\n"
                               "- keep\n"
                               "# the end\n";

static void test_rewriting_keeps_what_did_not_change(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    CLEANUP(buf_done) struct buf same = BUF_INIT, changed = BUF_INIT;
    struct err err;
    assert_int_equal(read_text(old_file, &preset, &err), 0);
    assert_int_equal(preset_rewrite(&preset, old_file, strlen(old_file), &same, &err), 0);
    assert_string_equal(buf_text(&same), old_file);
    settings_put(&preset.settings, "mode", "max-autotune");
    assert_int_equal(preset_measure(&preset, MEASURE_SPEEDUP, "1.34", &err), 0);
    assert_int_equal(preset_rewrite(&preset, old_file, strlen(old_file), &changed, &err), 0);
    assert_string_equal(buf_text(&changed), "# When: by hand\n"
                                            "\n"
                                            "x-first: {keep: me} # theirs\n"
                                            "name:   \"fast\"   # odd spelling stays\n"
                                            "# about settings\n"
                                            "settings:\n"
                                            "  mode: max-autotune\n"
                                            "\n"
                                            "# about notes\n"
                                            "notes: |\n"
                                            "  # not a comment\n"
                                            "  text\n"
                                            "\n"
                                            "x-last:\n"
                                            "- keep\n"
                                            "# the end\n"
                                            "measured_on:\n"
                                            "  speedup: 1.34\n");
}

static void test_rewriting_takes_parts_away(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err;
    static const char old[] = "settings: {mode: default}\nnotes: x\n# stays\nname: y";
    assert_int_equal(read_text(old, &preset, &err), 0);
    settings_clear(&preset.settings);
    CLEANUP(cleanup_free) char *notes = TAKE(preset.notes);
    preset.description = mem_strdup("new");
    assert_int_equal(preset_rewrite(&preset, old, strlen(old), &text, &err), 0);
    assert_string_equal(buf_text(&text), "settings: {}\n# stays\nname: y\ndescription: new\n");
}

static const char *const odd_files[] = {
    "{settings: {mode: default}, x: y}\n",
    "---\nsettings:\n  mode: default\n...\n",
    "  settings:\n    mode: default\n",
    "? settings\n: mode: default\n",
    "settings:\r\n  mode: default\r\n",
    "\"settings\":\n  mode: default",
    "not: [a preset\n",
    "settings:\n  mode: default\n# end",
};

static void test_odd_files_are_rewritten_to_something_that_can_be_read(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(odd_files); i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT, again = PRESET_INIT;
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct err err = {0};
        fill(&preset, i);
        if (preset_rewrite(&preset, odd_files[i], strlen(odd_files[i]), &text, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(preset_read(text.data, text.size, &again, &err), 0);
        check_equal(&preset, &again);
    }
}

static void test_numbers_do_not_ask_the_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    struct err err;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        if (!setlocale(LC_ALL, names[i])) continue;
        assert_int_equal(preset_measure(&preset, MEASURE_STEP_MS, "1.5", &err), 0);
        assert_true(preset_number(&preset, MEASURE_STEP_MS) == 1.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_read),
        cmocka_unit_test(test_faults_name_their_place_and_change_nothing),
        cmocka_unit_test(test_settings_may_be_empty),
        cmocka_unit_test(test_round_trip_of_every_value),
        cmocka_unit_test(test_a_new_file_looks_like_this),
        cmocka_unit_test(test_what_could_not_be_read_again_is_not_written),
        cmocka_unit_test(test_rewriting_keeps_what_did_not_change),
        cmocka_unit_test(test_rewriting_takes_parts_away),
        cmocka_unit_test(test_odd_files_are_rewritten_to_something_that_can_be_read),
        cmocka_unit_test(test_numbers_do_not_ask_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
