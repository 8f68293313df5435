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

#include "engine/base/mem.h"
#include "engine/data/metrics.h"
#include "engine/data/series.h"
#include "engine/data/spans.h"
#include "engine/data/store.h"
#include "engine/data/summary.h"
#include "engine/base/banned.h"

/* A line of a tape, without the parts that are always the same; single quotes stand for double
 * ones. */
static void tell_to(struct store *store, const char *group, const char *kind, const char *fields) {
    char *line = mem_printf("{'v':1,'kind':'%s',%s}", kind, fields);
    for (size_t i = 0; line[i]; i++)
        if (line[i] == '\'') line[i] = '"';
    struct event event;
    struct err err = {0};
    if (event_parse(line, strlen(line), 0, &event, &err) < 0) fail_msg("%s: %s", line, err.message);
    store_take(store, &event, group);
    event_done(&event);
    free(line);
}

static void tell(struct store *store, const char *kind, const char *fields) {
    tell_to(store, NULL, kind, fields);
}

static void hello(struct store *store, int rank, const char *group, const char *state) {
    char *fields = mem_printf(
        "'t':0,'rank':%d,'world':2,'host':'h','pid':%d,'python':'3.11','group':'%s','state':'%s'",
        rank, 100 + rank, group, state);
    tell(store, "rank", fields);
    free(fields);
}

static void step(struct store *store, int rank, int number, double ms, unsigned variant) {
    char *fields = mem_printf("'t':1,'rank':%d,'step':%d,'ms':%f,'variant':%u,'clean':true", rank,
                              number, ms, variant);
    tell(store, "step", fields);
    free(fields);
}

static const struct store_use *use_of(const struct store *store, size_t rank, uint32_t variant) {
    for (size_t i = 0; i < store_rank(store, rank)->use_count; i++)
        if (store_use(store, rank, i)->variant == variant) return store_use(store, rank, i);
    fail_msg("rank %zu has no variant %u", rank, variant);
    return NULL;
}

static void test_series_keeps_all(void **state) {
    (void)state;
    struct series series;
    series_init(&series);
    assert_true(isnan(series_median(&series)));
    for (int i = 0; i < 3 * SERIES_CHUNK + 1; i++) series_add(&series, i);
    assert_int_equal(series.count, 3 * SERIES_CHUNK + 1);
    for (size_t i = 0; i < series.count; i++) assert_true(series_at(&series, i) == (double)i);
    assert_true(series_median(&series) == 3 * SERIES_CHUNK / 2);
    series_done(&series);
}

static void test_a_long_series_stays_a_fair_sample(void **state) {
    (void)state;
    struct series series = {.most = 4 * SERIES_CHUNK};
    for (int i = 0; i < 100001; i++) series_add(&series, i);
    assert_int_equal(series.added, 100001);
    assert_true(series.count <= 4 * SERIES_CHUNK && series.count > 2 * SERIES_CHUNK);
    for (size_t i = 0; i < series.count; i++)
        assert_true(series_at(&series, i) == (double)(i * series.stride));
    assert_true(fabs(series_median(&series) - 50000) < 200);
    assert_true(fabs(series_quick_median(&series, 100) - 50000) < 1000);
    series_done(&series);
}

static const struct {
    struct span spans[5];
    size_t count;
    double total;
    size_t apart;
} rows[] = {
    {{{0, 1}}, 1, 1, 1},
    {{{0, 1}, {2, 3}}, 2, 2, 2},
    {{{0, 1}, {0.5, 3}}, 2, 3, 1},
    {{{1, 2}, {3, 4}, {0, 5}}, 3, 5, 1}, /* inner ones end first */
    {{{1, 2}, {3, 4}, {3.5, 3.6}, {2.5, 5}}, 4, 3.5, 2},
    {{{4, 5}, {0, 1}, {2, 3}}, 3, 3, 3}, /* out of order */
    {{{4, 5}, {0, 1}, {0.5, 4.5}}, 3, 5, 1},
    {{{2, 1}}, 1, 0, 0},
    {{{1, 1}, {1, 2}}, 2, 1, 1},
};

static void test_spans_count_time_once(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct spans spans;
        spans_init(&spans);
        for (size_t j = 0; j < rows[i].count; j++)
            spans_add(&spans, rows[i].spans[j].begin, rows[i].spans[j].end);
        if (fabs(spans_total(&spans) - rows[i].total) > 1e-12 || spans.count != rows[i].apart)
            fail_msg("row %zu: %g in %zu", i, spans_total(&spans), spans.count);
        spans_done(&spans);
    }
}

static void test_figures_by_rank_and_variant(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "g", "hooked");
    hello(store, 1, "g", "hooked");
    tell(store, "step",
         "'t':1,'rank':0,'step':0,'variant':0,'clean':false,'why':['first'],'rss':500");
    for (int i = 1; i < 10; i++) step(store, 0, i, 10 + i, 0);
    tell(store, "step",
         "'t':2,'rank':0,'step':10,'ms':900,'variant':7,'clean':false,'why':['compile'],'rss':900");
    step(store, 0, 11, 5, 7);
    step(store, 1, 0, 8, 0);
    assert_int_equal(store_rank_count(store), 2);
    const struct store_rank *rank = store_rank(store, 0);
    assert_string_equal(rank->group, "g");
    assert_string_equal(rank->python, "3.11");
    assert_null(rank->torch);
    assert_int_equal(rank->pid, 100);
    assert_int_equal(rank->steps, 12);
    assert_int_equal(rank->step, 11);
    assert_int_equal(rank->use_count, 2);
    assert_int_equal(use_of(store, 0, 0)->steps, 10);
    assert_int_equal(use_of(store, 0, 0)->clean, 9);
    assert_int_equal(use_of(store, 0, 0)->peak_rss, 500);
    assert_true(store_use_median_ms(store, 0, 0) == 15);
    assert_int_equal(use_of(store, 0, 7)->peak_rss, 900);
    assert_true(store_use_median_ms(store, 0, 1) == 5);
    assert_false(use_of(store, 1, 0)->has_peak_rss);
    assert_true(store_time(store) == 2);
    store_free(store);
}

static void test_compiles_and_breaks(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "g", "hooked");
    tell(store, "compile", "'t':2,'rank':0,'variant':7,'id':'0/0','trigger':'variant','ms':500");
    tell(store, "compile", "'t':3,'rank':0,'variant':7,'id':'1/0','trigger':'recompile','ms':2500");
    tell(store, "compile",
         "'t':9,'rank':0,'variant':7,'id':'2/0','trigger':'recompile','ms':1000,'failed':'x'");
    tell(store, "compile", "'t':9,'rank':0,'variant':0,'id':'2/1','trigger':'first','ms':1000");
    tell(store, "break",
         "'t':9,'rank':0,'variant':7,'file':'a.py','line':3,'reason':'r','count':1");
    tell(store, "break",
         "'t':9,'rank':0,'variant':7,'file':'a.py','line':3,'reason':'r','count':2");
    tell(store, "break", "'t':9,'rank':0,'file':'a.py','line':4,'reason':'r','count':1");
    tell(store, "break",
         "'t':9,'rank':0,'variant':0,'file':'a.py','line':3,'reason':'r','count':1");
    const struct store_use *use = use_of(store, 0, 7);
    assert_int_equal(use->compiles, 3);
    assert_int_equal(use->recompiles, 2);
    assert_true(fabs(use->compile_s - 3.5) < 1e-9);
    assert_int_equal(use->breaks, 2);
    assert_int_equal(use_of(store, 0, 0)->breaks, 1);
    assert_true(fabs(use_of(store, 0, 0)->compile_s - 1) < 1e-9);
    assert_int_equal(use->steps, 0);
    assert_true(isnan(store_use_median_ms(store, 0, 0)));
    store_free(store);
}

static void test_restart_makes_another_process(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "run/0", "hooked");
    step(store, 0, 0, 1, 0);
    hello(store, 0, "run/0", "lost");
    hello(store, 0, "run/1", "hooked");
    step(store, 0, 0, 2, 0);
    step(store, 0, 1, 2, 0);
    hello(store, 0, "pid/1/2", "asleep"); /* a worker with the same RANK */
    hello(store, 0, "run/0", "exited");
    step(store, 0, 2, 2, 0);
    assert_int_equal(store_rank_count(store), 3);
    assert_int_equal(store_rank(store, 0)->steps, 1);
    assert_string_equal(store_rank(store, 0)->state, "exited");
    assert_string_equal(store_rank(store, 1)->group, "run/1");
    assert_int_equal(store_rank(store, 1)->steps, 3);
    assert_true(store_rank_is_shown(store, 1));
    assert_false(store_rank_is_shown(store, 2));
    store_free(store);
}

static void test_what_comes_before_the_hello_belongs_to_it(void **state) {
    (void)state;
    struct store *store = store_new();
    tell(store, "unit", "'t':0,'rank':0,'unit':0,'name':'Net','origin':'script'");
    hello(store, 0, "launcher", "asleep");
    hello(store, 0, "run/0", "hooked");
    step(store, 0, 0, 1, 0);
    hello(store, 0, "run/1", "hooked");
    assert_int_equal(store_rank_count(store), 3);
    assert_string_equal(store_rank(store, 0)->group, "run/0");
    assert_true(store_rank(store, 0)->unit_count == 1 && store_rank(store, 0)->steps == 1);
    assert_null(store_find_rank(store, "", 0));
    assert_ptr_equal(store_find_rank(store, "run/0", 0), store_rank(store, 0));
    store_free(store);
}

static void test_the_caller_knows_the_group_better(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "pid/1", "hooked");
    hello(store, 0, "pid/2", "hooked");
    tell_to(store, "pid/1", "step", "'t':1,'rank':0,'step':4,'ms':1,'variant':0,'clean':true");
    tell_to(store, "pid/2", "step", "'t':1,'rank':0,'step':5,'ms':1,'variant':0,'clean':true");
    store_dropped(store, "pid/1", 0, LOSS_STEPS, 3);
    store_dropped(store, NULL, -1, LOSS_BAD, 2);
    assert_int_equal(store_rank(store, 0)->step, 4);
    assert_int_equal(store_rank(store, 1)->step, 5);
    assert_int_equal(store_rank(store, 0)->dropped[LOSS_STEPS], 3);
    assert_int_equal(store_rank(store, 1)->dropped[LOSS_STEPS], 0);
    assert_int_equal(store_dropped_total(store, LOSS_STEPS), 3);
    assert_int_equal(store_dropped_total(store, LOSS_BAD), 2);
    store_free(store);
}

static const struct {
    const char *engine, *ranks[2]; /* the last status told by each, "" for none */
    const char *overall;
} statuses[] = {
    {"proposed", {"", ""}, "proposed"},
    {"proposed", {"ready", ""}, "ready"},
    {"committed", {"ready", "ready"}, "committed"},
    {"committed", {"applied", ""}, "committed"},
    {"committed", {"applied", "applied"}, "applied"},
    {"", {"applied", "applied"}, "applied"},
    {"applied", {"applied", ""}, "applied"},
    {"committed", {"applied", "failed"}, "failed"},
    {"committed", {"missed", "applied"}, "missed"},
    {"refused", {"ready", "refused"}, "refused"},
    {"aborted", {"aborted", ""}, "aborted"},
    {"not reached", {"committed", ""}, "not reached"},
    {"", {"refused", "applied"}, "refused"},
};

static void test_status_of_a_switch_over_ranks(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct store *store = store_new();
        char fields[128];
        hello(store, 0, "g", "hooked");
        hello(store, 1, "g", "hooked");
        for (int rank = 0; rank < 2; rank++) {
            const char *status = statuses[i].ranks[rank];
            snprintf(fields, sizeof fields, "'t':1,'rank':%d,'id':4,'by':'viewer','status':'%s'",
                     rank, status);
            if (status[0]) tell(store, "switch", fields);
        }
        snprintf(fields, sizeof fields, "'t':1,'id':4,'by':'viewer','status':'%s'",
                 statuses[i].engine);
        if (statuses[i].engine[0]) tell(store, "switch", fields);
        const char *overall = switch_status_name(store_switch_status(store, 0));
        if (store_switch_count(store) != 1 || strcmp(overall, statuses[i].overall) != 0)
            fail_msg("row %zu: %s", i, overall);
        store_free(store);
    }
}

static void test_attempts_and_refusals_without_an_id(void **state) {
    (void)state;
    struct store *store = store_new();
    struct buf buf = BUF_INIT;
    struct event event;
    tell_to(store, "g", "switch",
            "'t':1,'id':1,'by':'viewer','to':{'mode':'a'},'status':'aborted','again':true");
    tell_to(store, "g", "switch",
            "'t':2,'id':2,'by':'viewer','to':{'mode':'a'},'status':'committed','at':6");
    tell_to(store, "g", "switch",
            "'t':3,'id':0,'by':'viewer','to':{'mode':'b'},'status':'refused'");
    tell_to(store, "g", "switch",
            "'t':4,'id':0,'by':'viewer','to':{'mode':'c'},'status':'refused'");
    tell_to(store, "g", "switch", "'t':5,'id':0,'by':'set','to':{'mode':'d'},'status':'applied'");
    tell_to(store, "g", "switch", "'t':5,'id':0,'by':'set','to':{'mode':'d'},'status':'applied'");
    assert_int_equal(store_switch_count(store), 5);
    summary_event(store, &event);
    assert_int_equal(json_array_size(json_object_get(event.body, "switches")), 4);
    summary_table(store, &buf, 60);
    assert_null(strstr(buf_text(&buf), "aborted"));
    assert_non_null(strstr(buf_text(&buf), "mode=b"));
    assert_non_null(strstr(buf_text(&buf), "mode=c"));
    buf_done(&buf);
    event_done(&event);
    store_free(store);
}

static void expect_current(const struct store *store, const char *group, const char *text) {
    char *now = json_dumps(store_current(store, group), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(now, text);
    free(now);
}

static void test_settings_in_force(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "g", "hooked");
    hello(store, 0, "other", "lost");
    expect_current(store, "g", "{}");
    tell(store, "switch",
         "'t':1,'id':1,'by':'viewer','to':{'mode':'max-autotune'},'variant':5,'status':'proposed'");
    expect_current(store, "g", "{}");
    tell(store, "switch",
         "'t':1,'rank':0,'id':1,'by':'viewer','status':'applied','at':9,'variant':5");
    expect_current(store, "g", "{\"mode\":\"max-autotune\"}");
    tell(store, "switch",
         "'t':2,'rank':0,'id':2,'by':'baseline','to':{'scope':'eager'},'variant':6,'status':'"
         "applied'");
    tell(store, "switch",
         "'t':3,'rank':0,'id':3,'by':'viewer','to':{'mode':'lite'},'status':'failed'");
    expect_current(store, "g", "{\"mode\":\"max-autotune\"}");
    expect_current(store, "other", "{}");
    tell(store, "switch", "'t':4,'rank':0,'id':0,'by':'at','to':{},'variant':0,'status':'applied'");
    expect_current(store, "g", "{}");
    assert_int_equal(store_switch_count(store), 4);
    assert_int_equal(store_switch(store, 0)->at, 9);
    store_free(store);
}

static void test_variants_units_problems_job(void **state) {
    (void)state;
    struct store *store = store_new();
    hello(store, 0, "g", "hooked");
    step(store, 0, 1, 1, 9);
    assert_string_equal(store_variant_label(store, 0), "as written");
    assert_string_equal(store_variant_label(store, 9), "variant 9");
    assert_null(store_variant_settings(store, 9));
    tell(store, "variant", "'t':1,'variant':9,'label':'regional','settings':{'scope':'regional'}");
    assert_string_equal(store_variant_label(store, 9), "regional");
    assert_int_equal(json_object_size(store_variant_settings(store, 9)), 1);
    tell(store, "unit",
         "'t':1,'rank':0,'unit':0,'name':'Net','file':'a.py','line':3,'origin':'script'");
    tell(store, "unit", "'t':1,'rank':0,'unit':1,'name':'step','origin':'script'");
    tell(store, "unit",
         "'t':1,'rank':0,'unit':0,'name':'Net2','origin':'script'"); /* told again after a hello */
    assert_int_equal(store_rank(store, 0)->unit_count, 2);
    assert_string_equal(store_unit(store, 0, 0)->name, "Net2");
    for (int i = 0; i < 101; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "'t':1,'what':'agent','text':'t%d'", i);
        tell(store, "problem", fields);
    }
    assert_int_equal(store_problem_total(store), 101);
    assert_int_equal(store_problem_count(store), 100);
    assert_string_equal(store_problem(store, 0)->text, "t1");
    assert_string_equal(store_problem(store, 99)->text, "t100");
    assert_null(store_job(store));
    tell(store, "job", "'t':1,'command':['a'],'name':'n','start':'s','state':'ended','exit':3");
    assert_int_equal(json_integer_value(json_object_get(store_job(store), "exit")), 3);
    store_free(store);
}

/* A small job with one of everything. */
static struct store *example(void) {
    struct store *store = store_new();
    hello(store, 1, "g", "hooked");
    hello(store, 0, "g", "hooked");
    tell(store, "variant", "'t':0,'variant':0,'label':'as written','settings':{}");
    tell(store, "variant",
         "'t':0,'variant':7,'label':'whole mode=max-autotune "
         "dynamic=on','settings':{'dynamic':'on'}");
    for (int rank = 0; rank < 2; rank++) {
        for (int i = 0; i < 40; i++) step(store, rank, i, 42.25 + rank, 0);
        for (int i = 40; i < 80; i++) step(store, rank, i, 31.5 + rank, 7);
    }
    tell(store, "step", "'t':9,'rank':0,'step':80,'variant':7,'clean':false,'rss':641728512");
    tell(store, "compile", "'t':20,'rank':0,'variant':7,'id':'0/0','trigger':'variant','ms':13400");
    tell(store, "compile", "'t':21,'rank':0,'variant':7,'id':'0/1','trigger':'recompile','ms':500");
    tell(store, "break", "'t':21,'rank':0,'variant':7,'reason':'print','count':1");
    tell(store, "speedup",
         "'t':22,'rank':0,'variant':7,'ratio':1.341,'low':1.322,'high':1.36,'pairs':16,'verdict':'"
         "faster'");
    tell(store, "switch",
         "'t':10,'rank':0,'id':0,'by':'at','to':{'dynamic':'on'},'variant':7,'at':40,'status':'"
         "applied'");
    tell(store, "switch",
         "'t':10,'rank':1,'id':0,'by':'at','to':{'dynamic':'on'},'variant':7,'at':40,'status':'"
         "applied'");
    tell(store, "switch",
         "'t':30,'id':5,'by':'viewer','to':{'backend':'x'},'status':'refused','reason':'no such "
         "backend'");
    store_dropped(store, "g", 1, LOSS_STEPS, 2);
    return store;
}

static const char *const table =
    " rank  steps ms/step  over eager, 95 %   compile recomp breaks    peak\n"
    "as written\n"
    "    0     40    42.2  -                        -      0      0       -\n"
    "    1     40    43.2  -                        -      0      0       -\n"
    "whole mode=max-autotune dynamic=on\n"
    "    0     41    31.5  1.34 (1.32-1.36)    13.9 s      1      1  612 MB\n"
    "    1     40    32.5  -                        -      0      0       -\n"
    "\n"
    " switch  by       to                              at step  status\n"
    "      0  at       dynamic=on                           40  applied\n"
    "      5  viewer   backend=x                             -  refused\n"
    "\n"
    "dropped: 2 step records\n";

static void test_summary_table_reads_well(void **state) {
    (void)state;
    struct store *store = example();
    struct buf buf = BUF_INIT;
    summary_table(store, &buf, 70);
    assert_string_equal(buf_text(&buf), table);
    buf_done(&buf);
    store_free(store);
}

static int widest(const char *text) {
    int most = 0;
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        int width = 0;
        for (size_t i = 0; i < n; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (width > most) most = width;
        assert_true(n == 0 || text[n - 1] != ' ');
    }
    return most;
}

static void test_summary_table_fits_every_width(void **state) {
    (void)state;
    struct store *store = example();
    tell(store, "variant",
         "'t':0,'variant':7,'label':'\\u001b[31mwide \\u009b \xc3\xa4\xc3\xb6\xc3\xbc and a very "
         "long name indeed, "
         "longer than the lines are at first sight','settings':{}");
    for (int width = 20; width < 200; width++) {
        struct buf buf = BUF_INIT;
        summary_table(store, &buf, width);
        if (widest(buf_text(&buf)) > (width < 48 ? 48 : width))
            fail_msg("width %d:\n%s", width, buf_text(&buf));
        assert_null(strchr(buf_text(&buf), '\033'));
        assert_null(strstr(buf_text(&buf), "\xc2\x9b"));
        buf_done(&buf);
    }
    store_free(store);
}

static void test_summary_of_nothing_and_of_many(void **state) {
    (void)state;
    struct store *store = store_new();
    struct buf buf = BUF_INIT;
    summary_table(store, &buf, 80);
    assert_string_equal(buf_text(&buf), "no rank was seen\n\ndropped: nothing\n");
    buf_clear(&buf);
    for (int rank = 63; rank >= 0; rank--) {
        hello(store, rank, "a", "hooked");
        step(store, rank, 0, 100 + rank, 0);
    }
    hello(store, 0, "b", "hooked");
    step(store, 0, 0, 3, 0);
    summary_table(store, &buf, 80);
    assert_non_null(strstr(buf_text(&buf), "group a\nas written\n    0      1   100.0"));
    assert_non_null(strstr(
        buf_text(&buf), "   11      1   111.0  -                        -      0      0       -       -\n"
                        "  ... and 52 more, median ms 112.0 to 163.0\n"
                        "group b\nas written\n    0      1    3.00"));
    buf_done(&buf);
    store_free(store);
}

static void test_summary_event_says_the_same(void **state) {
    (void)state;
    struct store *store = example();
    struct event event;
    struct err err = {0};
    struct buf buf = BUF_INIT;
    summary_event(store, &event);
    if (event_check(&event, &err) < 0) fail_msg("%s", err.message);
    event_print(&event, &buf);
    assert_string_equal(
        buf_text(&buf),
        "{\"v\":1,\"kind\":\"summary\",\"t\":30.0,\"ranks\":["
        "{\"rank\":1,\"group\":\"g\",\"steps\":80,\"drops\":{\"steps\":2,\"events\":0,\"bad\":0},"
        "\"variants\":["
        "{\"variant\":0,\"label\":\"as "
        "written\",\"steps\":40,\"clean\":40,\"median_ms\":43.25,\"compile_s\":0.0,"
        "\"compiles\":0,\"recompiles\":0,\"breaks\":0},"
        "{\"variant\":7,\"label\":\"whole mode=max-autotune "
        "dynamic=on\",\"steps\":40,\"clean\":40,\"median_ms\":32.5,"
        "\"compile_s\":0.0,\"compiles\":0,\"recompiles\":0,\"breaks\":0}]},"
        "{\"rank\":0,\"group\":\"g\",\"steps\":81,\"drops\":{\"steps\":0,\"events\":0,\"bad\":0},"
        "\"variants\":["
        "{\"variant\":0,\"label\":\"as "
        "written\",\"steps\":40,\"clean\":40,\"median_ms\":42.25,\"compile_s\":0.0,"
        "\"compiles\":0,\"recompiles\":0,\"breaks\":0},"
        "{\"variant\":7,\"label\":\"whole mode=max-autotune "
        "dynamic=on\",\"steps\":41,\"clean\":40,\"median_ms\":31.5,"
        "\"compile_s\":13.9,\"compiles\":2,\"recompiles\":1,\"breaks\":1,\"peak_rss\":641728512,"
        "\"speedup\":{\"ratio\":1.341,\"low\":1.322,\"high\":1.36,\"pairs\":16,\"verdict\":"
        "\"faster\"}}]}],"
        "\"switches\":[{\"id\":0,\"by\":\"at\",\"group\":\"g\",\"to\":{\"dynamic\":\"on\"},\"at\":"
        "40,\"status\":\"applied\"},"
        "{\"id\":5,\"by\":\"viewer\",\"to\":{\"backend\":\"x\"},\"status\":\"refused\",\"reason\":"
        "\"no such backend\"}],"
        "\"drops\":{\"steps\":2,\"events\":0,\"bad\":0},"
        "\"causes\":[{\"frame\":\"\",\"words\":\"no cause was told\",\"count\":1,\"seconds\":0.5,"
        "\"ranks\":\"0\",\"last_rank\":0,\"last_t\":21.0,\"last_step\":81}]}");
    buf_done(&buf);
    event_done(&event);
    store_free(store);
}

static const struct {
    enum metric_id metric;
    double value;
    const char *text;
} prints[] = {
    {METRIC_STEPS, 412, "412"},          {METRIC_STEP_MS, 0.0123, "0.012"},
    {METRIC_STEP_MS, 9.876, "9.88"},     {METRIC_STEP_MS, 31.94, "31.9"},
    {METRIC_STEP_MS, 12345.6, "12346"},  {METRIC_COMPILE_S, 0.021, "0.02 s"},
    {METRIC_COMPILE_S, 13.44, "13.4 s"}, {METRIC_COMPILE_S, 5000, "5000 s"},
    {METRIC_RSS_PEAK, 0, "0 B"},         {METRIC_RSS_PEAK, 999, "999 B"},
    {METRIC_RSS_PEAK, 1000, "1.0 KB"},   {METRIC_RSS_PEAK, 641728512, "612 MB"},
    {METRIC_RSS_PEAK, 1.5e9, "1.4 GB"},  {METRIC_RSS_PEAK, 5e16, "45475 TB"},
    {METRIC_SPEEDUP, 1.3449, "1.34"},    {METRIC_SPEEDUP, NAN, "-"},
    {METRIC_STEP_MS, INFINITY, "-"},
};

static void test_metrics(void **state) {
    (void)state;
    char text[METRIC_TEXT_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(prints); i++)
        assert_string_equal(metric_print(prints[i].metric, prints[i].value, text), prints[i].text);
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric *metric = metric_get((enum metric_id)i);
        assert_int_equal(metric_find(metric->name), i);
        assert_true(metric->title[0] && metric->help[0]);
        assert_in_range(metric->kind, 0, EVENT_KIND_COUNT - 1);
    }
    assert_int_equal(metric_find("nothing"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_keeps_all),
        cmocka_unit_test(test_a_long_series_stays_a_fair_sample),
        cmocka_unit_test(test_spans_count_time_once),
        cmocka_unit_test(test_figures_by_rank_and_variant),
        cmocka_unit_test(test_compiles_and_breaks),
        cmocka_unit_test(test_restart_makes_another_process),
        cmocka_unit_test(test_what_comes_before_the_hello_belongs_to_it),
        cmocka_unit_test(test_the_caller_knows_the_group_better),
        cmocka_unit_test(test_status_of_a_switch_over_ranks),
        cmocka_unit_test(test_attempts_and_refusals_without_an_id),
        cmocka_unit_test(test_settings_in_force),
        cmocka_unit_test(test_variants_units_problems_job),
        cmocka_unit_test(test_summary_table_reads_well),
        cmocka_unit_test(test_summary_table_fits_every_width),
        cmocka_unit_test(test_summary_of_nothing_and_of_many),
        cmocka_unit_test(test_summary_event_says_the_same),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
