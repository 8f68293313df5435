/* The tapes in tests/tapes, through the whole way from the file to the picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/store.h"
#include "engine/data/summary.h"
#include "engine/feed.h"
#include "engine/tape/replay.h"
#include "engine/base/banned.h"

static char *path_of(const char *name) {
    const char *here = __FILE__;
    return mem_printf("%.*s/../../tapes/%s.jsonl", (int)(strrchr(here, '/') - here), here, name);
}

static struct feed *open_tape(const char *name) {
    char *path = path_of(name);
    struct feed *feed = NULL;
    struct err err;
    if (feed_tape(&(struct feed_options){0}, path, &feed, &err)) fail_msg("%s", err.message);
    free(path);
    return feed;
}

static void run_to(struct feed *feed, double t) {
    feed_seek(feed, t);
    while (feed_turn(feed, 0)) {
    }
    assert_int_equal(feed_facts(feed).bad, 0);
}

static const struct snapshot *shown;

static const struct snapshot *look(struct feed *feed) {
    snapshot_unref(shown);
    return shown = feed_snapshot(feed);
}

static int forget(void **state) {
    (void)state;
    snapshot_unref(shown);
    shown = NULL;
    return 0;
}

static const struct snapshot_event *line_with(const char *text) {
    for (size_t i = shown->event_count; i-- > 0;)
        if (strstr(shown->events[i]->text, text)) return shown->events[i];
    fail_msg("no line with '%s'", text);
    return NULL;
}

static void test_healthy(void **state) {
    (void)state;
    struct feed *feed = open_tape("healthy");
    run_to(feed, 1e9);
    look(feed);
    assert_int_equal(feed_facts(feed).state, SOURCE_ENDED);
    assert_true(shown->rank_count == 2 && shown->job->has_exit && shown->job->exit == 0);
    for (size_t i = 0; i < 2; i++) {
        const struct snapshot_rank *rank = shown->ranks[i];
        assert_true(rank->steps == 500 && rank->step == 499 && rank->compiles > 2);
        assert_int_equal(snapshot_activity(shown, rank), ACTIVITY_FINISHED);
        assert_string_equal(rank->speedup.verdict, "faster");
        assert_true(rank->speedup.ratio > 1.2 && rank->speedup.low > 1.1);
        assert_true(rank->rss > 4e8 && !isnan(rank->rss_over_eager));
        assert_int_equal(rank->curve.count, 500);
    }
    const struct snapshot_group *group = shown->groups[shown->ranks[0]->group];
    assert_string_equal(snapshot_pair(group->settings, "scope"), "regional");
    assert_null(snapshot_pair(group->settings, "dynamic"));
    assert_true(group->evidence && group->agreeing == 2);
    assert_string_equal(line_with("measuring against eager")->ranks, "0,1");
    assert_true(line_with("dynamic as written to on")->level == LEVEL_GOOD);
    size_t eager = 0;
    for (size_t i = 0; i < shown->variant_count; i++) eager += shown->variants[i].is_eager;
    assert_int_equal(eager, 1);
    feed_free(feed);
}

static void test_healthy_in_the_middle_of_a_measurement(void **state) {
    (void)state;
    struct feed *feed = open_tape("healthy");
    feed_seek_step(feed, 100);
    while (feed_turn(feed, 0)) {
    }
    look(feed);
    assert_true(shown->ranks[0]->step == 100 && shown->ranks[1]->step == 100);
    const struct snapshot_switch *pending = snapshot_pending(shown, shown->ranks[0]->who->group);
    assert_non_null(pending);
    assert_string_equal(pending->by, "baseline");
    assert_null(shown->ranks[0]->speedup.verdict);
    feed_free(feed);
}

static void test_storm(void **state) {
    (void)state;
    struct feed *feed = open_tape("storm");
    run_to(feed, 1e9);
    look(feed);
    assert_true(shown->ranks[0]->recompiles == 8 && shown->ranks[0]->compile_s > 10);
    assert_int_equal(shown->cause_count, 1);
    assert_int_equal(shown->causes[0]->count, 8);
    assert_non_null(strstr(shown->causes[0]->words, "size of x[0]: "));
    const struct snapshot_compile *last = shown->compiles[shown->compile_count - 1];
    assert_string_equal(last->failed, "recompile_limit");
    assert_string_equal(snapshot_pair(last->limits, "hit"), "recompile_limit");
    assert_string_equal(snapshot_pair(last->limits, "entries"), "8");
    assert_non_null(shown->causes[0]->remedy);
    assert_true(shown->compiles[1]->dynamo_ms > 0 && shown->compiles[1]->has_step);
    assert_int_equal(shown->break_count, 0); /* a limit is none */
    feed_free(feed);
}

static void test_switch_failed(void **state) {
    (void)state;
    struct feed *feed = open_tape("switch_failed");
    run_to(feed, 1e9);
    look(feed);
    const struct snapshot_event *line = line_with("fullgraph as written to on, failed at");
    assert_int_equal(line->level, LEVEL_BAD);
    assert_string_equal(line->place, "break_in_loop.py:21");
    assert_non_null(line_with("fullgraph on to as written (put back), applied at"));
    assert_int_equal(shown->groups[shown->ranks[0]->group]->settings->count, 0);
    assert_true(shown->switches[0]->is_over && shown->switches[0]->status == SWITCH_FAILED);
    feed_free(feed);
}

static void test_straggler(void **state) {
    (void)state;
    struct feed *feed = open_tape("straggler");
    run_to(feed, 1e9);
    look(feed);
    const struct snapshot_group *group = shown->groups[shown->ranks[0]->group];
    assert_true(group->has_slowest && shown->ranks[group->slowest]->rank == 5);
    assert_true(group->slowest_ratio > 1.3 && group->slowest_ratio < 1.4);
    assert_true(shown->ranks[5]->forward_ms > 0 && shown->finding_count == 1);
    feed_free(feed);
}

static void test_rank_lost(void **state) {
    (void)state;
    struct feed *feed = open_tape("rank_lost");
    run_to(feed, 30);
    look(feed);
    assert_int_equal(snapshot_activity(shown, shown->ranks[3]), ACTIVITY_LOST);
    assert_int_equal(snapshot_activity(shown, shown->ranks[0]), ACTIVITY_QUIET);
    assert_true(shown->groups[0]->running == 3);
    run_to(feed, 1e9);
    look(feed);
    assert_true(shown->job->exit == 1 && shown->groups[0]->running == 0);
    assert_true(shown->ranks[0]->who->has_exit && shown->ranks[0]->who->exit == 1);
    assert_string_equal(line_with("connection closed by peer")->ranks, "0-2");
    feed_free(feed);
}

static void test_compile_stuck(void **state) {
    (void)state;
    struct feed *feed = open_tape("compile_stuck");
    run_to(feed, 90);
    look(feed);
    const struct snapshot_switch *pending = snapshot_pending(shown, "0/0/default");
    assert_true(pending && pending->status == SWITCH_COMMITTED &&
                pending->by_status[SWITCH_READY] == 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(snapshot_activity(shown, shown->ranks[i]), ACTIVITY_SWITCHING);
    assert_true(snapshot_idle_s(shown, shown->ranks[1]) > 80);
    assert_true(shown->ranks[0]->compiles == 2 && shown->ranks[1]->compiles == 1);
    feed_free(feed);
}

/* ---- what a tape's own summary says comes out of its events too */

static struct store *summed;
static json_t *told;

static void take_event(void *ctx, const struct event *event, const char *group) {
    (void)ctx;
    if (event->kind != EVENT_SUMMARY)
        store_take(summed, event, group);
    else
        told = json_incref(event->body);
}

static void take_steps(void *ctx, const struct source_steps *steps) {
    struct step_record record;
    (void)ctx;
    memcpy(&record, steps->records, sizeof record);
    store_step(summed, &record, steps->rank, steps->group, steps->start_ns);
}

static void nothing(void *ctx) {
    (void)ctx;
}

static void check_same(const json_t *a, const json_t *b, const char *where) {
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);
        if (fabs(x - y) > 1e-4 * fabs(x)) fail_msg("%s: %g, not %g", where, x, y);
    } else if (json_is_object(a)) {
        json_object_foreach((json_t *)a, key, value)
            check_same(value, json_object_get(b, key), key);
    } else if (json_is_array(a)) {
        assert_int_equal(json_array_size(a), json_array_size(b));
        json_array_foreach((json_t *)a, i, value) check_same(value, json_array_get(b, i), where);
    } else if (!json_equal(a, b)) {
        fail_msg("%s differs", where);
    }
}

static void test_the_figures_are_those_of_the_summary(void **state) {
    (void)state;
    static const char *const names[] = {"healthy", "storm", "switch_failed"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct source_sink sink = {take_event, take_steps, nothing, nothing, NULL};
        char *path = path_of(names[i]);
        struct replay *replay;
        struct event event;
        summed = store_new();
        assert_int_equal(replay_open(path, &sink, &replay, NULL), 0);
        replay_seek(replay, 1e9);
        while (replay_turn(replay, 0)) {
        }
        summary_event(summed, &event);
        check_same(json_object_get(told, "ranks"), json_object_get(event.body, "ranks"), names[i]);
        check_same(json_object_get(told, "switches"), json_object_get(event.body, "switches"),
                   names[i]);
        event_done(&event);
        json_decref(told);
        store_free(summed);
        replay_free(replay);
        free(path);
    }
}

static void test_back_and_forth_is_the_same_picture(void **state) {
    (void)state;
    struct feed *feed = open_tape("healthy");
    run_to(feed, 60);
    const struct snapshot *before = feed_snapshot(feed);
    run_to(feed, 1e9);
    run_to(feed, 60);
    const struct snapshot *after = feed_snapshot(feed);
    assert_true(before->ranks[1]->steps == after->ranks[1]->steps && before->now == after->now);
    assert_true(before->ranks[1]->median_ms == after->ranks[1]->median_ms);
    assert_int_equal(before->event_total, after->event_total);
    assert_int_equal(before->switch_count, after->switch_count);
    snapshot_unref(before);
    snapshot_unref(after);
    feed_free(feed);
}

static void test_nothing_can_be_changed_on_a_tape(void **state) {
    (void)state;
    struct feed *feed = open_tape("storm");
    struct settings change = SETTINGS_INIT;
    struct err err;
    assert_true(feed_propose(feed, &change, NULL, NULL, &err) < 0);
    assert_string_equal(err.message, "this is a tape: nothing can be changed");
    assert_true(feed_baseline(feed, NULL, "t", &err) < 0 && feed_take_over(feed, NULL, &err) < 0);
    assert_true(feed_facts(feed).is_tape && feed_facts(feed).is_readonly);
    feed_free(feed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_healthy, forget),
        cmocka_unit_test_teardown(test_healthy_in_the_middle_of_a_measurement, forget),
        cmocka_unit_test_teardown(test_storm, forget),
        cmocka_unit_test_teardown(test_switch_failed, forget),
        cmocka_unit_test_teardown(test_straggler, forget),
        cmocka_unit_test_teardown(test_rank_lost, forget),
        cmocka_unit_test_teardown(test_compile_stuck, forget),
        cmocka_unit_test(test_the_figures_are_those_of_the_summary),
        cmocka_unit_test(test_back_and_forth_is_the_same_picture),
        cmocka_unit_test(test_nothing_can_be_changed_on_a_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
