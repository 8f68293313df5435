/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/base/banned.h"

static uint64_t seed = 7;

static uint64_t next(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 16) % below;
}

/* Readings of all sizes, each there or not; times from 0.1 ms,
 * below which printf() writes exponents. */
static struct step_record any_record(void) {
    struct step_record record = {
        .step = next(1000000),
        .end_ns = 5000000000u + next(UINT64_C(1) << (1 + next(46))),
        .dur_ns = next(3) ? 100000 + next(UINT64_C(1) << next(40)) : 0,
        .data_ns = 100000 + next(1000000000),
        .forward_ns = 0,
        .backward_ns = 100000 + next(1000),
        .optimizer_ns = 100000 + next(1000000),
        .rss_bytes = next(UINT64_C(1) << 40),
        .cpu_bytes = next(1000),
        .cpu_peak_bytes = next(1000),
        .device_bytes = next(UINT64_C(1) << 36),
        .device_peak_bytes = 0,
        .variant = (uint32_t)next(UINT64_C(1) << 31),
        .own_ns = 100 + (uint32_t)next(100000),
        .allocs = (uint32_t)next(100000),
        .valid = (uint32_t)next(512),
        .why = next(2) ? (uint32_t)next(512) : 0,
    };
    if (next(16) == 0) record.why |= STEP_WHY_UNKNOWN;
    return record;
}

static void test_a_line_is_that_of_the_event(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct step_record record = any_record();
        int rank = (int)next(600);
        struct buf quick = BUF_INIT, slow = BUF_INIT;
        struct event event;
        event_step_print(&record, rank, 4000000000u, &quick);
        event_from_step(&record, rank, 4000000000u, &event);
        event_print(&event, &slow);
        assert_string_equal(buf_text(&quick), buf_text(&slow));
        event_done(&event);
        buf_done(&quick);
        buf_done(&slow);
    }
}

static void test_before_the_start(void **state) {
    (void)state;
    struct step_record record = {.end_ns = 5};
    struct buf line = BUF_INIT;
    event_step_print(&record, 0, 500000005u, &line);
    assert_non_null(strstr(line.data, "\"t\":-0.5,"));
    buf_done(&line);
}

/* By the long way; false when it is no step event. */
static bool parse_slowly(const char *line, size_t size, struct step_record *ret, int *ret_rank) {
    struct event event = EVENT_INIT;
    if (event_parse(line, size, 0, &event, NULL) < 0) return false;
    bool is_step = event.kind == EVENT_STEP;
    if (is_step) {
        event_to_step(&event, ret);
        *ret_rank = event.rank;
    }
    event_done(&event);
    return is_step;
}

static void check_same(const char *line, size_t size) {
    struct step_record quick, slow;
    int rank = -1, slow_rank = -1;
    if (!event_step_parse(line, size, &quick, &rank)) return;
    if (!parse_slowly(line, size, &slow, &slow_rank)) fail_msg("is no step: %.*s", (int)size, line);
    if (memcmp(&quick, &slow, sizeof quick) != 0 || rank != slow_rank)
        fail_msg("not the same: %.*s", (int)size, line);
}

static void test_a_line_goes_there_and_back(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct step_record record = any_record(), again;
        struct buf line = BUF_INIT;
        int rank = 0;
        event_step_print(&record, i, 4000000000u, &line);
        assert_true(event_step_parse(line.data, line.size, &again, &rank));
        assert_int_equal(rank, i);
        assert_true(again.step == record.step && again.dur_ns == record.dur_ns);
        assert_true(again.end_ns == record.end_ns - 4000000000u);
        assert_true(again.why == record.why && again.valid == record.valid);
        check_same(line.data, line.size);
        buf_done(&line);
    }
}

/* Whatever the quick way takes, the long way takes too, and to the same end. */
static void test_spoiled_lines_are_not_taken_for_others(void **state) {
    (void)state;
    static const char spoil[] = "0123456789.,:{}[]\"\\eE+-tnx \x01\xff";
    for (int i = 0; i < 20000; i++) {
        struct step_record record = any_record();
        struct buf line = BUF_INIT;
        event_step_print(&record, 3, 4000000000u, &line);
        size_t times = 1 + next(3);
        for (size_t j = 0; j < times; j++)
            line.data[next(line.size)] = spoil[next(sizeof spoil - 1)];
        size_t size = next(4) ? line.size : next(line.size);
        char *exact = malloc(size ? size : 1);
        memcpy(exact, line.data, size);
        check_same(exact, size);
        free(exact);
        buf_done(&line);
    }
}

static const char *const others[] = {
    "",
    "{}",
    "[]",
    "{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"step\":1,\"variant\":0}",
    "{\"v\":1,\"kind\":\"unit\",\"t\":0,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":true}",
    "{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":true,\"x\":"
    "1}",
    "{\"v\":1,\"kind\":\"step\",\"t\":1,\"t\":0,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":"
    "true}",
    "{\"v\":1,\"kind\":\"step\",\"t\":-1,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":true}",
    "{\"v\":1,\"kind\":\"step\",\"t\":1e3,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":true}",
    "{\"v\":1,\"kind\":\"step\",\"t\":1,\"rank\":0,\"step\":1.5,\"variant\":0,\"clean\":true}",
    "{\"v\":1,\"kind\":\"step\",\"t\":1,\"rank\":0,\"step\":1,\"variant\":0,\"clean\":true}}",
    "{\"v\":1,\"kind\":\"step\",\"t\":1,\"rank\":0,\"step\":99999999999999999999,\"variant\":0,"
    "\"clean\":true}",
};

static void test_other_lines_are_left_to_the_long_way(void **state) {
    (void)state;
    struct step_record record;
    int rank;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (event_step_parse(others[i], strlen(others[i]), &record, &rank))
            fail_msg("was taken: %s", others[i]);
}

static void test_not_clean_without_a_reason(void **state) {
    (void)state;
    static const char line[] =
        "{ \"v\": 1, \"kind\": \"step\", \"t\": 0.25, \"rank\": 2, \"step\": 9,"
        " \"variant\": 0, \"clean\": false, \"why\": [ ] }";
    struct step_record record;
    int rank;
    assert_true(event_step_parse(line, sizeof line - 1, &record, &rank));
    assert_true(record.why == STEP_WHY_UNKNOWN && record.end_ns == 250000000 && rank == 2);
    check_same(line, sizeof line - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_that_of_the_event),
        cmocka_unit_test(test_before_the_start),
        cmocka_unit_test(test_a_line_goes_there_and_back),
        cmocka_unit_test(test_spoiled_lines_are_not_taken_for_others),
        cmocka_unit_test(test_other_lines_are_left_to_the_long_way),
        cmocka_unit_test(test_not_clean_without_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
