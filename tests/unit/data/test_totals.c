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

static void recompile(struct store *store, int rank, double t, int now) {
    tell(
        store, "compile",
        "'t':%f,'rank':%d,'variant':7,'id':'0/1','frame':'f m.py:9','trigger':'recompile','ms':500,"
        "'cause':'0/0: tensor \\u0027x\\u0027 size mismatch at index 0. expected 8, actual %d'",
        t, rank, now);
}

/* The beginning, which who comes late has not seen. */
static void early(struct store *store) {
    for (int i = 0; i < 50; i++) step(store, 0, i, i, 10, 0, 0);
    for (int i = 50; i < 60; i++) step(store, 0, i, i, 6, 7, 0);
    recompile(store, 0, 51, 6);
    recompile(store, 1, 51, 5);
    tell(store, "break",
         "'t':52,'rank':0,'variant':7,'file':'a.py','line':3,'reason':'r','count':1");
    store_dropped(store, "g", 0, LOSS_STEPS, 4);
    store_dropped(store, "g", 1, LOSS_EVENTS, 2);
}

static void hellos(struct store *store) {
    for (int rank = 0; rank < 2; rank++) hello(store, rank);
    tell(store, "variant", "'t':0,'rank':0,'variant':7,'label':'x','settings':{'mode':'y'}");
}

/* What both see. */
static void late(struct store *store) {
    for (int i = 60; i < 64; i++) step(store, 0, i, i, 6, 7, 0);
    recompile(store, 0, 63, 9);
    tell(store, "break",
         "'t':63,'rank':0,'variant':7,'file':'a.py','line':4,'reason':'r','count':1");
}

static char *summary_text(const struct store *store) {
    struct event event;
    struct buf text = BUF_INIT;
    summary_event(store, &event);
    event_print(&event, &text);
    event_done(&event);
    return buf_take(&text);
}

static void hand_on(const struct store *from, struct store *to) {
    CLEANUP(cleanup_free) char *text = summary_text(from);
    struct event event;
    assert_int_equal(event_parse(text, strlen(text), 0, &event, NULL), 0);
    store_take(to, &event, NULL);
    event_done(&event);
}

static void check_same(const struct store *a, const struct store *b) {
    CLEANUP(cleanup_free) char *x = summary_text(a);
    CLEANUP(cleanup_free) char *y = summary_text(b);
    assert_string_equal(x, y);
}

static void test_who_comes_late_has_the_same_figures(void **state) {
    (void)state;
    struct store *whole = store_new(), *part = viewed_store();
    hellos(whole);
    early(whole);
    hellos(part);
    for (int i = 57; i < 60; i++)
        step(part, 0, i, i, 6, 7, 0); /* of what was before, some is shown */
    recompile(part, 1, 51, 5);
    hand_on(whole, part);
    check_same(whole, part);
    late(whole);
    late(part);
    check_same(whole, part);
    const struct snapshot *snapshot = snapshot_take(part, 64);
    assert_int_equal(snapshot->ranks[0]->steps, 64);
    assert_true(snapshot->ranks[0]->compile_s == 1 && snapshot->ranks[0]->breaks == 2);
    assert_int_equal(snapshot->ranks[0]->curve.count, 7);
    assert_true(snapshot_variant(snapshot, 0)->median_ms == 10);
    assert_true(snapshot->causes[0]->count == 3 && snapshot->causes[0]->rank_count == 2);
    assert_true(snapshot->dropped[LOSS_STEPS] == 4 && snapshot->ranks[1]->dropped[1] == 2);
    snapshot_unref(snapshot);
    store_free(whole);
    store_free(part);
}

static void test_said_twice_is_said_once(void **state) {
    (void)state;
    struct store *store = store_new();
    hellos(store);
    early(store);
    CLEANUP(cleanup_free) char *before = summary_text(store);
    hand_on(store, store);
    hand_on(store, store);
    CLEANUP(cleanup_free) char *after = summary_text(store);
    assert_string_equal(before, after);
    late(store);
    assert_true(store_use_median_ms(store, 0, 1) == 6);
    store_free(store);
}

static void test_odd_summaries_do_no_harm(void **state) {
    (void)state;
    struct store *store = viewed_store();
    tell(store, "summary",
         "'t':1,'ranks':[1,{},{'rank':-1},{'rank':2},{'rank':3,'group':'g','steps':'x','variants':["
         "{},"
         "{'variant':'x','steps':-4}],'drops':[]}],'switches':[],'drops':{'steps':-1},'causes':[1,{"
         "},"
         "{'cause':'c','ranks':3,'count':'x'}]");
    const struct snapshot *snapshot = snapshot_take(store, 1);
    assert_int_equal(snapshot->process_count, 2);
    assert_int_equal(snapshot->cause_count, 1);
    assert_int_equal(snapshot->dropped[LOSS_STEPS], 0);
    snapshot_unref(snapshot);
    store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_comes_late_has_the_same_figures),
        cmocka_unit_test(test_said_twice_is_said_once),
        cmocka_unit_test(test_odd_summaries_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
