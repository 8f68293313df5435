/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "engine/tune/findings.h"
#include "tests/unit/data/tell.h"
#include "engine/base/banned.h"

struct job {
    struct store *store;
    struct findings *findings;
    double t;
    int steps;
};

static int begin(void **state) {
    struct job *job = mem_new(sizeof *job);
    job->store = viewed_store();
    job->findings = findings_new();
    *state = job;
    return 0;
}

static int end(void **state) {
    struct job *job = *state;
    findings_free(job->findings);
    store_free(job->store);
    free(job);
    return 0;
}

/* Steps of 20 ms, of which `data_ms` in the loader and `forward_ms` in the forward. */
static void train(struct job *job, int rank, int steps, double data_ms, double forward_ms) {
    for (int i = 0; i < steps; i++) {
        struct step_record record = {.step = (uint64_t)(job->steps + i),
                                     .end_ns = (uint64_t)((job->t + 0.02 * i) * 1e9),
                                     .dur_ns = 20000000,
                                     .data_ns = (uint64_t)(data_ms * 1e6),
                                     .forward_ns = (uint64_t)(forward_ms * 1e6),
                                     .valid = STEP_HAS_DATA | STEP_HAS_FORWARD};
        store_step(job->store, &record, rank, NULL, 0);
    }
}

static void go_on(struct job *job, int steps) {
    job->steps += steps;
    job->t += 0.02 * steps;
}

static void compiled(struct job *job, int rank) {
    tell(job->store, "compile", "'t':%f,'rank':%d,'variant':0,'id':'0/0','trigger':'first','ms':100", job->t, rank);
}

/* The rules of what is told now, each with a blank behind it. */
static const char *told(struct job *job, struct event *ret_last) {
    static char rules[256];
    struct event event;
    const struct snapshot *snapshot = snapshot_take(job->store, job->t);
    findings_look(job->findings, snapshot);
    snapshot_unref(snapshot);
    rules[0] = 0;
    while (findings_next(job->findings, &event)) {
        struct err err;
        assert_int_equal(event_check(&event, &err), 0);
        size_t size = strlen(rules);
        snprintf(rules + size, sizeof rules - size, "%s ", event_text(&event, "rule"));
        store_take(job->store, &event, NULL);
        if (ret_last) {
            event_done(ret_last);
            *ret_last = event;
        } else {
            event_done(&event);
        }
    }
    return rules;
}

static void waiting_for_data_is_told_once_with_its_ceiling(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    double gain = 0, lost = 0;
    hello(job->store, 0);
    compiled(job, 0);
    train(job, 0, 60, 16, 2);
    go_on(job, 60);
    assert_string_equal(told(job, &event), "data ");
    assert_non_null(strstr(event_text(&event, "text"), "80 % of the step waits for data"));
    assert_non_null(strstr(event_text(&event, "text"), "1.25x"));
    assert_true(event_number(&event, "gain", &gain) && fabs(gain - 5) < 1e-6);
    assert_true(event_number(&event, "lost_s", &lost) && fabs(lost - 0.96) < 1e-6);
    event_done(&event);
    assert_string_equal(told(job, NULL), "");
    train(job, 0, 10, 16, 2); /* more of the same, not half as much again */
    go_on(job, 10);
    assert_string_equal(told(job, NULL), "");
    train(job, 0, 200, 16, 2);
    go_on(job, 200);
    assert_string_equal(told(job, NULL), "data ");
    json_t *kept = store_findings(job->store);
    assert_int_equal(json_array_size(kept), 1); /* the later one stands for both */
    json_decref(kept);
}

static void little_waiting_and_few_steps_say_nothing(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    compiled(job, 0);
    train(job, 0, 19, 19, 1);
    go_on(job, 19);
    assert_string_equal(told(job, NULL), "");
    train(job, 0, 2000, 3, 10);
    go_on(job, 2000);
    assert_string_equal(told(job, NULL), "");
}

static void one_rank_that_waits_is_the_slow_one(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    hello(job->store, 0);
    hello(job->store, 1);
    compiled(job, 0);
    compiled(job, 1);
    train(job, 0, 100, 1, 3);
    train(job, 1, 100, 10, 3);
    go_on(job, 100);
    assert_string_equal(told(job, &event), "straggler ");
    assert_true(event.has_rank && event.rank == 1);
    assert_non_null(strstr(event_text(&event, "text"), "take it 13.00 ms, the others 4.00"));
    event_done(&event);
}

/* Two ranks without a data loader: neither tells data or forward, only the backward. */
static void ranks_that_tell_neither_data_nor_forward_are_not_compared(void **state) {
    struct job *job = *state;
    for (int rank = 0; rank < 2; rank++) {
        hello(job->store, rank);
        compiled(job, rank);
        for (uint64_t i = 0; i < 100; i++)
            store_step(job->store,
                       &(struct step_record){.step = i, .end_ns = i * 20000000, .dur_ns = 20000000, .backward_ns = 9000000,
                                             .valid = STEP_HAS_BACKWARD},
                       rank, NULL, 0);
    }
    go_on(job, 100);
    assert_string_equal(told(job, NULL), "");
}

/* It ended early, with too few steps for shares: no reason to say nothing of the others. */
static void a_rank_that_is_over_does_not_count(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    hello(job->store, 1);
    compiled(job, 0);
    compiled(job, 1);
    train(job, 1, 5, 16, 2);
    train(job, 0, 100, 16, 2);
    go_on(job, 100);
    assert_string_equal(told(job, NULL), "");
    hello_as(job->store, 1, "g", "exited", job->t);
    assert_string_equal(told(job, NULL), "data ");
}

static void compiling(struct job *job, int rank, const char *state) {
    tell(job->store, "compiling", "'t':%f,'rank':%d,'state':'%s','part':'forward'", job->t, rank, state);
}

static void who_waits_for_a_rank_that_compiles(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    hello(job->store, 1);
    compiled(job, 0);
    compiled(job, 1);
    train(job, 0, 10, 1, 2);
    train(job, 1, 10, 1, 2);
    go_on(job, 10);
    compiling(job, 1, "begin");
    job->t += 9;
    assert_string_equal(told(job, NULL), "");
    job->t += 2;
    assert_string_equal(told(job, NULL), "waiting ");
    assert_string_equal(told(job, NULL), "");
    compiling(job, 1, "end");
    assert_string_equal(told(job, NULL), "");
    compiling(job, 1, "begin"); /* another wait is another finding */
    job->t += 11;
    assert_string_equal(told(job, NULL), "waiting ");
    hello_as(job->store, 0, "g", "finished", job->t); /* who is over waits for nobody */
    job->t += 60;
    assert_string_equal(told(job, NULL), "");
}

static void undecoded_causes_are_one_finding(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    compiled(job, 0);
    for (int i = 0; i < 6; i++) {
        if (i != 3) assert_string_equal(told(job, NULL), "");
        else assert_string_equal(told(job, NULL), "recompiles ");
        tell(job->store, "compile",
             "'t':%d,'rank':0,'variant':0,'id':'0/%d','frame':'f a.py:1','trigger':'recompile','ms':100,"
             "'cause_id':'unknown','cause':'something: %d','words':'something: %d'",
             i + 1, i + 1, i, i);
    }
    assert_string_equal(told(job, NULL), ""); /* 0.6 s, not a second more than the 0.3 that were told */
}

static void what_is_compiled_again_and_again(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    hello(job->store, 0);
    compiled(job, 0);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(told(job, NULL), "");
        tell(job->store, "compile",
             "'t':%d,'rank':0,'variant':0,'id':'0/%d','frame':'f a.py:1','trigger':'recompile','ms':900,"
             "'cause_id':'size','cause':'x','words':'size of x: 8, now %d','remedy':'pad it'",
             i + 1, i + 1, i);
    }
    assert_string_equal(told(job, &event), "recompiles ");
    assert_non_null(strstr(event_text(&event, "text"), "recompiled 3 times, 2.7 s so far"));
    event_done(&event);
}

static void slower_than_eager(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    compiled(job, 0);
    train(job, 0, 60, 1, 2);
    go_on(job, 60);
    tell(job->store, "speedup", "'t':2,'rank':0,'variant':0,'ratio':1.3,'low':1.2,'high':1.4,'pairs':20,'verdict':'faster'");
    assert_string_equal(told(job, NULL), "");
    tell(job->store, "speedup", "'t':3,'rank':0,'variant':0,'ratio':0.8,'low':0.7,'high':0.9,'pairs':20,'verdict':'slower'");
    assert_string_equal(told(job, NULL), "slower ");
}

static void nothing_compiled_is_told_after_a_while(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    train(job, 0, 49, 1, 2);
    go_on(job, 49);
    assert_string_equal(told(job, NULL), "");
    train(job, 0, 1, 1, 2);
    go_on(job, 1);
    assert_string_equal(told(job, NULL), "off ");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(waiting_for_data_is_told_once_with_its_ceiling),
        TEST(little_waiting_and_few_steps_say_nothing),
        TEST(one_rank_that_waits_is_the_slow_one),
        TEST(ranks_that_tell_neither_data_nor_forward_are_not_compared),
        TEST(a_rank_that_is_over_does_not_count),
        TEST(who_waits_for_a_rank_that_compiles),
        TEST(undecoded_causes_are_one_finding),
        TEST(what_is_compiled_again_and_again),
        TEST(slower_than_eager),
        TEST(nothing_compiled_is_told_after_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
