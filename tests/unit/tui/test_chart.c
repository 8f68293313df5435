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

#include "engine/base/attr.h"
#include "tui/chart.h"
#include "tui/dump.h"
#include "tui/scale.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

#define MS 1e6

static struct canvas *canvas;

static int set_up(void **state) {
    (void)state;
    canvas = canvas_new(24, 6);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    canvas = canvas_free(canvas);
    return 0;
}

static void expect(const char *text) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    dump_text(&out, canvas);
    assert_string_equal(buf_text(&out), text);
}

static const struct {
    double values[8];
    size_t count;
    int rows;
    double low, high, tick;
    int digits;
} scales[] = {
    {{0}, 0, 6, 0, 1, 1, 0},
    {{5, 5, 5}, 3, 6, 4, 5, 0.5, 1}, /* close together: not from 0 */
    {{0, 10}, 2, 6, 0, 10, 5, 0},
    {{31.9, 44}, 2, 10, 30, 45, 5, 0},
    {{20, 44}, 2, 10, 0, 50, 10, 0},                          /* more than twice: from 0 */
    {{31, 32, 31, 32, 31, 32, 31, 8000}, 8, 6, 25, 35, 5, 0}, /* one far above does not count */
    {{30, 30, 30, 100, 100}, 5, 6, 0, 100, 50, 0},            /* many do */
    {{0.001, 0.0015}, 2, 6, 0.001, 0.0016, 0.0002, 4},
    {{-5, 5}, 2, 6, -5, 5, 5, 0},
    {{0, 0}, 2, 6, 0, 1, 0.5, 1},
};

static void test_scales(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
        double values[8];
        memcpy(values, scales[i].values, sizeof values);
        struct scale s = scale_of(values, scales[i].count, scales[i].rows);
        if (fabs(s.low - scales[i].low) > 1e-9 || fabs(s.high - scales[i].high) > 1e-9 ||
            fabs(s.tick - scales[i].tick) > 1e-9 || s.digits != scales[i].digits)
            fail_msg("scale %zu: %g to %g by %g, %d digits", i, s.low, s.high, s.tick, s.digits);
    }
}

static void test_scale_holds_for_any_values(void **state) {
    (void)state;
    for (int round = 0; round < 5000; round++) {
        double values[40], power = pow(10, round % 13 - 4);
        for (int i = 0; i < 40; i++) values[i] = (double)(rand() % 1000) * power;
        struct scale s = scale_of(values, 40, 1 + round % 30);
        assert_true(s.low < s.high && s.tick > 0 && s.digits >= 0);
        assert_true((s.high - s.low) / s.tick < 20);
    }
}

static void test_series(void **state) {
    (void)state;
    const double values[] = {30 * MS, 30 * MS, 10 * MS, 20 * MS, NAN,
                             NAN,     NAN,     NAN,     20 * MS, 20 * MS};
    const struct chart_mark marks[] = {{0, CHART_MARK_COMPILE},
                                       {8, CHART_MARK_COMPILE},
                                       {8, CHART_MARK_SWITCH},
                                       {99, CHART_MARK_SWITCH}};
    struct chart chart = {values, 10, NULL, 312, MS, marks, 4, CHART_BRAILLE};
    chart_draw(&chart, canvas_area(canvas));
    expect("   ●   ▲\n"
           "40┤\n"
           "  │⣿\n"
           "20┤⣿⢸  ⣿\n"
           " 0┤⣿⣿  ⣿\n"
           "  └  321\n");
}

static void test_series_in_blocks_and_ascii(void **state) {
    (void)state;
    const double values[] = {10 * MS, 20 * MS, 40 * MS, NAN, 40 * MS};
    struct chart chart = {values, 5, NULL, 0, MS, NULL, 0, CHART_BLOCKS};
    chart_draw(&chart, canvas_area(canvas));
    expect("\n40┤  █ █\n  │  █ █\n20┤ ██ █\n 0┤███ █\n  └0   4\n");
    canvas_set_ascii(canvas, true);
    chart_draw(&chart, canvas_area(canvas));
    expect("\n40+  # #\n  |  # #\n20+ ## #\n 0+### #\n  +0   4\n");
}

static void test_missing_leaves_a_gap(void **state) {
    (void)state;
    const double values[] = {NAN, NAN, NAN, NAN};
    struct chart chart = {values, 4, NULL, 0, MS, NULL, 0, CHART_BRAILLE};
    chart_draw(&chart, canvas_area(canvas));
    expect("\n\n\n\n\n\n");
    chart.count = 0;
    chart_draw(&chart, canvas_area(canvas));
    expect("\n\n\n\n\n\n");
}

static void test_peak_off_the_scale_is_told(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    double values[30];
    for (int i = 0; i < 30; i++) values[i] = 30 * MS;
    values[20] = 13400 * MS;
    struct chart chart = {values, 30, NULL, 0, MS, NULL, 0, CHART_BRAILLE};
    canvas_resize(canvas, 40, 6);
    chart_draw(&chart, canvas_area(canvas));
    dump_text(&out, canvas);
    assert_null(strstr(buf_text(&out), "peak")); /* no room between the figures */
    chart.ink = CHART_BLOCKS;
    buf_clear(&out);
    chart_draw(&chart, canvas_area(canvas));
    dump_text(&out, canvas);
    assert_non_null(strstr(buf_text(&out), "peak 13.4 s"));
}

/* Columns keep their values while new ones come: the picture moves by whole columns. */
static void test_many_values_do_not_flicker(void **state) {
    (void)state;
    double values[600];
    for (int i = 0; i < 600; i++) values[i] = (20 + (i * 7919) % 21) * MS;
    char before[64] = "";
    int changes = 0;
    canvas_resize(canvas, 60, 3);
    for (size_t count = 500; count < 600; count++) {
        struct chart chart = {values, count, NULL, 0, MS, NULL, 0, CHART_BLOCKS};
        struct buf out = BUF_INIT;
        chart_draw(&chart, canvas_area(canvas));
        dump_text(&out, canvas);
        char *line = strchr(buf_text(&out), '\n');
        char now[64] = "";
        snprintf(now, sizeof now, "%.*s", 40, line);
        changes += strcmp(now, before) != 0;
        snprintf(before, sizeof before, "%s", now);
        buf_done(&out);
    }
    assert_in_range(changes, 1, 13);
}

static void test_styles_follow_the_values(void **state) {
    (void)state;
    const double values[] = {30 * MS, 30 * MS, 30 * MS, 30 * MS};
    const uint16_t styles[] = {STYLE_CHART_OTHER, STYLE_CHART_OTHER, STYLE_CHART,
                               STYLE_CHART_UNCLEAN};
    struct chart chart = {values, 4, styles, 0, MS, NULL, 0, CHART_BRAILLE};
    chart_draw(&chart, canvas_area(canvas));
    assert_int_equal(canvas_row(canvas, 4)[3].style, STYLE_CHART_OTHER);
    assert_int_equal(canvas_row(canvas, 4)[4].style, STYLE_CHART_UNCLEAN);
}

static void test_any_size_and_content(void **state) {
    (void)state;
    double values[700];
    uint32_t seed = 9;
    for (int round = 0; round < 3000; round++) {
        size_t count = (seed = seed * 1664525 + 1013904223) >> 8 & 511;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525 + 1013904223;
            values[i] = seed >> 28 == 0 ? NAN : seed >> 28 == 1 ? INFINITY : (double)(seed >> 4);
        }
        canvas_resize(canvas, 1 + (int)(seed >> 8 & 127), 1 + (int)(seed >> 16 & 31));
        canvas_set_ascii(canvas, seed >> 30 & 1);
        struct chart_mark mark = {seed >> 9 & 511, CHART_MARK_SWITCH};
        struct chart chart = {values, count, NULL, (int64_t)(seed >> 12) - 500000,
                              MS,     &mark, 1,    (enum chart_ink)(seed >> 29 & 1)};
        chart_draw(&chart, canvas_area(canvas));
        strip_draw(values, count, canvas_area(canvas));
        spark_draw(values, count, 0, canvas_area(canvas));
    }
}

static void test_intervals(void **state) {
    (void)state;
    const struct interval intervals[] = {
        {1.32, 1.34, 1.36}, {1.2, 1.3, 1.4}, {0.99, 0.99, 0.99}, {NAN, NAN, NAN}};
    struct interval_scale scale = interval_scale_of(intervals, ARRAY_SIZE(intervals), 1);
    assert_true(scale.low < 0.99 && scale.high > 1.4);
    for (int i = 0; i < 4; i++)
        interval_draw(&intervals[i], &scale,
                      area_part(canvas_area(canvas), (struct rect){0, i, 24, 1}));
    expect("    │           ━┿━\n    │      ━━━━┿━━━━\n   ┿│\n    │\n\n\n");
}

static void test_strip(void **state) {
    (void)state;
    double values[100];
    for (int i = 0; i < 100; i++) values[i] = 30;
    values[3] = 33;
    values[20] = 40;
    values[40] = 90;
    values[60] = NAN;
    strip_draw(values, 100, canvas_area(canvas));
    struct strip_shape shape = strip_shape_of(100, 24, 6);
    assert_int_equal(shape.per_cell, 1);
    expect("   0 ▂▂▂▄▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n  19 ▂▆▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n  38 ▂▂█▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n  57 "
           "▂▂▂?▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n  76 ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n"
           "  95 ▂▂▂▂▂\n");
    assert_int_equal(strip_at(&shape, 100, 5 + 2, 2), 40);
    assert_int_equal(strip_at(&shape, 100, 2, 2), 100);
    assert_int_equal(strip_at(&shape, 100, 20, 5), 100);
    canvas_resize(canvas, 24, 1); /* several ranks a cell: the worst shows */
    strip_draw(values, 100, canvas_area(canvas));
    expect("   0 ▄▂▂▆▂▂█▂▂▂?▂▂▂▂▂▂\n");
    canvas_set_ascii(canvas, true);
    strip_draw(values, 100, canvas_area(canvas));
    expect("   0 -__=__#___?______\n");
    for (int width = 1; width < 300; width += 7)
        for (int height = 1; height < 9; height++)
            for (size_t count = 1; count < 5000; count += 611) {
                shape = strip_shape_of(count, width, height);
                assert_true((size_t)shape.in_row * (size_t)height * (size_t)shape.per_cell >=
                            count);
            }
}

static void test_spark_and_parts(void **state) {
    (void)state;
    const double values[] = {9, 1, 2, NAN, 8};
    const struct part parts[] = {{1, 0}, {NAN, 0}, {2, 0}, {0, 0}, {1, 0}};
    spark_draw(values, 5, 0, area_part(canvas_area(canvas), (struct rect){0, 0, 4, 1}));
    spark_draw(values, 1, 0, area_part(canvas_area(canvas), (struct rect){0, 1, 4, 1}));
    parts_draw(parts, 5, area_part(canvas_area(canvas), (struct rect){0, 2, 8, 1}));
    expect("▁▂ █\n   ▄\n██▒▒▒▒██\n\n\n\n");
    parts_draw(parts, 0, canvas_area(canvas));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_scales),
        TEST(test_scale_holds_for_any_values),
        TEST(test_series),
        TEST(test_series_in_blocks_and_ascii),
        TEST(test_missing_leaves_a_gap),
        TEST(test_peak_off_the_scale_is_told),
        TEST(test_many_values_do_not_flicker),
        TEST(test_styles_follow_the_values),
        TEST(test_any_size_and_content),
        TEST(test_intervals),
        TEST(test_strip),
        TEST(test_spark_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
