/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/tape/replay.h"
#include "engine/base/banned.h"

enum { SECOND = 1000000000 };

/* What was told, and a tape in a file of its own. */
struct lab {
    char path[32];
    FILE *file;
    struct replay *replay;
    uint64_t now, events, steps, agains, changes;
    uint64_t last_step;
    int last_rank;
    double last_t;
};

static void took_event(void *ctx, const struct event *event, const char *group) {
    struct lab *lab = ctx;
    assert_null(group);
    lab->events++;
    lab->last_t = event->t;
}

static void took_steps(void *ctx, const struct source_steps *steps) {
    struct lab *lab = ctx;
    struct step_record record;
    assert_int_equal(steps->count, 1);
    memcpy(&record, steps->records, sizeof record);
    lab->steps++;
    lab->last_step = record.step;
    lab->last_rank = steps->rank;
    lab->last_t = (double)(record.end_ns - steps->start_ns) / 1e9;
}

static void began_again(void *ctx) {
    struct lab *lab = ctx;
    lab->agains++;
    lab->events = lab->steps = 0;
}

static void changed(void *ctx) {
    ((struct lab *)ctx)->changes++;
}

static int set_up(void **state) {
    struct lab *lab = mem_new(sizeof *lab);
    snprintf(lab->path, sizeof lab->path, "/tmp/replay-XXXXXX");
    lab->file = fdopen(mkstemp(lab->path), "w");
    lab->now = 5 * (uint64_t)SECOND;
    *state = lab;
    return 0;
}

static int tear_down(void **state) {
    struct lab *lab = *state;
    replay_free(lab->replay);
    fclose(lab->file);
    unlink(lab->path);
    free(lab);
    return 0;
}

static void open_tape(struct lab *lab) {
    struct source_sink sink = {took_event, took_steps, began_again, changed, lab};
    struct err err;
    fflush(lab->file);
    if (replay_open(lab->path, &sink, &lab->replay, &err)) fail_msg("%s", err.message);
}

static void problem(struct lab *lab, double t) {
    fprintf(lab->file, "{\"v\":1,\"kind\":\"problem\",\"t\":%g,\"what\":\"w\",\"text\":\"x\"}\n",
            t);
}

static void step(struct lab *lab, double t, int rank, int number) {
    fprintf(lab->file,
            "{\"v\":1,\"kind\":\"step\",\"t\":%g,\"rank\":%d,\"step\":%d,\"variant\":0,\"clean\":"
            "true}\n",
            t, rank, number);
}

/* Ten seconds: two ranks, a step each second, a problem at 2.5 s. */
static void ten_seconds(struct lab *lab) {
    problem(lab, 0);
    for (int i = 1; i <= 10; i++) {
        step(lab, i, 0, i - 1);
        step(lab, i + 0.01, 1, i - 1);
        if (i == 2) problem(lab, 2.5);
    }
}

static void turn(struct lab *lab, double seconds) {
    lab->now += (uint64_t)(seconds * SECOND);
    while (replay_turn(lab->replay, lab->now)) {
    }
}

static struct replay_facts facts(const struct lab *lab) {
    return replay_facts(lab->replay);
}

static void test_it_begins_paused_and_knows_its_length(void **state) {
    struct lab *lab = *state;
    ten_seconds(lab);
    open_tape(lab);
    assert_true(facts(lab).length == 10.01 && facts(lab).t == 0);
    assert_int_equal(facts(lab).state, SOURCE_PAUSED);
    turn(lab, 0);
    turn(lab, 100);
    assert_int_equal(lab->events, 1); /* what is at 0 */
    assert_int_equal(lab->steps, 0);
    assert_false(facts(lab).has_step);
}

static void test_it_plays_by_the_time_given(void **state) {
    struct lab *lab = *state;
    ten_seconds(lab);
    open_tape(lab);
    turn(lab, 0);
    replay_play(lab->replay, true);
    turn(lab, 0.9);
    assert_int_equal(lab->steps, 0);
    turn(lab, 0.1);
    assert_int_equal(lab->steps, 1);
    turn(lab, 1.5);
    assert_int_equal(lab->steps, 4);
    assert_int_equal(lab->events, 2);
    assert_true(facts(lab).t == 2.5);
    replay_play(lab->replay, false);
    turn(lab, 100);
    assert_int_equal(lab->steps, 4);
    replay_play(lab->replay, true);
    replay_set_speed(lab->replay, 4);
    turn(lab, 1);
    assert_true(facts(lab).t == 6.5);
    assert_int_equal(lab->steps, 12);
    assert_int_equal(facts(lab).state, SOURCE_LIVE);
    turn(lab, 100);
    assert_int_equal(lab->steps, 20);
    assert_int_equal(facts(lab).state, SOURCE_ENDED);
    assert_true(facts(lab).t == 10.01);
    assert_int_equal(lab->agains, 0);
    assert_int_equal(facts(lab).lines, 22);
}

static void test_speed_is_held_in_bounds(void **state) {
    struct lab *lab = *state;
    open_tape(lab);
    replay_set_speed(lab->replay, 1e9);
    assert_true(facts(lab).speed == REPLAY_SPEED_MOST);
    replay_set_speed(lab->replay, -1);
    assert_true(facts(lab).speed == REPLAY_SPEED_LEAST);
}

static void test_seek_forward_and_back(void **state) {
    struct lab *lab = *state;
    ten_seconds(lab);
    open_tape(lab);
    replay_seek(lab->replay, 7.5);
    assert_int_equal(facts(lab).state, SOURCE_CATCHING_UP);
    turn(lab, 0);
    assert_int_equal(facts(lab).state, SOURCE_PAUSED);
    assert_int_equal(lab->steps, 14);
    assert_true(facts(lab).t == 7.5);
    replay_seek(lab->replay, 1.005);
    assert_int_equal(lab->agains, 1);
    turn(lab, 0);
    assert_int_equal(lab->steps, 1);
    assert_true(facts(lab).t == 1.005);
    replay_seek(lab->replay, 1e9);
    turn(lab, 0);
    assert_int_equal(lab->steps, 20);
    assert_int_equal(lab->agains, 1);
    assert_int_equal(facts(lab).state, SOURCE_ENDED);
    replay_seek(lab->replay, NAN);
    turn(lab, 0);
    assert_int_equal(lab->steps, 0);
    assert_int_equal(lab->agains, 2);
    replay_play(lab->replay, true);
    turn(lab, 3);
    assert_int_equal(lab->steps, 5);
}

static void test_seek_and_go_by_steps(void **state) {
    struct lab *lab = *state;
    ten_seconds(lab);
    open_tape(lab);
    turn(lab, 0);
    replay_step(lab->replay, 1);
    turn(lab, 0);
    assert_int_equal(lab->steps, 2); /* step 0 of both ranks */
    replay_step(lab->replay, 1);
    turn(lab, 0);
    assert_true(facts(lab).has_step && facts(lab).step == 1 && facts(lab).t == 2.5);
    replay_step(lab->replay, 3);
    replay_step(lab->replay, 1); /* before the first is done */
    turn(lab, 0);
    assert_int_equal(facts(lab).step, 5);
    assert_int_equal(lab->agains, 0);
    replay_step(lab->replay, -1);
    turn(lab, 0);
    assert_int_equal(facts(lab).step, 4);
    assert_int_equal(lab->steps, 10);
    assert_int_equal(lab->agains, 1);
    replay_seek_step(lab->replay, 7);
    turn(lab, 0);
    assert_int_equal(lab->steps, 16);
    assert_int_equal(lab->last_rank, 1);
    replay_step(lab->replay, -100);
    turn(lab, 0);
    assert_int_equal(lab->steps, 0);
    replay_seek_step(lab->replay, 1000);
    turn(lab, 0);
    assert_int_equal(lab->steps, 20);
    assert_int_equal(facts(lab).state, SOURCE_ENDED);
}

static void test_bad_lines_are_counted(void **state) {
    struct lab *lab = *state;
    fputs("\n  \nnonsense\n{\"v\":1,\"kind\":\"step\",\"t\":1}\n{}\n", lab->file);
    problem(lab, 1);
    char *long_line = mem_new(3 << 20);
    memset(long_line, 'x', (3 << 20) - 1);
    fprintf(lab->file, "%s\n", long_line);
    free(long_line);
    problem(lab, 2);
    fputs("{\"v\":1,\"kind\":\"dream\",\"t\":2,\"x\":1}\n{\"v\":1,\"ki", lab->file);
    open_tape(lab);
    replay_seek(lab->replay, 10);
    turn(lab, 0);
    assert_int_equal(lab->events, 3);
    assert_int_equal(facts(lab).bad, 5);
    assert_non_null(strstr(facts(lab).bad_text, "no JSON"));
    replay_seek(lab->replay, 0);
    turn(lab, 0);
    replay_seek(lab->replay, 10);
    turn(lab, 0);
    assert_int_equal(facts(lab).bad, 5);
}

static void test_a_tape_that_grows(void **state) {
    struct lab *lab = *state;
    problem(lab, 1);
    fputs("{\"v\":1,\"kind\":\"problem\",\"t\":2,", lab->file);
    open_tape(lab);
    replay_play(lab->replay, true);
    turn(lab, 0);
    turn(lab, 5);
    assert_int_equal(lab->events, 1);
    assert_int_equal(facts(lab).bad, 1);
    assert_int_equal(facts(lab).state, SOURCE_ENDED);
    fputs("\"what\":\"w\",\"text\":\"x\"}\n", lab->file);
    step(lab, 3, 0, 0);
    fflush(lab->file);
    turn(lab, 0.5);
    turn(lab, 1);
    turn(lab, 5);
    assert_int_equal(lab->events, 2);
    assert_int_equal(lab->steps, 1);
    assert_int_equal(facts(lab).bad, 0);
    assert_true(facts(lab).length == 3);
}

static void test_a_turn_reads_so_much_and_no_more(void **state) {
    struct lab *lab = *state;
    for (int i = 0; i < 40000; i++) step(lab, i * 0.001, i % 8, i / 8);
    open_tape(lab);
    replay_seek(lab->replay, 1e9);
    int turns = 1;
    uint64_t before = 0;
    while (replay_turn(lab->replay, lab->now)) {
        assert_true((lab->steps - before) * 70 < 2 * REPLAY_TURN_BYTES);
        assert_int_equal(facts(lab).state, SOURCE_CATCHING_UP);
        before = lab->steps;
        turns++;
    }
    assert_true(turns >= 3);
    assert_int_equal(lab->steps, 40000);
    assert_int_equal(facts(lab).step, 4999);
}

static void test_what_is_late_is_told_at_once(void **state) {
    struct lab *lab = *state;
    problem(lab, 2);
    problem(lab, 1);
    problem(lab, 3);
    open_tape(lab);
    replay_seek(lab->replay, 2);
    turn(lab, 0);
    assert_int_equal(lab->events, 2);
}

static void test_other_files_are_refused(void **state) {
    struct lab *lab = *state;
    struct source_sink sink = {took_event, took_steps, began_again, changed, lab};
    struct err err;
    assert_true(replay_open("/nowhere/at/all", &sink, &lab->replay, &err) < 0);
    assert_non_null(strstr(err.message, "could not open tape"));
    assert_true(replay_open("/tmp", &sink, &lab->replay, &err) < 0);
    assert_true(replay_open("/dev/null", &sink, &lab->replay, &err) < 0);
    assert_null(lab->replay);
    open_tape(lab); /* empty */
    turn(lab, 0);
    replay_seek_step(lab->replay, 4);
    turn(lab, 0);
    assert_int_equal(facts(lab).state, SOURCE_ENDED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_begins_paused_and_knows_its_length, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_it_plays_by_the_time_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_speed_is_held_in_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_seek_forward_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_seek_and_go_by_steps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_lines_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tape_that_grows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_turn_reads_so_much_and_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_late_is_told_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_files_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
