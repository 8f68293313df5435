/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/data/tell.h"
#include "engine/base/banned.h"

/* `more`: further fields, with a comma in front. */
static void sample(struct store *store, int rank, int steps, int count, const char *more) {
    tell(store, "collective",
         "'t':5,'rank':%d,'step':%d,'steps':%d,'count':%d,'bytes':%d,'host_ms':1.5,'by':{'AllReduce':{'count':%d,'bytes':%d%s}},"
         "'comms':1,'api':6,'dropped':0,'strange':0%s",
         rank, steps, steps, count, 1000 * count, count, 1000 * count, more, more);
}

static struct store *ranks(int count) {
    struct store *store = viewed_store();
    for (int i = 0; i < count; i++) {
        hello(store, i);
        step(store, i, 1, 1, 10, 0, 0);
    }
    return store;
}

static void test_nothing_told_is_missing(void **state) {
    (void)state;
    struct store *store = ranks(2);
    const struct snapshot *snapshot = snapshot_take(store, 6);
    assert_true(isnan(snapshot->ranks[0]->traffic.ms) && isnan(snapshot->ranks[0]->traffic.count));
    assert_null(snapshot->ranks[0]->traffic.backend);
    assert_false(snapshot->groups[0]->has_last);
    assert_true(isnan(snapshot->groups[0]->skew_ms));
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_figures_are_for_one_step(void **state) {
    (void)state;
    struct store *store = ranks(1);
    sample(store, 0, 10, 120, ",'timed':60,'timed_ms':30,'captured':3");
    const struct snapshot *snapshot = snapshot_take(store, 6);
    struct traffic_figures traffic = snapshot->ranks[0]->traffic;
    assert_float_equal(traffic.count, 12, 1e-9);
    assert_float_equal(traffic.bytes, 12000, 1e-9);
    assert_float_equal(traffic.host_ms, 0.15, 1e-9);
    assert_float_equal(traffic.ms, 6, 1e-9); /* 0.5 ms each, 12 a step */
    assert_int_equal(traffic.captured, 3);
    snapshot_unref(snapshot);
    store_free(store);
}

/* Times come in one second out of ten; in between the last ones stand. */
static void test_a_second_without_times_keeps_the_last(void **state) {
    (void)state;
    struct store *store = ranks(1);
    sample(store, 0, 10, 100, "");
    const struct snapshot *before = snapshot_take(store, 6);
    assert_true(isnan(before->ranks[0]->traffic.ms));
    sample(store, 0, 10, 100, ",'timed':100,'timed_ms':30");
    sample(store, 0, 10, 50, "");
    const struct snapshot *after = snapshot_take(store, 6);
    assert_float_equal(after->ranks[0]->traffic.ms, 3, 1e-9);
    assert_float_equal(after->ranks[0]->traffic.count, 5, 1e-9);
    snapshot_unref(before);
    snapshot_unref(after);
    store_free(store);
}

static void test_the_one_that_waits_least_is_waited_for(void **state) {
    (void)state;
    struct store *store = ranks(4);
    sample(store, 0, 10, 10, ",'timed':10,'timed_ms':90");
    sample(store, 1, 10, 10, ",'timed':10,'timed_ms':85");
    const struct snapshot *two = snapshot_take(store, 6);
    assert_true(two->groups[0]->has_last);
    assert_int_equal(two->groups[0]->last, 1);
    assert_float_equal(two->groups[0]->skew_ms, 0.5, 1e-9);
    sample(store, 2, 10, 10, ",'timed':10,'timed_ms':10");
    sample(store, 3, 10, 10, ""); /* tells no times */
    const struct snapshot *four = snapshot_take(store, 6);
    assert_int_equal(four->groups[0]->last, 2);
    assert_float_equal(four->groups[0]->skew_ms, 8, 1e-9);
    hello_as(store, 2, "g", "finished", 7); /* it is over: nobody waits for it */
    const struct snapshot *after = snapshot_take(store, 8);
    assert_int_equal(after->groups[0]->last, 1);
    snapshot_unref(two);
    snapshot_unref(four);
    snapshot_unref(after);
    store_free(store);
}

/* The root of a broadcast is through before the others have come. */
static void test_only_collectives_that_all_wait_in_tell_who_is_late(void **state) {
    (void)state;
    struct store *store = ranks(2);
    const double broadcast[] = {10, 300}, reduce[] = {50, 20};
    for (int rank = 0; rank < 2; rank++)
        tell(store, "collective",
             "'t':5,'rank':%d,'step':10,'steps':10,'backend':'gloo','count':20,'bytes':20,'timed':20,'timed_ms':%g,"
             "'by':{'Broadcast':{'count':10,'bytes':10,'timed':10,'timed_ms':%g},'AllReduce':{'count':10,'bytes':10,'timed':10,"
             "'timed_ms':%g},'Barrier':{'count':5,'bytes':0,'timed':5,'timed_ms':10}},'dropped':0,'strange':0",
             rank, broadcast[rank] + reduce[rank], broadcast[rank], reduce[rank]);
    const struct snapshot *snapshot = snapshot_take(store, 6);
    assert_string_equal(snapshot->ranks[0]->traffic.backend, "gloo");
    assert_true(isnan(snapshot->ranks[0]->traffic.host_ms));
    assert_float_equal(snapshot->ranks[0]->traffic.ms, 6, 1e-9);
    assert_float_equal(snapshot->ranks[0]->traffic.meeting_ms, 6, 1e-9);
    assert_int_equal(snapshot->groups[0]->last, 1);
    assert_float_equal(snapshot->groups[0]->skew_ms, 3, 1e-9);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_one_rank_has_no_skew(void **state) {
    (void)state;
    struct store *store = ranks(1);
    sample(store, 0, 10, 10, ",'timed':10,'timed_ms':90");
    const struct snapshot *snapshot = snapshot_take(store, 6);
    assert_false(snapshot->groups[0]->has_last);
    assert_true(isnan(snapshot->groups[0]->skew_ms));
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_nonsense_changes_nothing(void **state) {
    (void)state;
    struct store *store = ranks(1);
    sample(store, 0, 10, 100, ",'timed':100,'timed_ms':30");
    sample(store, 0, 0, 100, ",'timed':100,'timed_ms':30");
    sample(store, 0, 10, 100, ",'timed':0,'timed_ms':77");
    sample(store, 0, 10, 100, ",'timed':3,'timed_ms':-1");
    const struct snapshot *snapshot = snapshot_take(store, 6);
    assert_float_equal(snapshot->ranks[0]->traffic.ms, 3, 1e-9);
    assert_float_equal(snapshot->ranks[0]->traffic.count, 10, 1e-9);
    snapshot_unref(snapshot);
    store_free(store);
}

/* It is no news: a line a second would drive all others out. */
static void test_samples_are_no_lines(void **state) {
    (void)state;
    struct store *store = ranks(1);
    const struct snapshot *before = snapshot_take(store, 6);
    sample(store, 0, 10, 100, "");
    const struct snapshot *after = snapshot_take(store, 6);
    assert_int_equal(after->event_count, before->event_count);
    snapshot_unref(before);
    snapshot_unref(after);
    store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_told_is_missing),
        cmocka_unit_test(test_figures_are_for_one_step),
        cmocka_unit_test(test_a_second_without_times_keeps_the_last),
        cmocka_unit_test(test_the_one_that_waits_least_is_waited_for),
        cmocka_unit_test(test_only_collectives_that_all_wait_in_tell_who_is_late),
        cmocka_unit_test(test_one_rank_has_no_skew),
        cmocka_unit_test(test_nonsense_changes_nothing),
        cmocka_unit_test(test_samples_are_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
