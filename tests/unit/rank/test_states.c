/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rank/outbox.h"
#include "engine/rank/states.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

static struct states *states;
static char out[STATES_ROOM];

static int set_up(void **state) {
    (void)state;
    states = calloc(1, sizeof *states);
    return !states;
}

static int tear_down(void **state) {
    (void)state;
    free(states);
    return 0;
}

static bool put(const char *kind, int64_t key, const char *text) {
    return states_put(states, kind, key, text, strlen(text), 7);
}

static const char *at(size_t index) {
    long size = states_copy_for_hello(states, index, UINT64_MAX, (uint8_t *)out, sizeof out - 1);
    out[size > 0 ? size : 0] = 0;
    return out;
}

static void test_put_replaces_the_same_kind_and_key_only(void **state) {
    (void)state;
    assert_true(put("rank", 0, "a"));
    assert_true(put("unit", 0, "b"));
    assert_true(put("unit", 1, "c"));
    assert_true(put("unit", 0, "longer than before"));
    assert_int_equal(states_count(states), 3);
    assert_string_equal(at(0), "a");
    assert_string_equal(at(1), "longer than before");
    assert_string_equal(at(2), "c");
    assert_int_equal(states_copy_for_hello(states, 3, UINT64_MAX, (uint8_t *)out, sizeof out), 0);
    assert_int_equal(states_copy_for_hello(states, 1, UINT64_MAX, (uint8_t *)out, 3), -1);
}

static void test_table_and_names_have_limits(void **state) {
    (void)state;
    assert_false(put("a kind with far too long a name", 0, "x"));
    assert_false(put("empty", 0, ""));
    for (int i = 0; i < STATES_MAX; i++) assert_true(put("unit", i, "x"));
    assert_false(put("unit", STATES_MAX, "x"));
    assert_true(put("unit", 3, "y"));
}

static void test_arena_is_compacted_when_states_grow(void **state) {
    (void)state;
    static char text[20000];
    for (size_t size = 1; size < sizeof text - 1; size += 1500) {
        memset(text, 'a' + (int)(size % 26), size);
        text[size] = 0;
        for (int key = 0; key < 12; key++) assert_true(put("unit", key, text));
        for (size_t i = 0; i < 12; i++) assert_string_equal(at(i), text);
    }
}

static void test_state_without_room_is_forgotten_rather_than_out_of_date(void **state) {
    (void)state;
    static char big[STATES_ROOM / 2 + 10];
    memset(big, 'x', sizeof big - 1);
    assert_true(put("a", 0, big));
    assert_true(put("b", 0, "small"));
    assert_false(put("b", 0, big));
    assert_int_equal(states_count(states), 1);
    assert_string_equal(at(0), big);
    assert_true(put("b", 0, "small again"));
}

static void test_unsent_states_are_offered_once(void **state) {
    (void)state;
    assert_true(put("rank", 0, "a"));
    assert_true(states_put(states, "rank", 1, "b", 1, 0));
    assert_true(states_take_unsent(states));
    assert_false(states_take_unsent(states));
    assert_int_equal(states_copy_unsent(states, 0, (uint8_t *)out, sizeof out), 0);
    assert_int_equal(states_copy_for_hello(states, 1, UINT64_MAX, (uint8_t *)out, sizeof out), 0);
    assert_int_equal(states_copy_unsent(states, 1, (uint8_t *)out, sizeof out), 1);
    assert_int_equal(states_copy_unsent(states, 1, (uint8_t *)out, sizeof out), 0);
    states_mark_unsent(states);
    assert_int_equal(states_copy_unsent(states, 0, (uint8_t *)out, sizeof out), 1);
}

static void test_hello_leaves_out_what_comes_from_the_ring_in_its_turn(void **state) {
    (void)state;
    assert_true(states_put(states, "rank", 0, "a", 1, 100));
    assert_int_equal(states_copy_for_hello(states, 0, 99, (uint8_t *)out, sizeof out), 0);
    assert_int_equal(states_copy_for_hello(states, 0, 100, (uint8_t *)out, sizeof out), 1);
}

static void test_outbox_sends_a_cut_frame_again_whole(void **state) {
    (void)state;
    static struct outbox box;
    for (uint8_t i = 1; i <= 3; i++) memset(outbox_add(&box, i, 10), i, 10);
    for (size_t sent = 0; sent <= 45; sent++) {
        struct outbox copy = box;
        copy.sent = sent;
        outbox_rewind(&copy);
        size_t whole = sent / 15;
        assert_int_equal(copy.size, 45 - 15 * whole);
        assert_int_equal(copy.sent, 0);
        if (whole < 3) assert_memory_equal(copy.bytes, box.bytes + 15 * whole, copy.size);
    }
    assert_null(outbox_add(&box, 1, OUTBOX_ROOM));
    assert_int_equal(outbox_room(&box), OUTBOX_ROOM - 45 - FRAME_HEADER_SIZE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_replaces_the_same_kind_and_key_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_table_and_names_have_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arena_is_compacted_when_states_grow, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_state_without_room_is_forgotten_rather_than_out_of_date, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unsent_states_are_offered_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hello_leaves_out_what_comes_from_the_ring_in_its_turn,
                                        set_up, tear_down),
        cmocka_unit_test(test_outbox_sends_a_cut_frame_again_whole),
    };
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
