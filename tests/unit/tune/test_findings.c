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
                                     .backward_ns = (uint64_t)((20 - data_ms - forward_ms) * 1e6),
                                     .valid = STEP_HAS_DATA | STEP_HAS_FORWARD | STEP_HAS_BACKWARD};
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
    assert_non_null(strstr(event_text(&event, "text"), "takes 13.00 ms, the others 4.00"));
    event_done(&event);
}

/* Without a data loader neither data nor forward is told, only the backward. */
static void train_without_loader(struct job *job, int rank, double backward_ms) {
    for (int i = 0; i < 100; i++)
        store_step(job->store,
                   &(struct step_record){.step = (uint64_t)(job->steps + i), .end_ns = (uint64_t)((job->t + 0.02 * i) * 1e9),
                                         .dur_ns = 20000000, .backward_ns = (uint64_t)(backward_ms * 1e6),
                                         .valid = STEP_HAS_BACKWARD},
                   rank, NULL, 0);
}

static void ranks_without_a_loader_are_compared_by_what_is_not_backward(void **state) {
    struct job *job = *state;
    for (int rank = 0; rank < 2; rank++) {
        hello(job->store, rank);
        compiled(job, rank);
        train_without_loader(job, rank, 9);
    }
    go_on(job, 100);
    assert_string_equal(told(job, NULL), "");
    for (int n = 0; n < 9; n++) {
        train_without_loader(job, 0, 12);
        train_without_loader(job, 1, 4);
        go_on(job, 100);
    }
    assert_string_equal(told(job, NULL), "straggler ");
}

static void ranks_that_tell_no_phase_are_not_compared(void **state) {
    struct job *job = *state;
    for (int rank = 0; rank < 2; rank++) {
        hello(job->store, rank);
        compiled(job, rank);
        train_without_loader(job, rank, 0);
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
    job->t += 40;
    assert_string_equal(told(job, NULL), "");
}

static void all_compile_and_one_takes_longer(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    double lost = 0;
    for (int rank = 0; rank < 2; rank++) {
        hello(job->store, rank);
        compiled(job, rank);
        train(job, rank, 10, 1, 2);
    }
    go_on(job, 10);
    for (int rank = 0; rank < 2; rank++) compiling(job, rank, "begin");
    job->t += 9;
    compiling(job, 0, "end");
    job->t += 2;
    assert_string_equal(told(job, NULL), ""); /* waits since 2 s, not since 11 */
    job->t += 4;
    assert_string_equal(told(job, &event), "waiting ");
    assert_non_null(strstr(event_text(&event, "action"), "The others have compiled theirs"));
    assert_true(event_number(&event, "lost_s", &lost) && fabs(lost - 6) < 1e-6);
    event_done(&event);
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

static void numbers_that_differ(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    const char *active = "'t':%d,'rank':0,'unit':0,'name':'Net','units':1,'state':'on','since':1,'variant':0,'skipped':0,'limited':0,"
                         "'ids':['0/0'],'settings':{'verify':'%s'}";
    hello(job->store, 0);
    compiled(job, 0);
    tell(job->store, "active", active, 1, "same: 1 graph, error 3e-07");
    assert_string_equal(told(job, NULL), "");
    tell(job->store, "active", active, 2, "n/a: an input is a DTensor");
    assert_string_equal(told(job, NULL), "");
    tell(job->store, "active", active, 3, "differs: the output is 5 % off (the largest error)");
    assert_string_equal(told(job, &event), "numbers ");
    assert_string_equal(event_text(&event, "text"),
                        "Net computes something else compiled than eager: the output is 5 % off (the largest error)");
    event_done(&event);
    assert_string_equal(told(job, NULL), ""); /* once */
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

static void what_is_compiled_and_does_not_run(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    const char *active = "'t':1,'rank':0,'unit':0,'name':'Net','units':1,'state':'%s','since':1,'variant':0,'skipped':0,'limited':0,"
                         "'trouble':'is compiled for nothing: why'";
    hello(job->store, 0);
    tell(job->store, "active", active, "bypassed");
    train(job, 0, 19, 1, 2);
    go_on(job, 19);
    assert_string_equal(told(job, NULL), "");
    train(job, 0, 1, 1, 2);
    go_on(job, 1);
    assert_string_equal(told(job, &event), "off ");
    assert_string_equal(event_text(&event, "text"), "Net is compiled for nothing: why");
    assert_non_null(strstr(event_text(&event, "action"), "Call what torch.compile returned"));
    event_done(&event);
    tell(job->store, "active", active, "limit"); /* a rule of its own */
    assert_string_equal(told(job, NULL), "");
}

/* A recompile in the step that is under way, which takes so long. */
static void recompiled(struct job *job, int rank, const char *now, double ms) {
    tell(job->store, "compile",
         "'t':%f,'rank':%d,'variant':0,'id':'0/1','frame':'f a.py:1','trigger':'recompile','ms':%f,'cause_id':'size','source':'x[0]',"
         "'words':'size of x[0]: 8, now %s','remedy':'pad it'",
         job->t, rank, ms, now);
}

static void ranks_that_train(struct job *job, int ranks, int steps) {
    for (int rank = 0; rank < ranks; rank++) train(job, rank, steps, 1, 2);
    go_on(job, steps);
}

static void begin_ranks(struct job *job, int ranks) {
    for (int rank = 0; rank < ranks; rank++) {
        hello(job->store, rank);
        compiled(job, rank);
    }
    ranks_that_train(job, ranks, 10);
}

static void a_rank_alone_with_something_new_is_told_at_once(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 8);
    tell(job->store, "unit", "'t':1,'rank':3,'unit':0,'name':'Net','origin':'script'");
    tell(job->store, "compiling", "'t':%f,'rank':3,'state':'begin','part':'forward','unit':0,'words':'size of x[0]: 8, now 9'", job->t);
    job->t += 0.9;
    assert_string_equal(told(job, NULL), "");
    assert_true(findings_are_urgent(job->findings)); /* the next look comes soon */
    job->t += 0.2;
    assert_string_equal(told(job, &event), "waiting ");
    assert_string_equal(event_text(&event, "text"), "rank 3 alone compiles Net, forward again since 1 s: size of x[0]: 8, now 9; 7 ranks wait");
    event_done(&event);
    tell(job->store, "compiling", "'t':%f,'rank':3,'state':'end'", job->t);
    assert_string_equal(told(job, NULL), "");
    assert_false(findings_are_urgent(job->findings));
}

/* Rank 5 was through with it sooner, for example because the cache had it by then. */
static void ranks_that_met_the_same_in_this_step_are_not_alone(void **state) {
    struct job *job = *state;
    begin_ranks(job, 8);
    tell(job->store, "compiling", "'t':%f,'rank':5,'state':'begin','words':'size of x[0]: 8, now 9'", job->t + 0.1);
    tell(job->store, "compiling", "'t':%f,'rank':3,'state':'begin','words':'size of x[0]: 8, now 9'", job->t + 0.1);
    tell(job->store, "compiling", "'t':%f,'rank':5,'state':'end'", job->t + 1);
    job->t += 5;
    assert_string_equal(told(job, NULL), "");
    job->t += 6; /* and now it is long, whatever it is */
    assert_string_equal(told(job, NULL), "waiting ");
}

static void what_one_rank_met_and_the_others_did_not(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 8);
    recompiled(job, 3, "9", 2500);
    assert_string_equal(told(job, NULL), ""); /* the others may meet it yet */
    ranks_that_train(job, 8, 3);
    assert_string_equal(told(job, &event), "alone ");
    assert_true(event.has_rank && event.rank == 3);
    assert_string_equal(event_text(&event, "text"), "rank 3 alone recompiled f a.py:1: size of x[0]: 8, now 9; 7 ranks did not");
    event_done(&event);
    assert_string_equal(told(job, NULL), "");
}

static void one_rank_that_did_not_meet_what_the_others_did(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 4);
    for (int rank = 0; rank < 4; rank++)
        if (rank != 2) tell(job->store, "break", "'t':%f,'rank':%d,'file':'/a/train.py','line':41,'reason':'print','count':1", job->t, rank);
    ranks_that_train(job, 4, 3);
    assert_string_equal(told(job, &event), "alone ");
    assert_true(event.has_rank && event.rank == 2);
    assert_string_equal(event_text(&event, "text"), "3 ranks broke the graph at train.py:41: print; rank 2 alone did not");
    event_done(&event);
}

static void what_all_ranks_meet_is_no_difference(void **state) {
    struct job *job = *state;
    begin_ranks(job, 4);
    for (int rank = 0; rank < 4; rank++) recompiled(job, rank, "9", 2500);
    ranks_that_train(job, 4, 3);
    assert_string_equal(told(job, NULL), "");
}

static void a_function_that_one_rank_calls_alone(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 2);
    tell(job->store, "compile", "'t':%f,'rank':0,'variant':0,'id':'1/0','frame':'evaluate a.py:9','trigger':'first','ms':4000", job->t);
    tell(job->store, "compile", "'t':%f,'rank':0,'variant':0,'id':'2/0','frame':'torch_dynamo_resume_in_evaluate_at_12 a.py:12','trigger':'first','ms':4000", job->t);
    ranks_that_train(job, 2, 3);
    assert_string_equal(told(job, &event), "alone ");
    assert_string_equal(event_text(&event, "text"), "rank 0 alone compiled evaluate a.py:9; 1 rank did not");
    event_done(&event);
}

static void a_cache_that_one_rank_did_not_find_it_in(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 4);
    for (int rank = 0; rank < 4; rank++)
        tell(job->store, "compile", "'t':%f,'rank':%d,'variant':0,'id':'1/0','frame':'g a.py:9','trigger':'first','ms':%d,'cache':{'%s':1}", job->t,
             rank, rank == 1 ? 12000 : 300, rank == 1 ? "fx_miss" : "fx_hit");
    ranks_that_train(job, 4, 3);
    assert_string_equal(told(job, &event), "alone ");
    assert_string_equal(event_text(&event, "text"), "rank 1 alone compiled anew g a.py:9; 3 ranks had it in the cache");
    event_done(&event);
}

static void one_dear_recompile_is_enough(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 1);
    recompiled(job, 0, "7", 9000);
    assert_string_equal(told(job, NULL), "");
    tell(job->store, "compile", "'t':%f,'rank':0,'variant':0,'id':'0/1','trigger':'backward','ms':2000,'frame':'f a.py:1','cause_id':'size','source':'x[0]'",
         job->t);
    assert_string_equal(told(job, &event), "recompiles ");
    assert_string_equal(event_text(&event, "text"), "recompiled once, 11.0 s so far: size of x[0]: 8, now 7");
    event_done(&event);
}

static void what_comes_again_in_the_second_epoch(void **state) {
    struct job *job = *state;
    begin_ranks(job, 1);
    recompiled(job, 0, "7", 100);
    ranks_that_train(job, 1, 10);
    recompiled(job, 0, "6", 100); /* soon after: it finds out what changes */
    assert_string_equal(told(job, NULL), "");
    ranks_that_train(job, 1, 30);
    recompiled(job, 0, "5", 100);
    assert_string_equal(told(job, NULL), "recompiles ");
}

static void the_same_after_a_switch_is_another_set_of_settings(void **state) {
    struct job *job = *state;
    begin_ranks(job, 1);
    recompiled(job, 0, "7", 100);
    ranks_that_train(job, 1, 40);
    tell(job->store, "compile", "'t':%f,'rank':0,'variant':5,'id':'0/3','frame':'f a.py:1','trigger':'recompile','ms':100,'cause_id':'size','source':'x[0]'",
         job->t);
    assert_string_equal(told(job, NULL), "");
}

static void breaks_that_run_in_every_call(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 1);
    tell(job->store, "break", "'t':%f,'rank':0,'frame':'forward','file':'/a/train.py','line':41,'reason':'print','count':1,'runs':3", job->t);
    assert_string_equal(told(job, NULL), ""); /* early: it may have been in the first call alone */
    ranks_that_train(job, 1, 20);
    assert_string_equal(told(job, &event), "breaks ");
    assert_string_equal(event_text(&event, "text"), "the graph breaks at train.py:41, 3 times in every call: print");
    event_done(&event);
    tell(job->store, "break", "'t':%f,'rank':0,'file':'/a/train.py','line':50,'reason':'once','count':1,'runs':0", job->t);
    tell(job->store, "break", "'t':%f,'rank':0,'file':'/a/train.py','line':60,'reason':'ddp','count':1,'runs':1,'effect':'ddp'", job->t);
    tell(job->store, "break", "'t':%f,'rank':0,'file':'/a/train.py','line':65,'reason':'x','count':1,'effect':'eager','framework':true", job->t);
    assert_string_equal(told(job, NULL), "");
    tell(job->store, "break", "'t':%f,'rank':0,'frame':'f train.py:67','file':'/a/train.py','line':70,'reason':'print','count':1,'effect':'eager'", job->t);
    assert_string_equal(told(job, &event), "breaks ");
    assert_string_equal(event_text(&event, "text"), "f train.py:67 runs eager: the graph breaks at train.py:70 where it cannot go on: print");
    event_done(&event);
}

static void a_compilation_that_does_not_end(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    begin_ranks(job, 1);
    tell(job->store, "compile", "'t':%f,'rank':0,'variant':0,'id':'0/2','trigger':'runtime','ms':20000", job->t);
    compiling(job, 0, "begin");
    job->t += 99;
    assert_string_equal(told(job, NULL), ""); /* five times the longest would be 100 */
    job->t += 2;
    assert_string_equal(told(job, &event), "stuck ");
    assert_string_equal(event_text(&event, "text"), "rank 0 compiles forward since 101 s: the longest so far took 20.0 s");
    assert_non_null(strstr(event_text(&event, "action"), "py-spy dump --pid 100"));
    event_done(&event);
}

/* Steps that end with so many bytes of the process. */
static void resident(struct job *job, int steps, double (*mib)(int step), uint32_t why) {
    for (int i = 0; i < steps; i++) {
        struct step_record record = {.step = (uint64_t)(job->steps + i),
                                     .end_ns = (uint64_t)((job->t + 0.02 * i) * 1e9),
                                     .dur_ns = 20000000,
                                     .rss_bytes = (uint64_t)(mib(job->steps + i) * (1 << 20)),
                                     .why = why,
                                     .valid = STEP_HAS_RSS};
        store_step(job->store, &record, 0, NULL, 0);
    }
    go_on(job, steps);
}

static double leaks(int step) {
    return 600 + 0.5 * step + (step % 4) * 20; /* beside what comes and goes */
}

static double settles(int step) {
    return 600 + 200 * (1 - exp(-step / 60.0));
}

static double jumps(int step) {
    return 600 + (step > 200 ? 300 : 0) + (step > 90 ? 100 : 0);
}

static void memory_that_grows_without_end(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    hello(job->store, 0);
    compiled(job, 0);
    resident(job, 120, leaks, 0);
    assert_string_equal(told(job, NULL), ""); /* not enough seen yet */
    resident(job, 80, leaks, 0);
    assert_string_equal(told(job, &event), "memory ");
    assert_non_null(strstr(event_text(&event, "text"), "memory of rank 0 grows by 0.50 MiB a step"));
    event_done(&event);
}

static void memory_that_settles_or_jumps_is_no_leak(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    compiled(job, 0);
    for (int i = 0; i < 8; i++) {
        resident(job, 50, settles, 0);
        assert_string_equal(told(job, NULL), "");
    }
    resident(job, 1, jumps, STEP_WHY_SWITCH); /* what was before says nothing any more */
    job->steps = 0;
    for (int i = 0; i < 8; i++) {
        resident(job, 50, jumps, 0);
        assert_string_equal(told(job, NULL), "");
    }
}

/* Steps of 20 ms; `us` of look-ups in each for two calls. */
static void looked_up(struct job *job, int64_t looked, double us) {
    tell(job->store, "active",
         "'t':%f,'rank':0,'unit':0,'name':'Net','units':1,'state':'on','since':1,'variant':0,'skipped':0,'limited':0,"
         "'looked':%lld,'calls':%lld,'compiled':%lld,'entered':%lld,'ids':['0/0','10/0'],'lookup_us':%f",
         job->t, (long long)looked, 2 * (long long)looked, 2 * (long long)looked, 2 * (long long)looked, us);
}

static void guards_that_take_a_share_of_the_step(void **state) {
    struct job *job = *state;
    struct event event = EVENT_INIT;
    double lost = 0;
    hello(job->store, 0);
    for (int id = 0; id < 3; id++) /* 1/0 did not run */
        tell(job->store, "compile", "'t':1,'rank':0,'variant':0,'id':'%d/0','trigger':'first','ms':100,'graph':{'guards':%d,'guard_us':9}",
             id < 2 ? id : 10, 100 << id);
    train(job, 0, 60, 1, 2);
    go_on(job, 60);
    looked_up(job, 8, 1900); /* 9.5 % */
    assert_string_equal(told(job, NULL), "");
    looked_up(job, 3, 5000); /* too few looks */
    assert_string_equal(told(job, NULL), "");
    looked_up(job, 8, 5000);
    assert_string_equal(told(job, &event), "guards ");
    assert_non_null(strstr(event_text(&event, "text"), "guards take 25 % of the step: 5.00 of 20.00 ms"));
    assert_non_null(strstr(event_text(&event, "evidence"), "500 guards, 2.0 look-ups a step"));
    assert_true(event_number(&event, "lost_s", &lost) && fabs(lost - 0.3) < 1e-6);
    event_done(&event);
    assert_string_equal(told(job, NULL), "");
}

/* Of a step that short, the bare way into compiled code is a share. */
static void a_short_step_is_not_the_guards_fault(void **state) {
    struct job *job = *state;
    hello(job->store, 0);
    compiled(job, 0);
    for (int i = 0; i < 60; i++)
        store_step(job->store, &(struct step_record){.step = (uint64_t)i, .end_ns = (uint64_t)i * 400000, .dur_ns = 400000}, 0, NULL, 0);
    looked_up(job, 8, 2 * 99);
    assert_string_equal(told(job, NULL), "");
    looked_up(job, 8, 2 * 101);
    assert_string_equal(told(job, NULL), "guards ");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(waiting_for_data_is_told_once_with_its_ceiling),
        TEST(little_waiting_and_few_steps_say_nothing),
        TEST(one_rank_that_waits_is_the_slow_one),
        TEST(ranks_without_a_loader_are_compared_by_what_is_not_backward),
        TEST(ranks_that_tell_no_phase_are_not_compared),
        TEST(a_rank_that_is_over_does_not_count),
        TEST(who_waits_for_a_rank_that_compiles),
        TEST(all_compile_and_one_takes_longer),
        TEST(undecoded_causes_are_one_finding),
        TEST(what_is_compiled_again_and_again),
        TEST(numbers_that_differ),
        TEST(slower_than_eager),
        TEST(what_is_compiled_and_does_not_run),
        TEST(nothing_compiled_is_told_after_a_while),
        TEST(a_rank_alone_with_something_new_is_told_at_once),
        TEST(ranks_that_met_the_same_in_this_step_are_not_alone),
        TEST(what_one_rank_met_and_the_others_did_not),
        TEST(one_rank_that_did_not_meet_what_the_others_did),
        TEST(what_all_ranks_meet_is_no_difference),
        TEST(a_function_that_one_rank_calls_alone),
        TEST(a_cache_that_one_rank_did_not_find_it_in),
        TEST(one_dear_recompile_is_enough),
        TEST(what_comes_again_in_the_second_epoch),
        TEST(the_same_after_a_switch_is_another_set_of_settings),
        TEST(breaks_that_run_in_every_call),
        TEST(a_compilation_that_does_not_end),
        TEST(guards_that_take_a_share_of_the_step),
        TEST(a_short_step_is_not_the_guards_fault),
        TEST(memory_that_grows_without_end),
        TEST(memory_that_settles_or_jumps_is_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
