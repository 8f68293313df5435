/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "tui/staging.h"
#include "engine/base/banned.h"

static struct staging staging;

static int set_up(void **state) {
    (void)state;
    staging_init(&staging);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    staging_done(&staging);
    return 0;
}

/* What a toggle visits, in this order; NULL: nothing staged. */
static const struct {
    char toggle;
    const char *device, *now;
    const char *visited[6];
} turns[] = {
    {'d', "cpu", NULL, {"on", "off", "auto", NULL, "on"}},
    {'f', "cpu", NULL, {"on", "off", NULL}},
    {'f', "cpu", "on", {"off", "as-written", NULL}},
    {'o', "cpu", NULL, {"regional", "eager", "whole", NULL}},
    {'m', "cuda", NULL, {"reduce-overhead", "max-autotune"}},
    {'m',
     "cpu",
     NULL,
     {"max-autotune", "max-autotune-no-cudagraphs"}}, /* what needs CUDA is left out */
    {'c', "cuda", NULL, {"on", "off", NULL}},
    {'s', NULL, NULL, {"off", "force", "on", NULL}}, /* an unknown device keeps nothing back */
};

static void test_toggle_visits_values_in_order(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
        int id = setting_of_toggle(turns[i].toggle);
        const char *key = setting_get((enum setting_id)id)->key;
        staging_clear(&staging);
        settings_clear(&staging.now);
        if (turns[i].now) settings_put(&staging.now, key, turns[i].now);
        size_t last = ARRAY_SIZE(turns[i].visited);
        while (last > 0 && !turns[i].visited[last - 1]) last--;
        for (size_t k = 0; k < last; k++) {
            const char *wanted = turns[i].visited[k];
            assert_int_equal(staging_turn(&staging, key, 1, turns[i].device, NULL), 0);
            const char *next = staging_next(&staging, key);
            if (wanted)
                assert_string_equal(next, wanted);
            else
                assert_null(next);
        }
    }
}

static void test_turning_back_undoes_turning(void **state) {
    (void)state;
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        size_t count;
        if (!setting_values((enum setting_id)id, &count) ||
            setting_get((enum setting_id)id)->effect)
            continue;
        staging_clear(&staging);
        for (size_t k = 0; k < count; k++)
            staging_turn(&staging, setting_get((enum setting_id)id)->key, 1, "cuda", NULL);
        for (size_t k = 0; k < count; k++)
            staging_turn(&staging, setting_get((enum setting_id)id)->key, -1, "cuda", NULL);
        assert_int_equal(staging.change.count, 0);
    }
}

static void test_what_cannot_act_is_not_staged_and_says_why(void **state) {
    struct err err;
    (void)state;
    assert_true(staging_turn(&staging, "cudagraphs", 1, "cpu", &err) < 0);
    assert_string_equal(err.message, "cudagraphs: n/a: no CUDA device");
    assert_int_equal(staging.change.count, 0);
}

static void test_a_unit_is_turned_by_itself(void **state) {
    struct err err;
    (void)state;
    staging_clear(&staging);
    settings_clear(&staging.now);
    settings_put(&staging.now, "dynamic", "on");
    assert_int_equal(staging_turn(&staging, "Net/dynamic", 1, "cpu", NULL), 0);
    assert_string_equal(staging_next(&staging, "Net/dynamic"), "on");
    assert_null(staging_next(&staging, "dynamic"));
    assert_true(staging_turn(&staging, "Net/cudagraphs", 1, "cpu", &err) < 0);
    assert_true(staging_turn(&staging, "Net/", 1, "cpu", &err) < 0);
}

static void test_what_is_in_force_is_staged_no_more(void **state) {
    (void)state;
    staging_put(&staging, "dynamic", "on", NULL);
    staging_put(&staging, "scope", "regional", NULL);
    settings_put(&staging.now, "dynamic", "on");
    staging_put(&staging, "dynamic", "on", NULL);
    assert_null(staging_next(&staging, "dynamic"));
    assert_string_equal(staging_next(&staging, "scope"), "regional");
    staging_put(&staging, "mode", SETTING_AS_WRITTEN, NULL);
    assert_null(staging_next(&staging, "mode"));
}

static void test_aim_leads_to_the_target(void **state) {
    struct settings target = SETTINGS_INIT, result = SETTINGS_INIT;
    CLEANUP(buf_done) struct buf words = BUF_INIT;
    (void)state;
    settings_put(&staging.now, "dynamic", "on");
    settings_put(&staging.now, "scope", "regional");
    settings_put(&target, "mode", "max-autotune");
    settings_put(&target, "scope", "regional");
    staging_aim(&staging, &target);
    staging_result(&staging, &result);
    assert_true(is_same_settings(&result, &target));
    staging_words(&staging, &words);
    assert_string_equal(buf_text(&words),
                        "dynamic on to as written, mode as written to max-autotune");
    settings_done(&target);
    settings_done(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_toggle_visits_values_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turning_back_undoes_turning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_act_is_not_staged_and_says_why, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_unit_is_turned_by_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_in_force_is_staged_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_aim_leads_to_the_target, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
