/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/setup/nearest.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

static const char *const names[] = {"inductor", "aot_eager",    "eager",
                                    "mode",     "max-autotune", "max-autotune-no-cudagraphs"};

static const struct {
    const char *text, *hint;
    bool is_slip;
} rows[] = {
    {"inductor", "Did you mean 'inductor'?", false},
    {"indutcor", "Did you mean 'inductor'?", true},
    {"Inductor", "Did you mean 'inductor'?", false},
    {"inductr", "Did you mean 'inductor'?", true},
    {"inductor2", "Did you mean 'inductor'?", false},
    {"my_inductor", "Did you mean 'inductor'?", false},
    {"my_backend", "", false},
    {"eagr", "Did you mean 'eager'?", false},
    {"eagre", "Did you mean 'eager'?", true},
    {"mod", "Did you mean 'mode'?", false},
    {"x", "", false},
    {"", "", false},
    {"max-autotune-no-cudagraph", "Did you mean 'max-autotune-no-cudagraphs'?", true},
    {"a-name-of-more-than-sixty-four-letters-that-nobody-would-type-by-hand", "", false},
};

static void test_hints_and_slips(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = {.message = "name is not known"};
        nearest_hint(&err, rows[i].text, names, ARRAY_SIZE(names));
        assert_string_equal(err.hint, rows[i].hint);
        check_message(&err, "name is not known");
        if (is_slip_of(rows[i].text, names, ARRAY_SIZE(names)) != rows[i].is_slip)
            fail_msg("%s", rows[i].text);
    }
}

static void test_best_names_come_first(void **state) {
    (void)state;
    static const char *const near[] = {"abcdez", "abcdyz", "abcdef", "abcdeg", "xxxxxx", "abcdeh"};
    struct err err = {.message = "name is not known"};
    nearest_hint(&err, "abcdef", near, ARRAY_SIZE(near));
    assert_string_equal(err.hint, "Did you mean 'abcdef', 'abcdez' or 'abcdeg'?");
}

static void test_without_names_there_is_no_hint(void **state) {
    (void)state;
    struct err err = {.message = "name is not known", .hint = "As before."};
    nearest_hint(&err, "mode", NULL, 0);
    assert_string_equal(err.hint, "As before.");
    nearest_hint(NULL, "mode", names, ARRAY_SIZE(names));
    assert_false(is_slip_of("modes", NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints_and_slips),
        cmocka_unit_test(test_best_names_come_first),
        cmocka_unit_test(test_without_names_there_is_no_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
