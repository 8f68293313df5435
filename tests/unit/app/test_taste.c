/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/taste.h"
#include "engine/base/banned.h"

static char folder[] = "/tmp/inductop-taste-XXXXXX";
static char path[64];

static int set_up(void **state) {
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CONFIG_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/inductop", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/inductop/screen", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char inside[64];
    unlink(path);
    snprintf(inside, sizeof inside, "%s/inductop", folder);
    chmod(inside, 0700);
    rmdir(inside);
    rmdir(folder);
    return 0;
}

static void put_file(const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void assert_file(const char *wanted) {
    char text[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, wanted);
}

static void assert_value(const char *key, const char *wanted) {
    CLEANUP(cleanup_free) char *value = taste_get(key);
    if (!wanted) {
        assert_null(value);
    } else {
        assert_non_null(value);
        assert_string_equal(value, wanted);
    }
}

static void test_what_was_put_is_there(void **state) {
    (void)state;
    assert_value("theme", NULL);
    assert_int_equal(taste_put("theme", "light", NULL), 0);
    assert_int_equal(taste_put("columns.ranks", "rank ms", NULL), 0);
    assert_value("theme", "light");
    assert_value("columns.ranks", "rank ms");
    assert_int_equal(taste_put("theme", "dark", NULL), 0);
    assert_file("columns.ranks rank ms\ntheme dark\n");
    assert_int_equal(taste_put("columns.ranks", "", NULL), 0);
    assert_file("theme dark\n");
}

static void test_lines_of_others_stay(void **state) {
    (void)state;
    put_file("# mine\nthemes many\ntheme light\nlater thing\nno end");
    assert_value("theme", "light");
    assert_value("them", NULL);
    assert_int_equal(taste_put("theme", "mono", NULL), 0);
    assert_file("# mine\nthemes many\nlater thing\nno end\ntheme mono\n");
}

static void test_what_cannot_be_kept_says_why(void **state) {
    struct err err = {.message = ""};
    char place[64];
    (void)state;
    snprintf(place, sizeof place, "%s/inductop", folder);
    rmdir(place);
    FILE *file = fopen(place, "w"); /* a file where the folder belongs */
    fclose(file);
    assert_true(taste_put("theme", "dark", &err) < 0);
    assert_true(err.message[0] != 0);
    assert_value("theme", NULL);
    unlink(place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_put_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_of_others_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_kept_says_why, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
