/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "engine/data/summary.h"
#include "tests/unit/data/tell.h"
#include "engine/base/banned.h"

static void test_nothing_known_is_nothing_shown(void **state) {
    (void)state;
    struct store *store = viewed_store();
    const struct snapshot *snapshot = snapshot_take(store, 0);
    assert_null(snapshot->job);
    assert_int_equal(snapshot->rank_count + snapshot->group_count + snapshot->variant_count, 0);
    assert_int_equal(snapshot->event_count + snapshot->switch_count + snapshot->cause_count, 0);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_missing_is_never_0(void **state) {
    (void)state;
    struct store *store = viewed_store();
    tell(store, "rank",
         "'t':0,'rank':3,'host':'h','pid':1,'python':'3.9','group':'g','state':'hooked'");
    const struct snapshot *snapshot = snapshot_take(store, 100);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    const double missing[] = {rank->ms,
                              rank->median_ms,
                              rank->p95_ms,
                              rank->rate,
                              rank->data_ms,
                              rank->rss,
                              rank->rss_peak,
                              rank->cpu_bytes,
                              rank->compile_s,
                              rank->device_peak,
                              rank->step_t,
                              rank->rss_over_eager,
                              rank->speedup.ratio,
                              snapshot_idle_s(snapshot, rank),
                              snapshot_rate(snapshot, rank),
                              snapshot->groups[0]->median_ms,
                              snapshot->groups[0]->slowest_ratio};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (!isnan(missing[i])) fail_msg("figure %zu is %g", i, missing[i]);
    assert_false(rank->has_step || rank->has_variant || rank->speedup.has_ratio);
    assert_null(rank->speedup.verdict);
    assert_null(rank->who->torch);
    assert_false(rank->who->has_world || snapshot->groups[0]->has_world);
    assert_null(snapshot->groups[0]->evidence);
    assert_int_equal(snapshot->groups[0]->settings->count, 0);
    assert_int_equal(snapshot_activity(snapshot, rank), ACTIVITY_STARTING);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_figures_of_a_rank(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    tell(store, "unit",
         "'t':0,'rank':0,'unit':0,'name':'Net','file':'/a/train.py','line':7,"
         "'origin':'script','target':'Net'");
    tell(store, "variant",
         "'t':0,'rank':0,'variant':9,'label':'eager','settings':{'scope':'eager'}");
    step(store, 0, 0, 1, 0, 9, 1);
    for (int i = 1; i < 11; i++) step(store, 0, i, 1 + i * 0.01, 10, 9, 0);
    step(store, 0, 11, 2, 900, 7, 2);
    for (int i = 12; i < 112; i++) step(store, 0, i, 2 + (i - 11) * 0.01, i == 60 ? 50 : 5, 7, 0);
    tell(store, "compile",
         "'t':2,'rank':0,'unit':0,'variant':7,'id':'0/0','trigger':'variant','ms':800");
    tell(store, "speedup",
         "'t':3,'rank':0,'variant':7,'ratio':1.5,'low':1.4,'high':1.6,'pairs':9,"
         "'verdict':'faster'");
    const struct snapshot *snapshot = snapshot_take(store, 3.1);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    assert_true(rank->ms == 5 && rank->median_ms == 5 && rank->clean == 64);
    assert_true(rank->p95_ms == 5);
    assert_true(fabs(rank->rate - 100) < 1);
    assert_int_equal(rank->step, 111);
    assert_int_equal(rank->steps, 112);
    assert_int_equal(rank->variant, 7);
    assert_true(rank->rss == 1111 && rank->rss_peak == 1111);
    assert_true(rank->rss_over_eager == 1111 - 1010);
    assert_true(rank->compiles == 1 && rank->recompiles == 0 && rank->compile_s == 0.8);
    assert_true(rank->speedup.has_ratio && rank->speedup.ratio == 1.5 && rank->speedup.pairs == 9);
    assert_string_equal(rank->speedup.verdict, "faster");
    assert_int_equal(rank->use_count, 2);
    assert_true(rank->uses[0].median_ms == 10 && isnan(rank->uses[0].compile_s));
    assert_string_equal(rank->units->units[0].target, "Net");
    assert_int_equal(rank->curve.count, 112);
    assert_true(isnan(curve_point(&rank->curve, 0)->ms));
    assert_int_equal(snapshot_activity(snapshot, rank), ACTIVITY_TRAINING);
    const struct snapshot_variant *variant = snapshot_variant(snapshot, 9);
    assert_true(variant->is_eager && variant->current == 0 && variant->ranks == 1);
    assert_string_equal(snapshot_pair(variant->settings, "scope"), "eager");
    variant = snapshot_variant(snapshot, 7);
    assert_true(!variant->is_eager && variant->current == 1 && variant->speedup.low == 1.4);
    assert_null(variant->settings);
    assert_null(snapshot_variant(snapshot, 8));
    snapshot_unref(snapshot);
    store_free(store);
}

static void assert_compiling(struct store *store, double now, double since, double last_ms,
                             const char *what, const char *phase) {
    const struct snapshot *snapshot = snapshot_take(store, now);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    assert_true(isnan(since) ? isnan(rank->compiling_t) : rank->compiling_t == since);
    assert_true(isnan(last_ms) ? isnan(rank->compiling_last_ms)
                               : rank->compiling_last_ms == last_ms);
    if (what) assert_string_equal(rank->compiling, what);
    if (what) assert_string_equal(rank->compiling_phase, phase);
    snapshot_unref(snapshot);
}

static void test_a_compilation_under_way(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    tell(store, "unit", "'t':0,'rank':0,'unit':0,'name':'Net','origin':'script','target':'Net'");
    tell(store, "compiling", "'t':1,'rank':0,'state':'begin','id':'0/0','unit':0,'part':'forward'");
    assert_compiling(store, 2, 1, NAN, "Net, forward", "");
    tell(store, "compiling",
         "'t':2,'rank':0,'state':'phase','phase':'aot','id':'0/0','unit':0,'part':'forward'");
    assert_compiling(store, 3, 1, NAN, "Net, forward", "aot");
    tell(store, "compiling", "'t':4,'rank':0,'state':'end','id':'0/0'");
    assert_compiling(store, 5, NAN, NAN, NULL, NULL);
    tell(store, "compile",
         "'t':4,'rank':0,'unit':0,'variant':0,'id':'0/0','trigger':'first','ms':3000");
    tell(store, "compile",
         "'t':5,'rank':0,'unit':0,'variant':0,'id':'0/0','trigger':'backward','ms':900");
    tell(
        store, "compile",
        "'t':6,'rank':0,'unit':0,'variant':0,'id':'0/1','trigger':'recompile','ms':7,'failed':'x'");
    tell(store, "compiling", "'t':7,'rank':0,'state':'begin','id':'0/2','unit':0,'part':'forward'");
    assert_compiling(store, 8, 7, 3000, "Net, forward", "");
    tell(store, "compiling",
         "'t':9,'rank':0,'state':'begin','id':'0/2','unit':0,'part':'backward'");
    assert_compiling(store, 9, 9, 900, "Net, backward", "");
    tell(store, "compiling",
         "'t':10,'rank':0,'state':'begin','id':'1/0','unit':0,'part':'forward'");
    assert_compiling(store, 10, 10, NAN, "Net, forward", "");
    tell(store, "compiling", "'t':11,'rank':0,'state':'end','id':'1/0'");
    tell(store, "compiling", /* who came late */
         "'t':12,'rank':0,'state':'phase','phase':'backend','id':'0/3','unit':0,'part':'forward'");
    assert_compiling(store, 13, 12, 3000, "Net, forward", "backend");
    store_free(store);
}

/* Beside the speedup over eager, of the rank in the middle and of the settings that were compared
 * with last. */
static void test_comparisons_with_other_settings(void **state) {
    (void)state;
    static const char *const ratios[] = {"1.3", "1.1", "1.2"};
    struct store *store = viewed_store();
    for (int rank = 0; rank < 3; rank++) {
        hello(store, rank);
        for (int i = 0; i < 20; i++) step(store, rank, i, i * 0.01, 20, 7, 0);
        tell(store, "compile",
             "'t':1,'rank':%d,'variant':7,'id':'0/0','trigger':'variant','ms':3000", rank);
        tell(store, "speedup",
             "'t':2,'rank':%d,'variant':7,'ratio':1.5,'low':1.4,'high':1.6,'pairs':9,'verdict':'"
             "faster'",
             rank);
        tell(store, "speedup",
             "'t':3,'rank':%d,'variant':7,'against':8,'ratio':0.9,'low':0.8,'high':0.95,'pairs':6,"
             "'verdict':'slower'",
             rank);
    }
    for (int rank = 0; rank < 3; rank++)
        tell(store, "speedup",
             "'t':4,'rank':%d,'variant':7,'against':9,'ratio':%s,'low':1.01,'high':1.6,'pairs':10,"
             "'within':0.6,'verdict':'faster'",
             rank, ratios[rank]);
    const struct snapshot *snapshot = snapshot_take(store, 4.1);
    const struct snapshot_variant *variant = snapshot_variant(snapshot, 7);
    assert_true(variant->speedup.ratio == 1.5);
    assert_true(isnan(variant->speedup.within));
    assert_true(fabs(variant->break_even - 300) < 1e-9); /* 3 s, 10 ms a step */
    assert_true(variant->versus.against == 9 && variant->versus.ratio == 1.2);
    assert_true(variant->versus.within == 0.6 && variant->versus.pairs == 10);
    assert_string_equal(variant->versus.verdict, "faster");
    assert_true(snapshot->ranks[1]->uses[0].versus.ratio == 1.1);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_it_is_frozen_and_outlives_the_store(void **state) {
    (void)state;
    struct store *store = viewed_store();
    tell(store, "job", "'t':0,'command':['a','b c'],'name':'n','start':'s','state':'running'");
    hello(store, 0);
    hello(store, 1);
    for (int i = 0; i < 300; i++) step(store, 0, i, i, 5, 0, 0);
    tell(store, "problem", "'t':1,'what':'w','text':'t'");
    const struct snapshot *before = snapshot_take(store, 300);
    for (int i = 300; i < 900; i++) step(store, 0, i, i, 7, 0, 0);
    tell(store, "problem", "'t':1,'what':'w','text':'other'");
    tell(store, "job", "'t':900,'command':['a'],'name':'n','start':'s','state':'ended','exit':0");
    const struct snapshot *after = snapshot_take(store, 900);
    store_free(store);
    assert_string_equal(before->job->command, "a b c");
    assert_string_equal(before->job->state, "running");
    assert_true(!before->job->has_exit && after->job->has_exit);
    assert_int_equal(before->ranks[0]->step, 299);
    assert_int_equal(before->ranks[0]->curve.count, 300);
    assert_true(before->ranks[0]->median_ms == 5 && after->ranks[0]->median_ms == 7);
    assert_int_equal(before->problem_count, 1);
    assert_int_equal(after->problem_count, 2);
    assert_int_equal(after->ranks[0]->step, 899);
    snapshot_unref(before);
    assert_string_equal(after->job->state, "ended");
    snapshot_unref(after);
}

static void test_what_did_not_change_is_shared(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int rank = 0; rank < 3; rank++) hello(store, rank), step(store, rank, 0, 1, 5, 0, 0);
    tell(store, "problem", "'t':1,'what':'w','text':'t'");
    const struct snapshot *a = snapshot_take(store, 1), *same = snapshot_take(store, 1);
    assert_ptr_equal(a, same);
    const struct snapshot *later = snapshot_take(store, 2);
    assert_ptr_not_equal(a, later);
    assert_ptr_equal(a->ranks, later->ranks);
    assert_int_equal(a->version, later->version);
    step(store, 1, 1, 2, 5, 0, 0);
    const struct snapshot *b = snapshot_take(store, 2);
    assert_int_not_equal(a->version, b->version);
    assert_ptr_equal(a->ranks[0], b->ranks[0]);
    assert_ptr_not_equal(a->ranks[1], b->ranks[1]);
    assert_ptr_equal(a->ranks[1]->who, b->ranks[1]->who);
    assert_ptr_equal(a->ranks[1]->curve.spine, b->ranks[1]->curve.spine);
    assert_ptr_equal(a->events, b->events);
    snapshot_unref(a);
    snapshot_unref(same);
    snapshot_unref(later);
    snapshot_unref(b);
    store_free(store);
}

static void test_ranks_by_group_and_number(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello_as(store, 0, "launcher", "asleep", 0);
    hello_as(store, 2, "run/0", "hooked", 0);
    hello_as(store, 0, "run/0", "hooked", 0);
    hello_as(store, 0, "run/0", "lost", 1);
    hello_as(store, 1, "run/1", "hooked", 2);
    hello_as(store, 0, "run/1", "hooked", 2);
    step(store, 0, 5, 3, 10, 4, 0);
    step(store, 1, 7, 3, 30, 4, 0);
    const struct snapshot *snapshot = snapshot_take(store, 3);
    assert_int_equal(snapshot->rank_count, 4);
    assert_int_equal(snapshot->process_count, 5);
    static const struct {
        int rank;
        const char *group;
    } order[] = {{0, "run/0"}, {2, "run/0"}, {0, "run/1"}, {1, "run/1"}, {0, "launcher"}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(snapshot->ranks[i]->rank, order[i].rank);
        assert_string_equal(snapshot->ranks[i]->who->group, order[i].group);
        assert_string_equal(snapshot->groups[snapshot->ranks[i]->group]->key, order[i].group);
    }
    assert_int_equal(snapshot_activity(snapshot, snapshot->ranks[0]), ACTIVITY_LOST);
    assert_int_equal(snapshot_activity(snapshot, snapshot->ranks[4]), ACTIVITY_ASLEEP);
    const struct snapshot_group *group = snapshot->groups[snapshot->ranks[2]->group];
    assert_true(group->rank_count == 2 && group->hooked == 2 && group->running == 2);
    assert_true(group->has_world && group->world == 2);
    assert_int_equal(group->step_least, 5);
    assert_int_equal(group->step_most, 7);
    assert_true(group->median_ms == 20 && snapshot->ranks[group->slowest]->rank == 1);
    assert_true(group->slowest_ratio == 1.5);
    assert_true(group->has_variant && group->variant == 4 && group->agreeing == 2);
    assert_int_equal(snapshot->groups[snapshot->ranks[0]->group]->running, 1);
    assert_ptr_equal(snapshot_rank(snapshot, "run/1", 1), snapshot->ranks[3]);
    assert_null(snapshot_rank(snapshot, "run/2", 1));
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_ranks_that_differ_in_settings_are_counted(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int rank = 0; rank < 5; rank++) {
        hello(store, rank);
        step(store, rank, 1, 1, 5, rank < 2 ? 8 : 9, 0);
    }
    const struct snapshot *snapshot = snapshot_take(store, 1);
    assert_int_equal(snapshot->groups[0]->variant, 9);
    assert_int_equal(snapshot->groups[0]->agreeing, 3);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_a_rank_falls_quiet(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    for (int i = 0; i < 20; i++) step(store, 0, i, i * 0.1, 100, 0, 0);
    const struct snapshot *snapshot = snapshot_take(store, 2);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    assert_int_equal(snapshot_activity(snapshot, rank), ACTIVITY_TRAINING);
    assert_true(fabs(snapshot_rate(snapshot, rank) - 10) < 0.01);
    snapshot_unref(snapshot);
    snapshot = snapshot_take(store, 31.9);
    assert_int_equal(snapshot_activity(snapshot, rank), ACTIVITY_QUIET);
    assert_true(fabs(snapshot_idle_s(snapshot, rank) - 30) < 0.01);
    assert_true(fabs(snapshot_rate(snapshot, rank) - 0.1) < 0.01);
    snapshot_unref(snapshot);
    hello_as(store, 0, "g", "stalled", 32);
    snapshot = snapshot_take(store, 32);
    assert_string_equal(snapshot_activity_name(snapshot_activity(snapshot, snapshot->ranks[0])),
                        "stalled");
    snapshot_unref(snapshot);
    store_free(store);
}

static void told_switch(struct store *store, double t, const char *status, int rank,
                        const char *more) {
    char who[32] = "";
    if (rank >= 0) snprintf(who, sizeof who, "'rank':%d,", rank);
    tell(
        store, "switch",
        "'t':%f,%s'id':3,'by':'viewer','from':{},'to':{'dynamic':'on'},'variant':7,'status':'%s'%s",
        t, who, status, more);
}

static void test_a_comparison_under_way_is_no_change(void **state) {
    (void)state;
    static const char *const by[] = {"viewer", "baseline"};
    for (int is_measurement = 0; is_measurement < 2; is_measurement++) {
        struct store *store = viewed_store();
        hello(store, 0);
        step(store, 0, 10, 1, 5, 0, 0);
        tell(store, "switch",
             "'t':1,'rank':0,'id':2,'by':'%s','from':{},'to':{'dynamic':'on'},'status':'ready'",
             by[is_measurement]);
        tell(store, "switch",
             "'t':1.2,'id':2,'by':'%s','from':{},'to':{'dynamic':'on'},'status':'committed',"
             "'at':11",
             by[is_measurement]);
        const struct snapshot *snapshot = snapshot_take(store, 1.3);
        assert_non_null(snapshot_pending(snapshot, "g"));
        assert_int_equal(snapshot_is_measuring(snapshot, "g"), is_measurement);
        assert_false(snapshot_is_measuring(snapshot, "other"));
        assert_false(snapshot_is_measuring(snapshot, NULL));
        snapshot_unref(snapshot);
        store_free(store);
    }
}

static void test_a_switch_rank_by_rank(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    hello(store, 1);
    step(store, 0, 10, 1, 5, 0, 0);
    step(store, 1, 10, 1, 5, 0, 0);
    tell(store, "switch",
         "'t':1,'id':2,'by':'viewer','to':{'dynamic':'on'},'status':'aborted',"
         "'again':true");
    told_switch(store, 1, "proposed", -1, ",'tag':'x'");
    told_switch(store, 1.1, "ready", 1, "");
    const struct snapshot *snapshot = snapshot_take(store, 1.2);
    assert_null(snapshot_pending(snapshot, "other"));
    snapshot_unref(snapshot);
    told_switch(store, 1.2, "committed", -1, ",'at':11");
    /* the engine's events name no group on a tape: it is that of the ranks that told of it */
    snapshot = snapshot_take(store, 1.2);
    const struct snapshot_switch *pending = snapshot_pending(snapshot, "g");
    assert_non_null(pending);
    assert_string_equal(pending->change, "dynamic as written to on");
    assert_string_equal(pending->tag, "\"x\"");
    assert_int_equal(pending->by_rank[1], SWITCH_READY);
    assert_int_equal(pending->by_status[SWITCH_READY], 1);
    assert_int_equal(pending->ranks, 2);
    assert_true(pending->has_at && pending->at == 11 && isnan(pending->lost_ms));
    assert_int_equal(snapshot_activity(snapshot, snapshot->ranks[0]), ACTIVITY_SWITCHING);
    told_switch(store, 2, "applied", 0,
                ",'at':11,'lost_ms':80,'swap_ms':0.5,'ran':{'Net':'variant'}");
    told_switch(store, 2, "applied", 1,
                ",'at':11,'lost_ms':90,'swap_ms':0.1,'ran':{'Net':'variant'}");
    told_switch(store, 3, "applied", -1, ",'at':11");
    const struct snapshot *after = snapshot_take(store, 3);
    assert_null(snapshot_pending(after, "g"));
    const struct snapshot_switch *done = after->switches[1];
    assert_true(done->is_over && done->status == SWITCH_APPLIED && done->lost_ms == 90);
    assert_true(done->swap_ms == 0.5 && done->by_status[SWITCH_APPLIED] == 2);
    assert_false(pending->is_over);
    const struct snapshot_group *group = after->groups[0];
    assert_string_equal(snapshot_pair(group->settings, "dynamic"), "on");
    assert_string_equal(snapshot_pair(group->evidence, "Net"), "variant");
    assert_int_equal(snapshot->groups[0]->settings->count, 0);
    snapshot_unref(snapshot);
    const struct snapshot_event *line = after->events[after->event_count - 1];
    assert_string_equal(line->what, "switch 3");
    assert_string_equal(line->text, "dynamic as written to on, applied at 11");
    assert_string_equal(line->ranks, "0,1");
    assert_true(line->level == LEVEL_GOOD && line->has_step && line->step == 11 && line->ms == 90);
    snapshot_unref(after);
    store_free(store);
}

static bool is_let_go(struct store *store, double t) {
    const struct snapshot *snapshot = snapshot_take(store, t);
    bool is_so = snapshot_variant(snapshot, 5)->is_let_go;
    snapshot_unref(snapshot);
    return is_so;
}

static void test_what_was_let_go_is_compiled_anew(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int rank = 0; rank < 2; rank++) {
        hello(store, rank);
        tell(store, "variant",
             "'t':1,'rank':%d,'variant':5,'label':'dynamic=on','settings':{'dynamic':'on'}", rank);
        tell(store, "compile", "'t':1,'rank':%d,'variant':5,'id':'0/1','trigger':'variant','ms':10",
             rank);
    }
    for (int rank = 0; rank < 2; rank++) {
        assert_false(is_let_go(store, 2)); /* on all ranks, or not */
        tell(store, "switch",
             "'t':2,'rank':%d,'id':3,'by':'viewer','from':{},'to':{},'variant':0,'status':'applied'"
             ",'at':7,'forgot':5,"
             "'freed':{'versions':1,'functions':1}",
             rank);
    }
    assert_true(is_let_go(store, 3));
    const struct snapshot *snapshot = snapshot_take(store, 3);
    assert_true(snapshot->switches[0]->is_forget);
    assert_string_equal(snapshot->switches[0]->change,
                        "let go of what was compiled under dynamic=on");
    const struct snapshot_event *line = snapshot->events[snapshot->event_count - 1];
    assert_string_equal(line->text, "let go of what was compiled under dynamic=on, applied at 7");
    snapshot_unref(snapshot);
    tell(store, "compile", "'t':4,'rank':0,'variant':5,'id':'0/2','trigger':'variant','ms':10");
    assert_false(is_let_go(store, 4));
    store_free(store);
}

static void test_a_failed_switch_says_where(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    tell(store, "switch",
         "'t':1,'rank':0,'id':0,'by':'at','from':{},'to':{'fullgraph':'on'},'status':'failed','at':"
         "20,"
         "'reason':'Unsupported','file':'/a/b/train.py','line':21");
    const struct snapshot *snapshot = snapshot_take(store, 1);
    assert_int_equal(snapshot->switches[0]->status, SWITCH_FAILED);
    assert_string_equal(snapshot->switches[0]->file, "/a/b/train.py");
    assert_true(snapshot->switches[0]->has_line && snapshot->switches[0]->line == 21);
    const struct snapshot_event *line = snapshot->events[1];
    assert_string_equal(line->text, "fullgraph as written to on, failed at 20: Unsupported");
    assert_string_equal(line->place, "train.py:21");
    assert_int_equal(line->level, LEVEL_BAD);
    assert_int_equal(snapshot->groups[0]->settings->count, 0);
    snapshot_unref(snapshot);
    store_free(store);
}

static void recompile(struct store *store, int rank, double t, int now, double ms) {
    tell(store, "compile",
         "'t':%f,'rank':%d,'unit':0,'variant':0,'id':'0/1','frame':'forward train.py:9','trigger':"
         "'recompile','ms':%f,'cause':'0/0: tensor \\u0027x\\u0027 size mismatch at index 0. "
         "expected 8,"
         " actual %d','cause_id':'size','source':'x[0]','words':'size of x[0]: 8, now %d','remedy':"
         "'dynamic=on','file':'/a/train.py','line':9,'limits':{'entries':2,'limit':8},"
         "'phases':{'dynamo':1.5},'graph':{'nodes':4}",
         t, rank, ms, now, now);
}

static void test_recompiles_by_cause(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int rank = 0; rank < 2; rank++) {
        hello(store, rank);
        tell(store, "unit", "'t':0,'rank':%d,'unit':0,'name':'Net','origin':'script'", rank);
        step(store, rank, 4, 1, 5, 0, 0);
        step(store, rank, 5, 3, 5, 0, 0);
    }
    recompile(store, 0, 2, 6, 1000);
    recompile(store, 1, 2.5, 6, 1500);
    recompile(store, 0, 4, 7, 500);
    tell(store, "compile", "'t':5,'rank':0,'variant':0,'id':'1/0','trigger':'first','ms':5");
    tell(store, "compile", "'t':5,'rank':1,'variant':0,'id':'2/0','trigger':'recompile','ms':5");
    tell(store, "compile",
         "'t':5,'rank':0,'variant':0,'id':'0/1','frame':'forward train.py:9','trigger':'backward',"
         "'ms':2000,'cause_id':'size','source':'x[0]','words':'size of x[0]: 8, now 7'");
    tell(store, "compile",
         "'t':5,'rank':0,'variant':0,'id':'3/0','frame':'other','trigger':'backward','ms':9,"
         "'cause_id':'size','source':'x[0]','words':'size of x[0]: 8, now 7'");
    const struct snapshot *snapshot = snapshot_take(store, 5);
    assert_int_equal(snapshot->cause_count, 2);
    const struct snapshot_cause *cause = snapshot->causes[0];
    assert_int_equal(cause->count, 3);
    assert_true(fabs(cause->seconds - 5) < 1e-9); /* with the backward that followed */
    assert_string_equal(cause->words, "size of x[0]: 8, now 7");
    assert_string_equal(cause->frame, "forward train.py:9");
    assert_string_equal(cause->remedy, "dynamic=on");
    assert_string_equal(cause->id, "size");
    assert_string_equal(cause->source, "x[0]");
    assert_true(cause->has_line && cause->line == 9);
    assert_string_equal(cause->file, "/a/train.py");
    assert_string_equal(cause->ranks, "0,1");
    assert_true(cause->last_rank == 0 && cause->last_t == 4 && cause->last_step == 6);
    assert_string_equal(snapshot->causes[1]->words, "no cause was told");
    assert_int_equal(snapshot->compile_count, 7);
    const struct snapshot_compile *compile = snapshot->compiles[0];
    assert_string_equal(compile->unit_name, "Net");
    assert_true(compile->dynamo_ms == 1.5 && isnan(compile->aot_ms) && compile->step == 5);
    assert_string_equal(snapshot_pair(compile->graph, "nodes"), "4");
    assert_string_equal(snapshot_pair(compile->limits, "limit"), "8");
    assert_string_equal(compile->words, "size of x[0]: 8, now 6");
    assert_null(compile->cache);
    assert_null(snapshot->compiles[3]->unit_name);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_what_several_ranks_say_is_one_line(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int rank = 0; rank < 4; rank++) hello(store, rank);
    for (int rank = 0; rank < 4; rank++) hello(store, rank); /* said again after a reconnect */
    for (int rank = 3; rank >= 0; rank--) recompile(store, rank, 2, 6, 100 * rank);
    recompile(store, 2, 3, 6, 10);
    recompile(store, 1, 3, 6, 20);
    recompile(store, 0, 90, 6, 20); /* too late to be the same */
    const struct snapshot *snapshot = snapshot_take(store, 90);
    static const struct {
        const char *what, *text, *ranks;
        double ms;
    } lines[] = {
        {"rank", "hooked, torch 2.13.0+cpu, cpu", "0-3", NAN},
        {"recompile", "forward train.py:9: size of x[0]: 8, now 6", "0-3", 300},
        {"recompile", "forward train.py:9: size of x[0]: 8, now 6", "1,2", 20},
        {"recompile", "forward train.py:9: size of x[0]: 8, now 6", "0", 20},
    };
    assert_int_equal(snapshot->event_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct snapshot_event *line = snapshot->events[i];
        assert_int_equal(line->seq, i);
        assert_string_equal(line->what, lines[i].what);
        assert_string_equal(line->text, lines[i].text);
        assert_string_equal(line->ranks, lines[i].ranks);
        assert_true(line->ms == lines[i].ms || (isnan(line->ms) && isnan(lines[i].ms)));
    }
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_the_lists_are_bounded_and_counted(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    for (int i = 0; i < 2 * SNAPSHOT_EVENTS; i++) {
        tell(store, "problem", "'t':1,'what':'w','text':'text %c%c%c'", 'a' + i % 26,
             'a' + i / 26 % 26, 'a' + i / 676);
        tell(store, "switch", "'t':1,'id':%d,'by':'viewer','to':{},'status':'refused','reason':'r'",
             i);
        recompile(store, 0, i, i, 1);
        tell(store, "output", "'t':1,'stream':'out','text':'line %d'", i);
    }
    const struct snapshot *snapshot = snapshot_take(store, 1);
    assert_int_equal(snapshot->event_count, SNAPSHOT_EVENTS);
    assert_true(snapshot->event_total > 2 * SNAPSHOT_EVENTS);
    assert_int_equal(snapshot->events[SNAPSHOT_EVENTS - 1]->seq, snapshot->event_total - 1);
    assert_int_equal(snapshot->switch_count, SNAPSHOT_SWITCHES);
    assert_int_equal(snapshot->switch_total, 2 * SNAPSHOT_EVENTS);
    assert_int_equal(snapshot->switches[0]->id, 2 * SNAPSHOT_EVENTS - SNAPSHOT_SWITCHES);
    assert_int_equal(snapshot->problem_count, SNAPSHOT_GROUPED);
    assert_int_equal(snapshot->problem_total, 2 * SNAPSHOT_EVENTS);
    assert_int_equal(snapshot->compile_count, SNAPSHOT_COMPILES);
    assert_int_equal(snapshot->cause_count, 1);
    assert_int_equal(snapshot->causes[0]->count, 2 * SNAPSHOT_EVENTS);
    assert_string_equal(snapshot->outputs[SNAPSHOT_OUTPUTS - 1]->text, "line 999");
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_too_many_causes_become_one(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    for (int i = 0; i < SNAPSHOT_GROUPED + 100; i++)
        tell(store, "compile",
             "'t':1,'rank':0,'variant':0,'id':'0','trigger':'recompile','ms':1,'cause':'c %c%c'",
             'a' + i % 26, 'a' + i / 26);
    const struct snapshot *snapshot = snapshot_take(store, 1);
    assert_int_equal(snapshot->cause_count, SNAPSHOT_GROUPED);
    assert_string_equal(snapshot->causes[SNAPSHOT_GROUPED - 1]->words, "other causes");
    assert_int_equal(snapshot->causes[SNAPSHOT_GROUPED - 1]->count, 101);
    snapshot_unref(snapshot);
    store_free(store);
}

static void a_break(struct store *store, int rank, int count, int line) {
    tell(store, "break",
         "'t':%d,'rank':%d,'unit':0,'frame':'f','file':'/a/"
         "m.py','line':%d,'reason':'print','code':'GB1',"
         "'count':%d",
         count, rank, line, count);
}

static void test_breaks_by_place(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    hello(store, 1);
    a_break(store, 0, 1, 5);
    a_break(store, 1, 1, 5);
    a_break(store, 0, 4, 5);
    a_break(store, 0, 2, 5); /* told again */
    a_break(store, 0, 1, 6);
    tell(store, "break",
         "'t':5,'rank':0,'unit':0,'variant':7,'frame':'f','file':'/a/m.py','line':5,'reason':"
         "'print','count':2,'effect':'eager','runs':3,'class':'K','explanation':'e','remedy':'r',"
         "'framework':true,'inside':'/b/c.py:3'");
    tell(store, "break", "'t':5,'rank':0,'variant':0,'reason':'split','count':9,'effect':'ddp'");
    const struct snapshot *snapshot = snapshot_take(store, 5);
    assert_int_equal(snapshot->break_count, 3);
    const struct snapshot_break *shown = snapshot->breaks[0];
    assert_int_equal(shown->count, 7); /* each set of settings compiled it by itself */
    assert_string_equal(shown->ranks, "0,1");
    assert_true(shown->is_eager && shown->is_framework && shown->has_runs && shown->runs == 3);
    assert_string_equal(shown->kind, "K");
    assert_string_equal(shown->inside, "/b/c.py:3");
    assert_true(snapshot->breaks[1]->line == 6 && !snapshot->breaks[1]->has_runs);
    assert_true(snapshot->breaks[2]->is_meant && !snapshot->breaks[2]->file);
    assert_int_equal(snapshot->event_count, 4);
    assert_string_equal(snapshot->events[1]->place, "m.py:5");
    assert_string_equal(snapshot->events[1]->ranks, "0,1");
    assert_int_equal(snapshot->ranks[0]->breaks, 3); /* without the split that is meant */
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_problems_said_again_are_counted(void **state) {
    (void)state;
    struct store *store = viewed_store();
    for (int i = 0; i < 3; i++)
        tell(store, "problem", "'t':%d,'what':'w','text':'t','hint':'Do.'", i);
    tell(store, "problem", "'t':5,'rank':1,'what':'w','text':'t'");
    tell(store, "finding", "'t':6,'text':'f','action':'Do this.','lost_s':12.5");
    tell(store, "finding", "'t':7,'text':'f','lost_s':14");
    const struct snapshot *snapshot = snapshot_take(store, 7);
    assert_int_equal(snapshot->problem_count, 2);
    assert_true(snapshot->problems[0]->count == 3 && snapshot->problems[0]->t == 2);
    assert_int_equal(snapshot->problems[0]->rank, -1);
    assert_int_equal(snapshot->finding_count, 1);
    assert_true(snapshot->findings[0]->lost_s == 14 && isnan(snapshot->findings[0]->gain));
    assert_string_equal(snapshot->events[0]->text, "t. Do.");
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_what_compiles_for_a_rank(void **state) {
    (void)state;
    struct store *store = viewed_store();
    struct event summary;
    hello(store, 0);
    const struct snapshot *before = snapshot_take(store, 1);
    tell(store, "compilers",
         "'t':2,'rank':0,'cpu_ms':1200,'processes':3,'rss':700,'rss_peak':900");
    tell(store, "compilers", "'t':3,'rank':0,'cpu_ms':2300,'processes':0,'rss':0,'rss_peak':900");
    const struct snapshot *after = snapshot_take(store, 3);
    const struct snapshot_rank *was = before->ranks[0], *now = after->ranks[0];
    assert_true(isnan(was->compilers_cpu_ms) && isnan(was->compilers_rss) && isnan(was->compilers_peak));
    assert_true(now->compilers_cpu_ms == 2300 && now->compilers == 0);
    assert_true(now->compilers_rss == 0 && now->compilers_peak == 900);
    step(store, 0, 1, 4, 6, 0, 0);
    summary_event(store, &summary);
    const json_t *rank = json_array_get(json_object_get(summary.body, "ranks"), 0);
    const json_t *told = json_object_get(rank, "compilers");
    assert_true(json_number_value(json_object_get(told, "cpu_ms")) == 2300);
    assert_int_equal(json_integer_value(json_object_get(told, "rss_peak")), 900);
    event_done(&summary);
    snapshot_unref(before);
    snapshot_unref(after);
    store_free(store);
}

static void test_whether_code_is_in_effect(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    tell(store, "unit",
         "'t':1,'rank':0,'unit':3,'name':'Net','origin':'fabric','whole':1,"
         "'wraps':['DistributedDataParallel','Net']");
    tell(store, "active",
         "'t':2,'rank':0,'unit':1,'name':'Net','units':2,'state':'on','since':1,'variant':0,"
         "'skipped':0,'limited':0,'looked':4,'calls':8,'compiled':6,'entered':12,'lookup_us':41.5,'ran':7,"
         "'ids':['0/0','1/0'],'settings':{'dynamic':'static','autotune':'off'}");
    const struct snapshot *before = snapshot_take(store, 2);
    tell(store, "active",
         "'t':3,'rank':0,'unit':1,'name':'Net','units':2,'state':'limit','since':9,'variant':0,"
         "'skipped':0,'limited':1,'trouble':'is compiled no further','why':'recompile_limit',"
         "'frames':[{'frame':'f a.py:1','state':'limit','why':'w','step':8},{'state':5},7]");
    const struct snapshot *after = snapshot_take(store, 3);
    const struct snapshot_active *was = before->ranks[0]->actives[0];
    const struct snapshot_active *now = after->ranks[0]->actives[0];
    assert_int_equal(before->ranks[0]->active_count, 1);
    assert_int_equal(after->ranks[0]->active_count, 1);
    assert_string_equal(was->state, "on");
    assert_true(was->has_looked && was->has_ran && was->ran == 7 && was->units == 2);
    assert_true(was->calls == 8 && was->compiled == 6 && was->entered == 12 && was->looked == 4);
    assert_true(was->lookup_us > 41 && was->lookup_us < 42 && isnan(now->lookup_us));
    assert_string_equal(was->ids, "0/0 1/0");
    assert_string_equal(snapshot_pair(was->settings, "dynamic"), "static");
    assert_true(!was->trouble && !was->why && was->frame_count == 0);
    assert_string_equal(now->state, "limit");
    assert_true(now->since == 9 && now->limited == 1 && !now->has_looked && !now->has_ran);
    assert_true(!now->ids && !now->settings && now->frame_count == 3);
    assert_true(now->frames[0].has_step && now->frames[0].step == 8 && !now->frames[1].state);
    const struct snapshot_unit *unit = &after->ranks[0]->units->units[0];
    assert_true(unit->has_whole && unit->whole == 1);
    assert_string_equal(unit->wraps, "DistributedDataParallel(Net)");
    snapshot_unref(before);
    snapshot_unref(after);
    store_free(store);
}

/* When it comes, not each time that it is said again. */
static void test_a_trouble_of_a_unit_is_one_line(void **state) {
    (void)state;
    static const char fields[] = "'t':%d,'rank':0,'unit':0,'name':'Net','units':1,'state':'%s',"
                                 "'since':1,'variant':0,'skipped':0,'limited':0%s";
    struct store *store = viewed_store();
    hello(store, 0);
    const struct snapshot *snapshot = snapshot_take(store, 1);
    uint64_t lines = snapshot->event_total;
    snapshot_unref(snapshot);
    tell(store, "active", fields, 2, "on", "");
    for (int i = 0; i < 3; i++)
        tell(store, "active", fields, 3 + i, "eager", ",'trouble':'runs eager'");
    snapshot = snapshot_take(store, 9);
    assert_int_equal(snapshot->event_total - lines, 1);
    const struct snapshot_event *event = snapshot->events[snapshot->event_count - 1];
    assert_string_equal(event->text, "Net runs eager");
    assert_int_equal(event->level, LEVEL_BAD);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_losses(void **state) {
    (void)state;
    struct store *store = viewed_store();
    hello(store, 0);
    store_dropped(store, "g", 0, LOSS_STEPS, 3);
    store_dropped(store, NULL, -1, LOSS_BAD, 1);
    store_set_dropped(store, "g", 0, (uint64_t[]){5, 7, 0});
    store_set_dropped(store, "g", 0, (uint64_t[]){5, 7, 0});
    const struct snapshot *snapshot = snapshot_take(store, 0);
    assert_true(snapshot->dropped[0] == 5 && snapshot->dropped[1] == 7 &&
                snapshot->dropped[2] == 1);
    assert_true(snapshot->ranks[0]->dropped[0] == 5 && snapshot->ranks[0]->dropped[2] == 0);
    snapshot_unref(snapshot);
    store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known_is_nothing_shown),
        cmocka_unit_test(test_missing_is_never_0),
        cmocka_unit_test(test_figures_of_a_rank),
        cmocka_unit_test(test_a_compilation_under_way),
        cmocka_unit_test(test_comparisons_with_other_settings),
        cmocka_unit_test(test_it_is_frozen_and_outlives_the_store),
        cmocka_unit_test(test_what_did_not_change_is_shared),
        cmocka_unit_test(test_ranks_by_group_and_number),
        cmocka_unit_test(test_ranks_that_differ_in_settings_are_counted),
        cmocka_unit_test(test_a_rank_falls_quiet),
        cmocka_unit_test(test_a_comparison_under_way_is_no_change),
        cmocka_unit_test(test_a_switch_rank_by_rank),
        cmocka_unit_test(test_what_was_let_go_is_compiled_anew),
        cmocka_unit_test(test_a_failed_switch_says_where),
        cmocka_unit_test(test_recompiles_by_cause),
        cmocka_unit_test(test_what_several_ranks_say_is_one_line),
        cmocka_unit_test(test_the_lists_are_bounded_and_counted),
        cmocka_unit_test(test_too_many_causes_become_one),
        cmocka_unit_test(test_breaks_by_place),
        cmocka_unit_test(test_problems_said_again_are_counted),
        cmocka_unit_test(test_whether_code_is_in_effect),
        cmocka_unit_test(test_what_compiles_for_a_rank),
        cmocka_unit_test(test_a_trouble_of_a_unit_is_one_line),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
