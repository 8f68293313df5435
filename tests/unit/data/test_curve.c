/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/data/curve.h"
#include "engine/base/banned.h"

static void add(struct curve *curve, uint32_t step, float ms, uint32_t why) {
    curve_add(curve, &(struct curve_point){.step = step,
                                           .count = 1,
                                           .clean = !why,
                                           .t = (float)step / 10,
                                           .ms = ms,
                                           .least = ms,
                                           .most = ms,
                                           .why = why});
}

static void test_short_ones_keep_every_step(void **state) {
    (void)state;
    struct curve curve;
    curve_init(&curve, 4);
    for (uint32_t i = 0; i < 4 * CURVE_CHUNK; i++) add(&curve, i, (float)i, 0);
    struct curve_view view = curve_view(&curve);
    assert_int_equal(view.count, 4 * CURVE_CHUNK);
    for (size_t i = 0; i < view.count; i++) {
        assert_int_equal(curve_point(&view, i)->step, i);
        assert_int_equal(curve_point(&view, i)->count, 1);
    }
    curve_view_done(&view);
    curve_view_done(&view);
    curve_done(&curve);
}

/* All of it is there, in order, without gaps, newest finest; a spike and a reason are never lost.
 */
static void check_whole(const struct curve_view *view, uint32_t steps, uint32_t spike) {
    uint32_t next = 0, before = UINT32_MAX;
    bool has_spike = false, has_why = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct curve_point *point = curve_point(view, i);
        assert_int_equal(point->step, next);
        assert_true(point->count <= before);
        before = point->count;
        next += point->count;
        has_spike |= point->most == 1000.0f && point->step <= spike && spike < next;
        has_why |= (point->why & 2) && point->step <= spike && spike < next;
        if (point->clean) assert_true(point->ms == 10.0f); /* the spike was not clean */
    }
    assert_int_equal(next, steps);
    assert_true(has_spike && has_why);
}

static void test_long_ones_keep_their_length_in_bounded_memory(void **state) {
    (void)state;
    struct curve curve;
    curve_init(&curve, 2);
    for (uint32_t i = 0; i < 100000; i++) add(&curve, i, i == 77 ? 1000 : 10, i == 77 ? 2 : 0);
    struct curve_view view = curve_view(&curve);
    check_whole(&view, 100000, 77);
    assert_int_equal(curve_point(&view, view.count - 1)->count, 1);
    assert_true(view.count < 2000);
    assert_true(curve_bytes(&curve) < 128 << 10);
    curve_view_done(&view);
    curve_done(&curve);
}

static void test_views_do_not_change(void **state) {
    (void)state;
    struct curve curve;
    struct curve_view views[20];
    curve_init(&curve, 3);
    for (uint32_t i = 0; i < 20000; i++) {
        if (i % 1000 == 999) views[i / 1000] = curve_view(&curve);
        add(&curve, i, i == 77 ? 1000 : 10, i == 77 ? 2 : 0);
    }
    curve_done(&curve);
    for (uint32_t i = 0; i < 20; i++) {
        struct curve_view again = curve_view_ref(&views[i]);
        curve_view_done(&views[i]);
        check_whole(&again, 1000 * i + 999, 77);
        curve_view_done(&again);
    }
}

static void test_fits_itself_when_told_to_keep_less(void **state) {
    (void)state;
    struct curve curve;
    curve_init(&curve, 32);
    for (uint32_t i = 0; i < 50000; i++) add(&curve, i, i == 77 ? 1000 : 10, i == 77 ? 2 : 0);
    size_t before = curve_bytes(&curve);
    curve.chunks_each = CURVE_CHUNKS_LEAST;
    for (uint32_t i = 50000; i < 60000; i++) add(&curve, i, 10, 0);
    assert_true(curve_bytes(&curve) < before / 3);
    struct curve_view view = curve_view(&curve);
    check_whole(&view, 60000, 77);
    curve_view_done(&view);
    curve_done(&curve);
}

static void test_columns(void **state) {
    (void)state;
    struct curve curve;
    struct curve_point columns[4];
    curve_init(&curve, 4);
    add(&curve, 0, NAN, 1);
    add(&curve, 1, 10, 0);
    add(&curve, 2, 500, 2);
    add(&curve, 3, 20, 0);
    for (uint32_t i = 6; i < 8; i++) add(&curve, i, 30, 0);
    struct curve_view view = curve_view(&curve);
    assert_int_equal(curve_columns(&view, CURVE_BY_STEP, 0, 8, columns, 4), 3);
    assert_true(columns[0].count == 2 && columns[0].clean == 1 && columns[0].ms == 10.0f);
    assert_int_equal(columns[0].why, 1);
    assert_true(columns[1].ms == 20.0f && columns[1].most == 500.0f && columns[1].why == 2);
    assert_true(columns[2].count == 0 && isnan(columns[2].ms));
    assert_true(columns[3].count == 2 && columns[3].least == 30.0f);
    assert_int_equal(curve_columns(&view, CURVE_BY_TIME, 0.55, 0.65, columns, 1), 1);
    assert_int_equal(columns[0].step, 6);
    assert_int_equal(curve_columns(&view, CURVE_BY_STEP, 4, 6, columns, 4), 0);
    assert_int_equal(curve_columns(&view, CURVE_BY_STEP, 8, 8, columns, 4), 0);
    curve_view_done(&view);
    struct curve_view none = {0};
    assert_int_equal(curve_columns(&none, CURVE_BY_STEP, 0, 8, columns, 4), 0);
    curve_done(&curve);
}

static void test_merged_means(void **state) {
    (void)state;
    struct curve_point none = {.ms = NAN, .least = NAN, .most = NAN};
    struct curve_point one = {.step = 1, .count = 1, .clean = 1, .ms = 4, .least = 4, .most = 4};
    struct curve_point three = {.step = 2, .count = 3, .clean = 3, .ms = 8, .least = 7, .most = 9};
    struct curve_point dirty = {
        .step = 5, .count = 1, .ms = 100, .least = 100, .most = 100, .why = 4};
    struct curve_point sum = none;
    curve_merge(&sum, &none);
    assert_true(sum.count == 0 && isnan(sum.ms));
    curve_merge(&sum, &dirty);
    assert_true(sum.ms == 100.0f);
    curve_merge(&sum, &dirty);
    assert_true(sum.count == 2 && sum.ms == 100.0f && sum.clean == 0);
    curve_merge(&sum, &one);
    curve_merge(&sum, &three);
    assert_true(sum.ms == 7.0f && sum.least == 4.0f && sum.most == 100.0f && sum.why == 4);
    assert_int_equal(sum.count, 6);
    assert_int_equal(sum.step, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_ones_keep_every_step),
        cmocka_unit_test(test_long_ones_keep_their_length_in_bounded_memory),
        cmocka_unit_test(test_views_do_not_change),
        cmocka_unit_test(test_fits_itself_when_told_to_keep_less),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_merged_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
