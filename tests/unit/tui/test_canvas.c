/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/canvas.h"
#include "tui/dump.h"
#include "engine/base/banned.h"

static struct canvas *canvas;

static int set_up(void **state) {
    (void)state;
    canvas = canvas_new(10, 3);
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

static void check_halves(void) {
    for (int y = 0; y < canvas_height(canvas); y++) {
        const struct cell *row = canvas_row(canvas, y);
        for (int x = 0; x < canvas_width(canvas); x++) {
            bool is_right = x > 0 && row[x - 1].width == 2;
            assert_int_equal(row[x].width == 0, is_right);
            assert_int_equal(row[x].text[0] == 0, is_right);
            assert_false(row[x].width == 2 && x + 1 == canvas_width(canvas));
        }
    }
}

static void test_text_stays_inside(void **state) {
    (void)state;
    struct area all = canvas_area(canvas);
    assert_int_equal(area_text(all, -2, 0, 0, "abcdefghijklmnop"), 16);
    assert_int_equal(area_text(all, 8, 1, 0, "xyz"), 3);
    area_text(all, 0, -1, 0, "above");
    area_text(all, 0, 3, 0, "below");
    area_text(all, 100000000, 2, 0, "far");
    area_text(all, -100000000, 2, 0, "far");
    expect("cdefghijkl\n        xy\n\n");
}

static void test_part_clips_and_moves(void **state) {
    (void)state;
    struct area part = area_part(canvas_area(canvas), (struct rect){2, 1, 4, 5});
    area_text(part, -1, 0, 0, "abcdefgh");
    area_text(part, 0, 1, 0, "xy");
    area_text(part, 0, 4, 0, "no");
    struct area inner = area_part(part, (struct rect){-5, -5, 100, 100});
    area_fill(inner, 3, "#");
    assert_int_equal(inner.clip.x, 2);
    assert_int_equal(inner.clip.width, 4);
    expect("\n  ####\n  ####\n");
}

static void test_wide_is_cut_to_blanks(void **state) {
    (void)state;
    struct area part = area_part(canvas_area(canvas), (struct rect){1, 0, 4, 3});
    area_text(canvas_area(canvas), 0, 0, 0, "..........");
    area_text(part, -1, 0, 0, "日本語"); /* half, whole, half */
    check_halves();
    expect(". 本 .....\n\n\n");
}

static void test_half_of_wide_is_blanked(void **state) {
    (void)state;
    struct area all = canvas_area(canvas);
    area_text(all, 0, 0, 0, "日本語");
    area_text(all, 1, 0, 0, "x");
    area_text(all, 4, 0, 0, "y");
    check_halves();
    expect(" x本y\n\n\n");
    area_text(all, 1, 0, 0, "字");
    check_halves();
    expect(" 字 y\n\n\n");
}

static void test_controls_never_get_in(void **state) {
    (void)state;
    area_text(canvas_area(canvas), 0, 0, 0,
              "a\x1b[2Jb\r\n\x9b\xc2\x9b"
              "c");
    expect("a[2Jb \uFFFDc\n\n\n");
}

static const struct {
    enum align align;
    int width;
    const char *text, *result;
} fits[] = {
    {ALIGN_LEFT, 6, "abc", "[abc   ]"},
    {ALIGN_RIGHT, 6, "abc", "[   abc]"},
    {ALIGN_CENTRE, 6, "abc", "[ abc  ]"},
    {ALIGN_LEFT, 6, "abcdef", "[abcdef]"},
    {ALIGN_LEFT, 6, "abcdefg", "[abcde…]"},
    {ALIGN_RIGHT, 6, "abcdefg", "[abcde…]"},
    {ALIGN_LEFT, 6, "日本語", "[日本語]"},
    {ALIGN_LEFT, 5, "日本語", "[日本…]"},
    {ALIGN_LEFT, 4, "日本語", "[日… ]"},
    {ALIGN_LEFT, 1, "ab", "[…]"},
    {ALIGN_LEFT, 0, "ab", "[]"},
    {ALIGN_LEFT, 3, "", "[   ]"},
    {ALIGN_LEFT, 2, "e\u0301f", "[e\u0301f]"},
};

static void test_fit(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(fits); i++) {
        struct area all = canvas_area(canvas);
        canvas_clear(canvas);
        area_text(all, 0, 0, 0, "[");
        area_text(all, fits[i].width + 1, 0, 0, "]");
        area_fit(area_part(all, (struct rect){1, 0, fits[i].width, 2}), fits[i].align, 0,
                 fits[i].text);
        char result[64];
        snprintf(result, sizeof result, "%s\n\n\n", fits[i].result);
        expect(result);
    }
}

static void test_wrap(void **state) {
    (void)state;
    assert_int_equal(area_wrap(canvas_area(canvas), 0, "one two three four"), 2);
    expect("one two\nthree four\n\n");
    canvas_clear(canvas);
    assert_int_equal(area_wrap(canvas_area(canvas), 0, "abcdefghijklm no\np\n\nq"), 5);
    expect("abcdefghij\nklm no\np\n");
    struct area narrow = area_part(canvas_area(canvas), (struct rect){0, 0, 1, 3});
    canvas_clear(canvas);
    assert_int_equal(area_wrap(narrow, 0, "日本"), 2); /* goes on although nothing fits */
    assert_int_equal(area_wrap(area_part(narrow, (struct rect){0, 0, 0, 1}), 0, "abc"), 0);
}

static void test_box(void **state) {
    (void)state;
    struct area inside = area_box(canvas_area(canvas), 0, "title");
    area_text(inside, 0, 0, 0, "12345678x");
    expect("┌─ title ┐\n│12345678│\n└────────┘\n");
    canvas_set_ascii(canvas, true);
    area_box(canvas_area(canvas), 0, "a title too long");
    expect("+- a t~ -+\n|        |\n+--------+\n");
    canvas_set_ascii(canvas, false);
    for (int width = 0; width < 5; width++)
        for (int height = 0; height < 4; height++)
            area_box(area_part(canvas_area(canvas), (struct rect){0, 0, width, height}), 0, "t");
}

static void test_ascii(void **state) {
    (void)state;
    canvas_set_ascii(canvas, true);
    area_text(canvas_area(canvas), 0, 0, 0, "é日▲e\u0301\u2500");
    expect("e??^e-\n\n\n");
}

static void test_restyle_and_cursor(void **state) {
    (void)state;
    int x, y;
    struct area part = area_part(canvas_area(canvas), (struct rect){2, 1, 3, 1});
    area_restyle(part, 5);
    assert_int_equal(canvas_row(canvas, 1)[2].style, 5);
    assert_int_equal(canvas_row(canvas, 1)[5].style, 0);
    assert_false(canvas_cursor(canvas, &x, &y));
    area_cursor(part, 3, 0);
    assert_false(canvas_cursor(canvas, &x, &y));
    area_cursor(part, 2, 0);
    assert_true(canvas_cursor(canvas, &x, &y));
    assert_int_equal(x, 4);
    struct canvas *other = canvas_new(1, 1);
    canvas_copy(other, canvas);
    assert_int_equal(canvas_width(other), 10);
    assert_true(canvas_cursor(other, &x, &y));
    canvas_free(other);
}

static void test_random_drawing_keeps_cells_whole(void **state) {
    (void)state;
    static const char *const texts[] = {"日本語",  "a", "xyz",        "🚀 go",
                                        "e\u0301", "",  "\x1b]0;x\a", "한\u0301글"};
    uint32_t seed = 3;
    for (int i = 0; i < 50000; i++) {
        seed = seed * 1664525 + 1013904223;
        struct rect at = {(int)(seed >> 8 & 15) - 3, (int)(seed >> 12 & 7) - 2,
                          (int)(seed >> 15 & 15), (int)(seed >> 19 & 3)};
        struct area part = area_part(canvas_area(canvas), at);
        const char *text = texts[seed >> 24 & 7];
        if (seed >> 27 & 1)
            area_fit(part, (enum align)(seed >> 28 & 1), 0, text);
        else
            area_text(part, (int)(seed >> 28) - 4, 0, 0, text);
        if (i % 97 == 0) check_halves();
    }
}

static void test_sizes_are_bounded(void **state) {
    (void)state;
    canvas_resize(canvas, 0, -4);
    assert_int_equal(canvas_width(canvas), 1);
    canvas_resize(canvas, 100000, 2);
    assert_int_equal(canvas_width(canvas), CANVAS_SIDE_MAX);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_text_stays_inside),
        TEST(test_part_clips_and_moves),
        TEST(test_wide_is_cut_to_blanks),
        TEST(test_half_of_wide_is_blanked),
        TEST(test_controls_never_get_in),
        TEST(test_fit),
        TEST(test_wrap),
        TEST(test_box),
        TEST(test_ascii),
        TEST(test_restyle_and_cursor),
        TEST(test_random_drawing_keeps_cells_whole),
        TEST(test_sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
