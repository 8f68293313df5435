/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/tune/baseline.h"
#include "engine/base/banned.h"

enum { EAGER = 11, WRITTEN = 0, OTHER = 33, RIVAL = 44 };

/* Two ranks that step together under the settings in force, or under a schedule. */
struct world {
    struct baseline *baseline;
    struct schedule schedule;
    uint64_t step, start;
    uint32_t variant;
    bool is_scheduled;
    double t, eager_ms, ms, noise;
};

static void begin(struct world *world, enum baseline_mode mode) {
    *world = (struct world){.baseline = baseline_new(mode, EAGER, 5), .eager_ms = 40, .ms = 30};
    baseline_rank(world->baseline, 0);
    baseline_rank(world->baseline, 1);
}

static uint32_t variant_now(const struct world *world) {
    if (!world->is_scheduled || world->step < world->start) return world->variant;
    size_t i = world->schedule.count - 1;
    while (world->start + world->schedule.entries[i].offset > world->step) i--;
    return world->schedule.entries[i].side == SIDE_OTHER ? baseline_other(world->baseline)
                                                         : world->variant;
}

static void take(struct world *world, int rank, uint64_t step, double ms, uint32_t variant,
                 bool clean) {
    struct judge_times times = {.ms = ms, .phases = {NAN, NAN, ms / 2, NAN}};
    baseline_step(world->baseline, rank, step, &times, variant, clean);
}

static void run(struct world *world, int steps) {
    for (int i = 0; i < steps; i++, world->step++) {
        uint32_t variant = variant_now(world);
        double ms = variant == world->variant ? world->ms : world->eager_ms;
        if (world->noise) ms *= 1 + world->noise * sin((double)(world->step * world->step));
        take(world, 0, world->step, ms, variant, true);
        take(world, 1, world->step, ms, variant, true);
        world->t += ms / 1e3;
    }
}

static bool wants(struct world *world) {
    struct baseline_now now = {world->t, world->variant, false, 2, UINT64_MAX};
    return baseline_want(world->baseline, &now, &world->schedule);
}

static void agree(struct world *world) {
    world->start = world->step + 3;
    world->is_scheduled = true;
    baseline_agreed(world->baseline, world->start);
}

static int count_results(struct world *world, enum event_kind kind) {
    struct event event;
    int count = 0;
    while (baseline_next(world->baseline, world->t, &event)) {
        struct err err = {0};
        if (event_check(&event, &err) != 0) fail_msg("%s", err.message);
        count += event.kind == kind;
        event_done(&event);
    }
    return count;
}

static void test_on_measures_once_and_says_what_it_found(void **state) {
    (void)state;
    struct world world;
    struct event event;
    double ratio;
    begin(&world, BASELINE_ON);
    run(&world, 9);
    assert_false(wants(&world));
    run(&world, 1);
    assert_true(wants(&world));
    assert_false(wants(&world)); /* not while it waits for an answer */
    assert_true(baseline_is_busy(world.baseline));
    agree(&world);
    assert_false(wants(&world));
    run(&world, 3 + (int)world.schedule.length);
    assert_true(baseline_is_busy(world.baseline));
    run(&world, 1);
    assert_false(baseline_is_busy(world.baseline));
    for (int rank = 0; rank < 2; rank++) {
        assert_true(baseline_next(world.baseline, world.t, &event));
        assert_int_equal(event.kind, EVENT_SPEEDUP);
        assert_int_equal(event_check(&event, NULL), 0);
        assert_true(event.has_rank);
        assert_true(event_number(&event, "ratio", &ratio) && fabs(ratio - 4.0 / 3) < 1e-9);
        assert_true(event_number(&event, "within", &ratio) && fabs(ratio - 1.0 / 3) < 1e-9);
        assert_null(json_object_get(event.body, "against")); /* eager */
        json_t *backward = json_object_get(json_object_get(event.body, "phases"), "backward");
        assert_true(fabs(json_number_value(json_object_get(backward, "low")) - 4.0 / 3) < 1e-9);
        assert_int_equal(json_object_size(json_object_get(event.body, "phases")), 1);
        assert_int_equal(json_integer_value(json_object_get(event.body, "ranks")), 2);
        assert_string_equal(event_text(&event, "verdict"), "faster");
        event_done(&event);
    }
    assert_false(baseline_next(world.baseline, world.t, &event));
    run(&world, 100);
    assert_false(wants(&world)); /* measured once */
    world.variant = OTHER;
    run(&world, 10);
    assert_true(wants(&world)); /* on: every variant */
    baseline_free(world.baseline);
}

static void test_auto_waits_for_a_switch(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_AUTO);
    run(&world, 50);
    assert_false(wants(&world));
    baseline_applied(world.baseline, OTHER);
    assert_false(wants(&world));
    world.variant = OTHER;
    run(&world, 9);
    assert_false(wants(&world));
    run(&world, 1);
    assert_true(wants(&world));
    baseline_free(world.baseline);
}

static void test_off_measures_when_asked(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_OFF);
    baseline_applied(world.baseline, WRITTEN);
    run(&world, 50);
    assert_false(wants(&world));
    for (int time = 0; time < 2; time++) {
        baseline_ask(world.baseline, EAGER);
        assert_true(wants(&world));
        agree(&world);
        run(&world, 4 + (int)world.schedule.length);
        assert_int_equal(count_results(&world, EVENT_SPEEDUP), 2);
        run(&world, 20);
        assert_false(wants(&world));
    }
    baseline_free(world.baseline);
}

/* Any two: what runs against what a person names. */
static void test_a_person_names_what_to_compare_with(void **state) {
    (void)state;
    struct world world;
    struct event event;
    int64_t against;
    begin(&world, BASELINE_OFF);
    run(&world, 20);
    baseline_ask(world.baseline, RIVAL);
    assert_true(wants(&world));
    assert_int_equal(baseline_other(world.baseline), RIVAL);
    agree(&world);
    run(&world, 4 + (int)world.schedule.length);
    assert_true(baseline_next(world.baseline, world.t, &event));
    assert_int_equal(event_check(&event, NULL), 0);
    assert_true(event_int(&event, "against", &against) && against == RIVAL);
    assert_string_equal(event_text(&event, "verdict"), "faster");
    event_done(&event);
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 1);
    assert_false(baseline_is_busy(world.baseline));
    baseline_ask(world.baseline, RIVAL);
    assert_true(baseline_is_busy(world.baseline)); /* from the question to the answer */
    world.variant = RIVAL;                         /* it came in force before anything began */
    run(&world, 20);
    assert_false(wants(&world));
    assert_true(baseline_next(world.baseline, world.t, &event));
    assert_string_equal(event_text(&event, "text"), "the speedup over the other settings could not be "
                                                    "measured: these settings are in force now");
    event_done(&event);
    assert_false(baseline_is_busy(world.baseline));
    baseline_free(world.baseline);
}

/* What cannot be told goes on to the next stage, each its own agreement. */
static void test_the_unsure_go_on_stage_by_stage(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_OFF);
    world.eager_ms = world.ms;
    world.noise = 0.3;
    run(&world, 20);
    baseline_ask(world.baseline, EAGER);
    for (int stage = 0; stage < JUDGE_STAGES_MOST; stage++) {
        assert_true(wants(&world));
        agree(&world);
        run(&world, 4 + (int)world.schedule.length);
        bool is_last = stage + 1 == JUDGE_STAGES_MOST;
        assert_int_equal(baseline_is_busy(world.baseline), !is_last);
        assert_int_equal(count_results(&world, EVENT_SPEEDUP), is_last ? 2 : 0);
        world.is_scheduled = false;
        run(&world, 5);
    }
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_a_switch_between_stages_ends_it_with_what_it_has(void **state) {
    (void)state;
    for (int is_planned = 0; is_planned < 2; is_planned++) {
        struct world world;
        begin(&world, BASELINE_OFF);
        world.eager_ms = world.ms;
        world.noise = 0.3;
        run(&world, 20);
        baseline_ask(world.baseline, EAGER);
        assert_true(wants(&world));
        agree(&world);
        run(&world, 4 + (int)world.schedule.length);
        assert_true(baseline_is_busy(world.baseline));
        struct baseline_now now = {world.t, is_planned ? WRITTEN : OTHER, false, 2,
                                   is_planned ? 20 : UINT64_MAX};
        assert_false(baseline_want(world.baseline, &now, &world.schedule));
        assert_false(baseline_is_busy(world.baseline));
        assert_int_equal(count_results(&world, EVENT_SPEEDUP), 2);
        baseline_free(world.baseline);
    }
}

/* A person is told why, once, and does not wait for more tries. */
static void test_what_a_person_asked_for_is_tried_once(void **state) {
    (void)state;
    struct world world;
    struct event event;
    begin(&world, BASELINE_OFF);
    run(&world, 20);
    baseline_ask(world.baseline, RIVAL);
    assert_true(wants(&world));
    baseline_refused(world.baseline, world.t, "graph holds collectives");
    assert_true(baseline_next(world.baseline, world.t, &event));
    assert_int_equal(event.kind, EVENT_PROBLEM);
    assert_string_equal(event_text(&event, "text"), "the speedup over the other settings could not be "
                                                    "measured: graph holds collectives");
    event_done(&event);
    world.t += 1e6;
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_never_eager_never_without_all_ranks(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 50);
    struct baseline_now now = {1, WRITTEN, true, 2, UINT64_MAX};
    assert_false(baseline_want(world.baseline, &now, &world.schedule));
    now = (struct baseline_now){1, WRITTEN, false, 3, UINT64_MAX};
    assert_false(baseline_want(world.baseline, &now, &world.schedule));
    world.variant = EAGER;
    run(&world, 50);
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_one_slow_rank_holds_it_up(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 9);
    for (uint64_t i = 0; i < 30; i++) take(&world, 0, 9 + i, 30, WRITTEN, true);
    for (uint64_t i = 0; i < 30; i++) take(&world, 1, 9 + i, 30, WRITTEN, false);
    assert_false(wants(&world));
    take(&world, 1, 39, 30, WRITTEN, true);
    assert_true(wants(&world));
    baseline_free(world.baseline);
}

static void test_fits_before_the_next_planned_switch(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    struct baseline_now now = {1, WRITTEN, false, 2, 50};
    assert_false(baseline_want(world.baseline, &now, &world.schedule));
    now.t = 3;
    now.room = 120;
    assert_true(baseline_want(world.baseline, &now, &world.schedule));
    assert_true(world.schedule.length <= 120 - 16);
    baseline_free(world.baseline);
}

static void test_refusals_back_off_and_end(void **state) {
    (void)state;
    static const double waits[] = {5, 10, 20, 40};
    struct world world;
    struct event event;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    for (int i = 0; i < BASELINE_TRIES; i++) {
        assert_true(wants(&world));
        baseline_refused(world.baseline, world.t, "no memory \xff headroom");
        assert_false(baseline_is_busy(world.baseline));
        if (i == BASELINE_TRIES - 1) break;
        world.t += waits[i] - 0.001;
        assert_false(wants(&world));
        assert_false(baseline_next(world.baseline, world.t, &event));
        world.t += 0.002;
    }
    assert_true(baseline_next(world.baseline, world.t, &event));
    assert_int_equal(event.kind, EVENT_PROBLEM);
    assert_string_equal(
        event_text(&event, "text"),
        "the speedup over eager could not be measured in 5 tries: no memory ? headroom");
    event_done(&event);
    world.t += 1e6;
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_dropped_half_way_says_what_it_has(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    assert_true(wants(&world));
    agree(&world);
    run(&world, 3 + 10 + 30);
    baseline_dropped(world.baseline, world.t, "a switch of the plan");
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 0);
    world.is_scheduled = false;
    run(&world, 20);
    assert_false(wants(&world));
    world.t += BASELINE_BACK_OFF_S;
    assert_true(wants(&world));
    agree(&world);
    run(&world, 3 + 10 + 60);
    baseline_dropped(world.baseline, world.t, "a switch of the plan");
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 2);
    world.t += 1e6;
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_too_few_clean_steps_is_a_failed_try(void **state) {
    (void)state;
    struct world world;
    int stages = 0;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    while (wants(&world)) {
        stages++;
        agree(&world);
        for (uint64_t i = 0; i <= 3 + world.schedule.length; i++, world.step++)
            for (int rank = 0; rank < 2; rank++)
                take(&world, rank, world.step, 30, variant_now(&world), false);
    }
    assert_int_equal(stages, JUDGE_STAGES_MOST);
    assert_false(baseline_is_busy(world.baseline));
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 0);
    baseline_free(world.baseline);
}

static void test_a_rank_that_leaves_is_not_waited_for(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    assert_true(wants(&world));
    agree(&world);
    run(&world, 3 + (int)world.schedule.length);
    take(&world, 0, world.step, 30, WRITTEN, true);
    assert_true(baseline_is_busy(world.baseline));
    baseline_gone(world.baseline, 1);
    assert_false(baseline_is_busy(world.baseline));
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 2);
    baseline_free(world.baseline);
}

static void test_the_end_of_the_job_ends_it(void **state) {
    (void)state;
    struct world world;
    begin(&world, BASELINE_ON);
    run(&world, 20);
    assert_true(wants(&world));
    agree(&world);
    run(&world, 3 + 10 + 51);
    baseline_end(world.baseline);
    assert_int_equal(count_results(&world, EVENT_SPEEDUP), 2);
    world.variant = OTHER;
    run(&world, 50);
    assert_false(wants(&world));
    baseline_free(world.baseline);
}

static void test_schedule_on_the_wire(void **state) {
    (void)state;
    struct schedule schedule = {.count = 3,
                                .length = 20,
                                .entries = {{0, SIDE_OTHER}, {5, SIDE_CURRENT}, {10, SIDE_OTHER}}};
    json_t *eager = json_pack("{s:s}", "scope", "eager"), *current = json_object();
    json_t *list = schedule_json(&schedule, eager, current);
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, "[[0,{\"scope\":\"eager\"}],[5,{}],[10,{\"scope\":\"eager\"}]]");
    free(text);
    json_decref(list);
    json_decref(eager);
    json_decref(current);
}

static void test_modes(void **state) {
    (void)state;
    assert_int_equal(baseline_mode_find("off"), BASELINE_OFF);
    assert_int_equal(baseline_mode_find("auto"), BASELINE_AUTO);
    assert_int_equal(baseline_mode_find("on"), BASELINE_ON);
    assert_int_equal(baseline_mode_find(NULL), BASELINE_OFF);
    assert_int_equal(baseline_mode_find("sometimes"), -1);
    assert_null(baseline_free(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_measures_once_and_says_what_it_found),
        cmocka_unit_test(test_auto_waits_for_a_switch),
        cmocka_unit_test(test_off_measures_when_asked),
        cmocka_unit_test(test_a_person_names_what_to_compare_with),
        cmocka_unit_test(test_the_unsure_go_on_stage_by_stage),
        cmocka_unit_test(test_a_switch_between_stages_ends_it_with_what_it_has),
        cmocka_unit_test(test_what_a_person_asked_for_is_tried_once),
        cmocka_unit_test(test_never_eager_never_without_all_ranks),
        cmocka_unit_test(test_one_slow_rank_holds_it_up),
        cmocka_unit_test(test_fits_before_the_next_planned_switch),
        cmocka_unit_test(test_refusals_back_off_and_end),
        cmocka_unit_test(test_dropped_half_way_says_what_it_has),
        cmocka_unit_test(test_too_few_clean_steps_is_a_failed_try),
        cmocka_unit_test(test_a_rank_that_leaves_is_not_waited_for),
        cmocka_unit_test(test_the_end_of_the_job_ends_it),
        cmocka_unit_test(test_schedule_on_the_wire),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
