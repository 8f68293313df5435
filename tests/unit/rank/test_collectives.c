/* Collectives told by the core, from a plugin that is played.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "engine/base/clock.h"
#include "engine/rank/collectives.h"
#include "engine/base/banned.h"

#define SECOND UINT64_C(1000000000)

static struct collective_figures figures;
static unsigned watched;
static uint64_t now;
static struct collectives c;
static char text[COLLECTIVES_EVENT_ROOM];

static void watch(unsigned what) {
    watched = what;
}

static void read_figures(struct collective_figures *ret) {
    *ret = figures;
}

static const struct collective_door door = {.version = COLLECTIVE_DOOR_VERSION, .backend = "nccl", .watch = watch, .read = read_figures};

static uint64_t fake_clock(void) {
    return now;
}

static int set_up(void **state) {
    (void)state;
    memset(&figures, 0, sizeof figures);
    memset(&c, 0, sizeof c);
    watched = 0;
    now = 100 * SECOND;
    clock_set_source(fake_clock);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    clock_set_source(NULL);
    return 0;
}

/* Outside of the seconds in which times are taken. */
static size_t turn_at(uint64_t step) {
    return collectives_turn(&c, now, 5 * SECOND, step, text, sizeof text);
}

static void add_calls(enum collective_func func, uint64_t count, uint64_t bytes) {
    figures.funcs[func].count += count;
    figures.funcs[func].bytes += bytes;
    figures.funcs[func].host_ns += count * 1000;
}

static void assert_holds(const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in %s", part, text);
}

static void test_without_the_plugin_nothing_is_told(void **state) {
    (void)state;
    struct err err;
    collectives_begin(&c, 0);
    now += 5 * SECOND;
    assert_int_equal(turn_at(10), 0);
    collectives_end(&c);
    assert_int_equal(collectives_open(&c, "/nowhere/libnccl-profiler-inductop.so", &err), -ERR_MISSING);
    assert_true(strstr(err.message, "/nowhere/"));
}

static void test_tells_a_second_of_steps(void **state) {
    (void)state;
    c.door = &door;
    figures.funcs[COLLECTIVE_FUNC_ALL_REDUCE].count = 70; /* before it began: not told */
    collectives_begin(&c, 3);
    assert_int_equal(watched, COLLECTIVE_WATCH_CALLS);
    figures.version = 6;
    figures.comms = 2;
    figures.ranks = 8;
    add_calls(COLLECTIVE_FUNC_ALL_REDUCE, 30, 3000);
    add_calls(COLLECTIVE_FUNC_ALL_GATHER, 10, 500);
    figures.funcs[COLLECTIVE_FUNC_ALL_REDUCE].timed = 20;
    figures.funcs[COLLECTIVE_FUNC_ALL_REDUCE].timed_ns = 2500000;
    now += SECOND / 2;
    assert_int_equal(turn_at(8), 0);
    now += SECOND / 2;
    assert_int_equal(turn_at(3), 0); /* no step was made: wait for one */
    size_t size = turn_at(13);
    assert_int_equal(size, strlen(text));
    assert_string_equal(
        text, "{\"v\":1,\"kind\":\"collective\",\"ns\":101000000000,\"step\":12,\"steps\":10,\"backend\":\"nccl\",\"count\":40,\"bytes\":3500,"
              "\"host_ms\":0.040000,\"timed\":20,\"timed_ms\":2.500000,\"by\":{\"AllGather\":{\"count\":10,\"bytes\":500},"
              "\"AllReduce\":{\"count\":30,\"bytes\":3000,\"timed\":20,\"timed_ms\":2.500000}},\"comms\":2,\"api\":6,"
              "\"ranks\":8,\"dropped\":0,\"strange\":0}");
}

static void test_each_event_stands_for_its_own_second(void **state) {
    (void)state;
    c.door = &door;
    collectives_begin(&c, 0);
    for (uint64_t i = 1; i <= 3; i++) {
        add_calls(COLLECTIVE_FUNC_BROADCAST, i, 10 * i);
        figures.captured = 4;
        now += SECOND;
        assert_true(turn_at(5 * i) > 0);
        assert_holds("\"steps\":5,");
        assert_holds(i == 1 ? "\"count\":1,\"bytes\":10," : i == 2 ? "\"count\":2,\"bytes\":20," : "\"count\":3,\"bytes\":30,");
        assert_holds("\"captured\":4");
        assert_null(strstr(text, "timed"));
        assert_null(strstr(text, "\"ranks\""));
    }
}

static const struct collective_door gloo = {.version = COLLECTIVE_DOOR_VERSION, .backend = "gloo", .has_both = true, .watch = watch,
                                            .read = read_figures};
enum { NOTHING = COLLECTIVE_WATCH_CALLS, BOTH = COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES };

static void add_barriers(uint64_t count) {
    struct collective_func_figures *of = &figures.funcs[COLLECTIVE_FUNC_BARRIER];
    of->count += count;
    of->timed += count;
    of->timed_ns += count * 1000000;
}

/* Gloo has no interface of NCCL's, and comes with the bridge, in the middle of training. */
static void test_gloos_are_told_from_the_end_of_a_step_to_the_end_of_a_step(void **state) {
    (void)state;
    assert_int_equal(turn_at(10), 0);
    collectives_take(&c, &gloo, 10);
    collectives_take(&c, &door, 12); /* once */
    assert_int_equal(watched, NOTHING);
    assert_int_equal(turn_at(10), 0);
    assert_int_equal(watched, BOTH); /* the first second */
    add_barriers(70); /* in the rest of a step */
    assert_int_equal(turn_at(10), 0);
    assert_int_equal(turn_at(11), 0);
    add_barriers(5);
    now += SECOND;
    assert_int_equal(turn_at(11), 0); /* in a step */
    add_barriers(1);
    now += SECOND;
    assert_true(turn_at(13) > 0);
    assert_string_equal(text, "{\"v\":1,\"kind\":\"collective\",\"ns\":102000000000,\"step\":12,\"steps\":2,\"backend\":\"gloo\","
                              "\"count\":6,\"bytes\":0,\"timed\":6,\"timed_ms\":6.000000,\"by\":{\"Barrier\":{\"count\":6,"
                              "\"bytes\":0,\"timed\":6,\"timed_ms\":6.000000}},\"dropped\":0,\"strange\":0}");
    assert_int_equal(watched, NOTHING);
    assert_false(collectives_are_used(&c)); /* of NCCL */
    collectives_end(&c);
    assert_int_equal(watched, 0);
    add_barriers(1);
    now += 2 * SECOND;
    assert_int_equal(turn_at(20), 0);
}

static void test_gloos_are_counted_one_second_in_ten(void **state) {
    (void)state;
    uint64_t told = 0, watched_turns = 0;
    collectives_take(&c, &gloo, 0);
    c.has_sampled = true;
    for (uint64_t tenth = 1; tenth <= 300; tenth++, now += SECOND / 10) {
        add_barriers(watched == BOTH ? 3 : 0);
        told += collectives_turn(&c, now, 7000 * SECOND + tenth * SECOND / 10, tenth, text, sizeof text) > 0;
        if (told) assert_holds("\"steps\":10,\"backend\":\"gloo\",\"count\":30,");
        watched_turns += watched == BOTH;
    }
    assert_int_equal(told, 3);
    assert_in_range(watched_turns, 3 * 10, 3 * 13);
    collectives_begin(&c, 300); /* anew, with a first second */
    turn_at(300);
    assert_int_equal(watched, BOTH);
    collectives_rest(&c); /* NCCL has come */
    assert_int_equal(watched, NOTHING);
}

static void test_a_second_without_news_is_not_told(void **state) {
    (void)state;
    c.door = &door;
    collectives_begin(&c, 0);
    now += SECOND;
    assert_int_equal(turn_at(5), 0);
    add_calls(COLLECTIVE_FUNC_BROADCAST, 1, 1);
    now += SECOND;
    assert_true(turn_at(10) > 0);
    assert_holds("\"steps\":5,");
}

static void test_times_are_taken_one_second_in_ten(void **state) {
    (void)state;
    c.door = &door;
    collectives_begin(&c, 0);
    for (uint64_t tenth = 0; tenth < 300; tenth++) {
        collectives_turn(&c, now, 7000 * SECOND + tenth * SECOND / 10, 0, text, sizeof text);
        assert_int_equal(watched, tenth % 100 < 10 ? COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES : COLLECTIVE_WATCH_CALLS);
    }
    figures.captured = 1; /* from here on never again */
    for (uint64_t tenth = 0; tenth < 100; tenth++) {
        collectives_turn(&c, now, 7000 * SECOND + tenth * SECOND / 10, 0, text, sizeof text);
        assert_int_equal(watched, COLLECTIVE_WATCH_CALLS);
    }
    collectives_end(&c);
    assert_int_equal(watched, 0);
    add_calls(COLLECTIVE_FUNC_BROADCAST, 1, 1);
    now += 2 * SECOND;
    assert_int_equal(turn_at(5), 0);
}

static void test_the_largest_event_fits_and_a_smaller_room_is_not_overrun(void **state) {
    (void)state;
    c.door = &door;
    collectives_begin(&c, 0);
    memset(&figures, 0xff, sizeof figures);
    now += SECOND;
    size_t size = collectives_turn(&c, now, 0, UINT64_MAX, text, sizeof text);
    assert_true(size > 1000 && size < sizeof text);
    for (size_t room = 0; room < size; room += 7) {
        char small[COLLECTIVES_EVENT_ROOM];
        memset(small, 'x', sizeof small);
        memset(&c.told, 0, sizeof c.told);
        c.told_step = 0;
        c.told_ns = 0;
        assert_int_equal(collectives_turn(&c, now, 0, UINT64_MAX, small, room), 0);
        for (size_t i = room; i < sizeof small; i++) assert_int_equal(small[i], 'x');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_the_plugin_nothing_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tells_a_second_of_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_event_stands_for_its_own_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gloos_are_told_from_the_end_of_a_step_to_the_end_of_a_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gloos_are_counted_one_second_in_ten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_without_news_is_not_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_times_are_taken_one_second_in_ten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_largest_event_fits_and_a_smaller_room_is_not_overrun, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
