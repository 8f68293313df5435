/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/setup/options.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

enum { WORDS_MAX = 12 };

/* Parses words that end in NULL. */
static int parse(const char *const *words, struct options *ret, int *ret_first, struct err *err) {
    char *argv[WORDS_MAX + 2] = {(char *)"inductop"};
    int argc = 1;
    for (; words[argc - 1]; argc++) argv[argc] = (char *)words[argc - 1];
    return options_parse(argc, argv, ret, ret_first, err);
}

static void test_every_row_is_whole(void **state) {
    (void)state;
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        const struct option_row *row = option_get(id);
        bool is_flag = row->type == OPTION_TYPE_FLAG, is_count = row->type == OPTION_TYPE_COUNT;
        assert_true(*row->name && *row->help && *row->group);
        assert_int_equal(*row->argument == 0, is_flag);
        assert_int_equal(row->choices != NULL, row->type == OPTION_TYPE_CHOICE);
        assert_int_equal(*row->unit != 0, is_count);
        assert_true(!is_count || row->min < row->max);
        for (int other = 0; other < id; other++) {
            assert_string_not_equal(row->name, option_get(other)->name);
            assert_true(!row->flag || row->flag != option_get(other)->flag);
        }
    }
}

static void test_every_default_is_taken_from_the_command_line_too(void **state) {
    (void)state;
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        const struct option_row *row = option_get(id);
        CLEANUP(options_done) struct options defaults, options;
        struct err err = {0};
        int first;
        options_init(&defaults);
        options_init(&options);
        assert_false(is_option_given(&defaults, id));
        if (!row->def) continue;
        CLEANUP(cleanup_free) char *word = mem_printf("--%s=%s", row->name, row->def);
        if (parse((const char *const[]){word, NULL}, &options, &first, &err) < 0)
            fail_msg("%s", err.message);
        assert_true(is_option_given(&options, id));
        assert_int_equal(option_number(&options, id), option_number(&defaults, id));
        assert_string_equal(option_text(&options, id), option_text(&defaults, id));
    }
}

static const struct {
    const char *words[WORDS_MAX];
    int first;
} ends[] = {
    {{NULL}, 1},
    {{"python", "train.py"}, 1},
    {{"--", "python"}, 2},
    {{"--headless", "python", "--json", "x"}, 2},
    {{"--headless", "--", "--json", "x"}, 3},
    {{"--json", "-", "python"}, 3},
    {{"--json=-", "python"}, 2},
    {{"-q", "python"}, 2},
    {{"-qh"}, 2},
    {{"-", "python"}, 1},
    {{"--", "--"}, 2},
    {{"--set", "a=b", "--at", "1:c=d", "torchrun"}, 5},
    {{"--print-tables", "settings"}, 2},
};

static void test_parse_stops_at_the_command(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        CLEANUP(options_done) struct options options;
        struct err err = {0};
        int first = -1;
        options_init(&options);
        if (parse(ends[i].words, &options, &first, &err) < 0)
            fail_msg("row %zu: %s", i, err.message);
        assert_int_equal(first, ends[i].first);
    }
}

static void test_values_are_kept(void **state) {
    (void)state;
    CLEANUP(options_done) struct options options;
    struct err err = {0};
    int first;
    size_t count;
    options_init(&options);
    static const char *const words[] = {
        "--set",      "mode=default", "--set=scope=whole", "--refresh=50", "--refresh",  "200",
        "--baseline", "auto",         "--name=a.b-c",      "-q",           "--json=a=b", NULL};
    assert_int_equal(parse(words, &options, &first, &err), 0);
    const char *const *sets = option_list(&options, OPTION_SET, &count);
    assert_int_equal(count, 2);
    assert_string_equal(sets[0], "mode=default");
    assert_string_equal(sets[1], "scope=whole");
    assert_int_equal(option_number(&options, OPTION_REFRESH), 200);
    assert_int_equal(option_number(&options, OPTION_BASELINE), 1);
    assert_string_equal(option_text(&options, OPTION_BASELINE), "auto");
    assert_string_equal(option_text(&options, OPTION_NAME), "a.b-c");
    assert_string_equal(option_text(&options, OPTION_JSON), "a=b");
    assert_true(is_option_given(&options, OPTION_QUIET));
    assert_false(is_option_given(&options, OPTION_HEADLESS));
    option_list(&options, OPTION_AT, &count);
    assert_int_equal(count, 0);
}

static const struct {
    const char *words[WORDS_MAX];
    const char *message, *hint;
} bad[] = {
    {{"--headles"}, "option '--headles' is not known", "Did you mean '--headless'?"},
    {{"--jsn=x"}, "option '--jsn' is not known", "'--json'"},
    {{"--zzzzzzzz"}, "option '--zzzzzzzz' is not known", "inductop --help"},
    {{"-x"}, "option '-x' is not known", NULL},
    {{"-qx"}, "option '-qx' is not known", NULL},
    {{"--headless=yes"}, "option '--headless' takes no value", NULL},
    {{"--json"}, "option '--json' needs a value: FILE|-", NULL},
    {{"--json", "--", "python"}, "option '--json' needs a value", NULL},
    {{"--json="}, "option '--json' has an empty value", NULL},
    {{"--set", ""}, "option '--set' has an empty value", NULL},
    {{"--baseline", "maybe"},
     "value 'maybe' of option '--baseline' is not one of off|auto|on",
     NULL},
    {{"--baseline="}, "value '' of option '--baseline'", NULL},
    {{"--refresh", "0"}, "value '0' of option '--refresh' is no number from 20 to 60000", NULL},
    {{"--refresh", "1e3"}, "value '1e3'", NULL},
    {{"--refresh", "-50"}, "value '-50'", NULL},
    {{"--name", "../x"}, "value '../x' of option '--name' is no name", "letters, digits"},
    {{"--name", ""}, "value '' of option '--name'", NULL},
    {{"--name", ".x"}, "value '.x'", NULL},
    {{"--name", "a b"}, "value 'a b'", NULL},
    {{"--name", "a0123456789012345678901234567890123456789"}, "is no name", "up to 40"},
};

static void test_failures_leave_the_result_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(options_done) struct options options;
        struct err err = {0};
        int first = -1;
        options_init(&options);
        assert_int_equal(parse(bad[i].words, &options, &first, &err), -ERR_USAGE);
        check_message(&err, bad[i].message);
        if (bad[i].hint) check_hint(&err, bad[i].hint);
        assert_int_equal(first, -1);
        for (int id = 0; id < OPTION_ID_COUNT; id++) assert_false(is_option_given(&options, id));
        assert_int_equal(parse(bad[i].words, &options, &first, NULL), -ERR_USAGE);
    }
}

static void test_help_lists_every_option(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf help = BUF_INIT;
    options_print(&help);
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        CLEANUP(cleanup_free) char *name = mem_printf("--%s", option_get(id)->name);
        assert_non_null(strstr(buf_text(&help), name));
        assert_non_null(strstr(buf_text(&help), option_get(id)->help));
    }
    assert_int_equal(help.data[help.size - 1], '\n');
    assert_null(strstr(buf_text(&help), " \n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_whole),
        cmocka_unit_test(test_every_default_is_taken_from_the_command_line_too),
        cmocka_unit_test(test_parse_stops_at_the_command),
        cmocka_unit_test(test_values_are_kept),
        cmocka_unit_test(test_failures_leave_the_result_alone),
        cmocka_unit_test(test_help_lists_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
