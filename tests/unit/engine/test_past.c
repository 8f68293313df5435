/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/past.h"
#include "engine/base/banned.h"

static void tell(struct past *past, struct event event, int rank, const char *group) {
    struct buf line = BUF_INIT;
    if (rank >= 0) event_set_rank(&event, rank);
    event_print(&event, &line);
    past_event(past, &event, group, line.data, line.size);
    buf_done(&line);
    event_done(&event);
}

static void problem(struct past *past, int number) {
    tell(past, event_make(EVENT_PROBLEM, number, "{s:s, s:s}", "what", "w", "text", "t"), -1, "");
}

static void rank_is(struct past *past, int rank, const char *group, const char *state) {
    tell(past, event_make(EVENT_RANK, 0, "{s:s, s:s}", "group", group, "state", state), rank,
         group);
}

struct seen {
    size_t count, most;
    struct buf text; /* kinds and times */
};

static bool see(void *ctx, const struct past_line *told) {
    struct seen *seen = ctx;
    assert_true(strlen(told->line) == told->size && told->seq > 0);
    if (seen->count == seen->most) return false;
    seen->count++;
    json_t *body = json_loads(told->line, 0, NULL);
    const char *state = json_string_value(json_object_get(body, "state"));
    buf_printf(&seen->text, "%s%s%s%s ", json_string_value(json_object_get(body, "kind")),
               state ? ":" : "", state ? state : "", told->group);
    json_decref(body);
    return true;
}

static char *all_since(const struct past *past, uint64_t since) {
    struct seen seen = {.most = SIZE_MAX};
    assert_true(past_each_event(past, since, see, &seen));
    return buf_take(&seen.text);
}

static void check(const struct past *past, uint64_t since, const char *wanted) {
    char *text = all_since(past, since);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_each_event_comes_once(void **state) {
    (void)state;
    struct past *past = past_new();
    check(past, 0, "");
    rank_is(past, 0, "g", "hooked");
    rank_is(past, 0, "h", "hooked");
    problem(past, 1);
    rank_is(past, 0, "g", "finished");
    check(past, 0, "rank:hookedg rank:hookedh problem rank:finishedg ");
    check(past, 2, "problem rank:finishedg ");
    check(past, 4, "");
    assert_int_equal(past_seq(past), 4);
    past_free(past);
}

static void test_states_outlive_the_ring(void **state) {
    (void)state;
    struct past *past = past_new();
    rank_is(past, 0, "g", "hooked");
    rank_is(past, 1, "g", "hooked");
    for (int i = 0; i < PAST_EVENTS; i++) problem(past, i);
    rank_is(past, 1, "g", "lost");
    struct seen seen = {.most = SIZE_MAX};
    past_each_event(past, 0, see, &seen);
    assert_int_equal(seen.count, 1 + PAST_EVENTS);
    assert_int_equal(strncmp(seen.text.data, "rank:hookedg problem", 20), 0);
    buf_done(&seen.text);
    struct seen few = {.most = 3};
    assert_false(past_each_event(past, 0, see, &few));
    buf_done(&few.text);
    past_free(past);
}

static void test_samples_leave_the_ring_to_events(void **state) {
    (void)state;
    struct past *past = past_new();
    rank_is(past, 0, "g", "hooked");
    problem(past, 1);
    for (int i = 0; i < 2 * PAST_EVENTS; i++)
        tell(past, event_make(EVENT_COLLECTIVE, i, "{s:i}", "count", 1), 0, "g");
    problem(past, 2);
    check(past, 0, "rank:hookedg problem problem ");
    check(past, 2, "problem ");
    assert_int_equal(past_seq(past), 3 + 2 * PAST_EVENTS);
    past_free(past);
}

static void test_the_ring_is_bounded_in_bytes(void **state) {
    (void)state;
    struct past *past = past_new();
    char *text = mem_new(16001);
    memset(text, 'x', 16000);
    for (int i = 0; i < 200; i++)
        tell(past, event_make(EVENT_PROBLEM, i, "{s:s, s:s}", "what", "w", "text", text), -1, "");
    free(text);
    struct seen seen = {.most = SIZE_MAX};
    past_each_event(past, 0, see, &seen);
    assert_true(seen.count < PAST_EVENT_BYTES / 16000 + 1 && seen.count > 60);
    buf_done(&seen.text);
    past_free(past);
}

static void test_breaks_are_kept_by_place(void **state) {
    (void)state;
    struct past *past = past_new();
    for (int i = 0; i < 6; i++)
        tell(past,
             event_make(EVENT_BREAK, i, "{s:s, s:i, s:s, s:i}", "file", "a.py", "line", i / 2,
                        "reason", "r", "count", i),
             0, "g");
    for (int i = 0; i < PAST_EVENTS; i++) problem(past, i);
    struct seen seen = {.most = SIZE_MAX};
    past_each_event(past, 0, see, &seen);
    assert_int_equal(seen.count, 3 + PAST_EVENTS);
    buf_done(&seen.text);
    past_free(past);
}

struct steps {
    size_t ranks, count, total;
    uint64_t first, last;
};

static bool see_steps(void *ctx, const char *group, int rank, const struct step_record *records,
                      size_t count) {
    struct steps *steps = ctx;
    assert_string_equal(group, "g");
    assert_true(rank >= 0);
    for (size_t i = 1; i < count; i++) assert_true(records[i].step > records[i - 1].step);
    steps->ranks++;
    steps->count = count;
    steps->total += count;
    steps->first = records[0].step;
    steps->last = records[count - 1].step;
    return true;
}

static void speedup(struct past *past, int variant, int against) {
    struct event event = event_make(EVENT_SPEEDUP, 0, "{s:i, s:i, s:s}", "variant", variant, "pairs", 6, "verdict", "tie");
    if (against >= 0) json_object_set_new(event.body, "against", json_integer(against));
    tell(past, event, 0, "g");
}

static void test_speedups_are_kept_by_both_sides(void **state) {
    (void)state;
    struct past *past = past_new();
    speedup(past, 7, -1);
    speedup(past, 7, 8);
    speedup(past, 7, 9);
    speedup(past, 7, 8); /* anew */
    for (int i = 0; i < PAST_EVENTS; i++) problem(past, i);
    char *text = all_since(past, 0);
    int kept = 0;
    for (const char *at = text; (at = strstr(at, "speedup")); at++) kept++;
    assert_int_equal(kept, 3);
    free(text);
    past_free(past);
}

static void add_steps(struct past *past, int rank, uint64_t from, size_t count) {
    for (size_t i = 0; i < count; i++)
        past_steps(past, "g", rank, &(struct step_record){.step = from + i}, 1);
}

static void test_few_steps_come_whole(void **state) {
    (void)state;
    struct past *past = past_new();
    struct steps steps = {0};
    add_steps(past, 0, 0, 200);
    assert_true(past_each_rank(past, 10000, see_steps, &steps));
    assert_int_equal(steps.count, 200);
    past_free(past);
}

static void test_long_ones_are_thinned_and_bounded(void **state) {
    (void)state;
    struct past *past = past_new();
    struct steps steps = {0};
    add_steps(past, 0, 0, 100000);
    assert_true(past_each_rank(past, 10000, see_steps, &steps));
    assert_true(steps.count > PAST_STEPS + PAST_STEPS / 3 && steps.count <= 2 * PAST_STEPS);
    assert_int_equal(steps.first, 0);
    assert_int_equal(steps.last, 99999);
    steps = (struct steps){0};
    assert_true(past_each_rank(past, 40, see_steps, &steps));
    assert_int_equal(steps.count, 40);
    assert_true(steps.first == 0 && steps.last == 99999);
    past_free(past);
}

static void test_many_ranks_share(void **state) {
    (void)state;
    struct past *past = past_new();
    struct steps steps = {0};
    for (int rank = 0; rank < 600; rank++) add_steps(past, rank, 5, 500);
    assert_true(past_each_rank(past, 16384, see_steps, &steps));
    assert_int_equal(steps.ranks, 600);
    assert_true(steps.total <= 16384 && steps.total > 12000);
    past_free(past);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_event_comes_once),
        cmocka_unit_test(test_states_outlive_the_ring),
        cmocka_unit_test(test_samples_leave_the_ring_to_events),
        cmocka_unit_test(test_the_ring_is_bounded_in_bytes),
        cmocka_unit_test(test_breaks_are_kept_by_place),
        cmocka_unit_test(test_speedups_are_kept_by_both_sides),
        cmocka_unit_test(test_few_steps_come_whole),
        cmocka_unit_test(test_long_ones_are_thinned_and_bounded),
        cmocka_unit_test(test_many_ranks_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
