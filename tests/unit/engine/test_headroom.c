/* Whether there is memory to try other settings, from what ranks told. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/parts.h"
#include "engine/base/banned.h"

enum { NOW = 7, OTHER = 9 };
static const uint64_t megabyte = 1000000, petabyte = UINT64_C(1000000000000000);

static void hello(struct engine *engine, int rank, const char *device) {
    struct event event = event_make(EVENT_RANK, 0, "{s:s, s:i, s:s, s:s, s:s, s:s}", "host", "h", "pid", 1, "python", "3", "group", "g",
                                    "state", "hooked", "device", device);
    event_set_rank(&event, rank);
    store_take(engine->store, &event, "g");
    event_done(&event);
}

/* A clean step with this much in use. */
static void step(struct engine *engine, int rank, uint64_t number, uint32_t variant, uint64_t bytes, bool is_device) {
    struct step_record record = {.step = number, .end_ns = number, .dur_ns = 1, .variant = variant};
    if (is_device) {
        record.valid = STEP_HAS_DEVICE;
        record.device_bytes = record.device_peak_bytes = bytes;
    } else {
        record.valid = STEP_HAS_RSS;
        record.rss_bytes = bytes;
    }
    store_step(engine->store, &record, rank, "g", 0);
}

static void test_what_is_known_decides(void **state) {
    (void)state;
    struct engine engine = {.store = store_new()};
    hello(&engine, 0, "cpu");
    step(&engine, 0, 0, NOW, 500 * megabyte, false);
    step(&engine, 0, 1, OTHER, 501 * megabyte, false);
    assert_null(headroom_objection(&engine, "g", NOW, OTHER)); /* a megabyte is there */
    step(&engine, 0, 2, OTHER, petabyte, false);
    const char *reason = headroom_objection(&engine, "g", NOW, OTHER);
    assert_non_null(reason);
    assert_non_null(strstr(reason, "no memory headroom: it needs"));
    assert_null(headroom_objection(&engine, "g", OTHER, NOW)); /* less than now */
    assert_null(headroom_objection(&engine, "another", NOW, OTHER));
    store_free(engine.store);
}

static void test_what_never_ran_may_need_as_much_again_on_every_rank(void **state) {
    (void)state;
    struct engine engine = {.store = store_new()};
    for (int rank = 0; rank < 2; rank++) {
        hello(&engine, rank, "cpu");
        step(&engine, rank, 0, NOW, megabyte, false);
    }
    assert_null(headroom_objection(&engine, "g", NOW, OTHER));
    step(&engine, 1, 1, NOW, petabyte, false);
    assert_non_null(strstr(headroom_objection(&engine, "g", NOW, OTHER), "what never ran here may need"));
    store_free(engine.store);
}

static void test_nothing_told_is_no_objection(void **state) {
    (void)state;
    struct engine engine = {.store = store_new()};
    hello(&engine, 0, "cpu");
    assert_null(headroom_objection(&engine, "g", NOW, OTHER));
    store_free(engine.store);
}

/* Each rank has a device of its own: it is asked for the most of one, and the host has no say. */
static void test_devices_are_asked_for_the_most_of_a_rank(void **state) {
    (void)state;
    struct engine engine = {.store = store_new()};
    for (int rank = 0; rank < 2; rank++) {
        hello(&engine, rank, "cuda");
        step(&engine, rank, 0, NOW, (uint64_t)(10 + rank) * petabyte, true);
    }
    assert_null(headroom_objection(&engine, "g", NOW, OTHER));
    assert_int_equal(headroom_device_bytes(&engine, "g", NOW, OTHER), 11 * petabyte);
    store_free(engine.store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known_decides),
        cmocka_unit_test(test_what_never_ran_may_need_as_much_again_on_every_rank),
        cmocka_unit_test(test_nothing_told_is_no_objection),
        cmocka_unit_test(test_devices_are_asked_for_the_most_of_a_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
