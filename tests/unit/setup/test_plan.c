/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/setup/plan.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

static void test_entries_are_sorted_and_stay_in_order(void **state) {
    (void)state;
    static const char *const at[] = {"20:mode=lite", "10:scope=eager", "20:dynamic=on",
                                     "0:as-written"};
    CLEANUP(plan_done) struct plan plan = PLAN_INIT;
    struct err err;
    for (size_t i = 0; i < ARRAY_SIZE(at); i++)
        assert_int_equal(plan_parse_at(&plan, at[i], &err), 0);
    assert_int_equal(plan_parse_set(&plan, "mode=default", &err), 0);
    CLEANUP(buf_done) struct buf got = BUF_INIT;
    for (size_t i = 0; i < plan.count; i++) {
        CLEANUP(cleanup_free) char *text = settings_text(&plan.entries[i].change);
        buf_printf(&got, "%" PRIu64 " %s %s;", plan.entries[i].step,
                   plan_by_name(plan.entries[i].by), text);
    }
    assert_string_equal(buf_text(&got), "0 at as-written;0 set mode=default;10 at scope=eager;"
                                        "20 at mode=lite;20 at dynamic=on;");
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "step '' is no whole number"},
    {"10", "step '10' is no whole number with ':' behind it"},
    {":mode=default", "step '' is no whole number"},
    {"-1:mode=default", "step '-1'"},
    {"1.5:mode=default", "step '1.5'"},
    {"99999999999999999999:mode=default", "step '99999999999999999999'"},
    {"9007199254740993:mode=default", "is no whole number"},
    {"10:", "no setting is given"},
    {"10:mode", "setting 'mode' has no value"},
    {"10:mode=max-autotun", "value 'max-autotun'"},
};

static void test_bad_texts_add_nothing(void **state) {
    (void)state;
    CLEANUP(plan_done) struct plan plan = PLAN_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};
        assert_true(plan_parse_at(&plan, bad[i].text, &err) < 0);
        check_message(&err, bad[i].message);
        assert_int_equal(plan.count, 0);
    }
}

static const struct {
    const char *set, *at, *more; /* NULL: none */
    const char *message;         /* NULL: goes */
} plans[] = {
    {"mode=default", "5:options.x=1", NULL, NULL},
    {"mode=default", "0:options.x=1", NULL, "at step 0: setting 'mode' does not go together"},
    {"mode=default", "0:as-written,options.x=1", NULL, NULL},
    {NULL, "5:options.x=1", "5:mode=default", "at step 5: "},
    {NULL, "5:options.x=1", "5:options.x=as-written,mode=default", NULL},
    {NULL, "5:options.x=1,mode=default", "5:mode=as-written", NULL},
};

static void test_changes_of_one_step_must_go_together(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
        CLEANUP(plan_done) struct plan plan = PLAN_INIT;
        struct err err = {0};
        if (plans[i].set) assert_int_equal(plan_parse_set(&plan, plans[i].set, &err), 0);
        if (plans[i].at) assert_int_equal(plan_parse_at(&plan, plans[i].at, &err), 0);
        if (plans[i].more) assert_int_equal(plan_parse_at(&plan, plans[i].more, &err), 0);
        int rc = plan_check(&plan, &err);
        assert_int_equal(rc == 0, plans[i].message == NULL);
        if (rc < 0) check_message(&err, plans[i].message);
    }
}

static void test_length_is_bounded(void **state) {
    (void)state;
    CLEANUP(plan_done) struct plan plan = PLAN_INIT;
    struct settings none = SETTINGS_INIT;
    struct err err;
    for (int i = 0; i < PLAN_MAX; i++)
        assert_int_equal(plan_add(&plan, 7, PLAN_AT, &none, &err), 0);
    assert_int_equal(plan_add(&plan, 7, PLAN_AT, &none, &err), -ERR_LIMIT);
    check_message(&err, "more than");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_sorted_and_stay_in_order),
        cmocka_unit_test(test_bad_texts_add_nothing),
        cmocka_unit_test(test_changes_of_one_step_must_go_together),
        cmocka_unit_test(test_length_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
