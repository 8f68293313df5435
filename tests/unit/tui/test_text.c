/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/dump.h"
#include "tui/text.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

static struct text *text;
static struct canvas *canvas;

static int set_up(void **state) {
    (void)state;
    text = text_new(20, 5);
    canvas = canvas_new(20, 5);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    text = text_free(text);
    canvas = canvas_free(canvas);
    return 0;
}

static void feed(const char *bytes) {
    text_feed(text, bytes, strlen(bytes));
}

/* All lines, parted by bars. */
static void expect(const char *lines) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    for (uint64_t number = text_first(text); number < text_end(text); number++) {
        if (number > text_first(text)) buf_puts(&out, "|");
        text_plain(text, number, &out);
    }
    assert_string_equal(buf_text(&out), lines);
}

static void expect_screen(const char *rows) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    canvas_clear(canvas);
    text_draw_screen(text, canvas_area(canvas), true);
    dump_text(&out, canvas);
    assert_string_equal(buf_text(&out), rows);
}

static const struct {
    const char *bytes, *lines;
} rows[] = {
    {"", ""},
    {"one\r\ntwo\r\n", "one|two"},
    {"one\ntwo", "one|two"},
    {"\n\nthree\n", "||three"},
    {" 10%\r 50%\r100%\r\n", "100%"},
    {"loss 2.31\rloss 2.3\x1b[K\n", "loss 2.3"},
    {"long line\rab", "abng line"},
    {"a\x1b[2Kb", " b"},
    {"ab\b\bc", "cb"},
    {"a\tb", "a       b"},
    {"\x1b[31mred\x1b[0m plain", "red plain"},
    {"\x1b]0;title\adone", "done"},
    {"\x1b]52;c;aGk=\x1b\\done", "done"},
    {"\x1bP1$r0m\x1b\\done", "done"},
    {"\x1b[6n\x1b[c\x1b[>c\x1b[?2026$pdone", "done"},
    {"\x1b[?1000h\x1b[?2004hdone\x1b(B", "done"},
    {"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18mdone", "done"},
    {"\x1b[99999999999Cx", NULL}, /* only has to end */
    {"a\x18"
     "b\x1b[3\x18"
     "c",
     "abc"},
    {"bell\a\x0e\x0f\x7f.", "bell."},
    {"日本語\b\bx", "日本x "},
    {"日本語\rx", "x 本語"},
    {"e\u0301a\u0301", "e\u0301a\u0301"},
    {"\u0301start", "start"},
    {"\xff\xfe|\xe2\x82|", "\uFFFD\uFFFD|\uFFFD\uFFFD|"},
    {"\xc2\x9b"
     "31mC1 as a character",
     "31mC1 as a character"},
    {"abcdef\x1b[3D\x1b[2P", "abcf"},
    {"abcdef\x1b[3D\x1b[2@", "abc  def"},
    {"abcdef\x1b[3D\x1b[2X", "abc  f"},
    {"abcdef\x1b[1K", "      "},
    {"a\x1b[5Gb\x1b[1;2Hc", "ac  b"},
    {"x\x1b"
     "7yz\x1b"
     "8!",
     "x!z"},
    {"one\ntwo\n\x1b[2Jthree", "one|two|three"}, /* clearing loses nothing */
    {"one\ntwo\n\x1b[H\x1b[2Jthree", "one|two|three"},
    {"0: 10%\n1: 20%\x1b[A\r0: 99%\n\r1: 98%\n", "0: 99%|1: 98%"}, /* two bars */
    {"a\nb\nc\x1b[2A\x1b[J", "a"}, /* what the cursor stands behind stays */
    {"\x1b[38;5;196mx\x1b[48;2;0;0;255my\x1b[38:2::10:20:30mz", "xyz"},
};

static void test_bytes_to_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        text_free(text);
        text = text_new(20, 5);
        feed(rows[i].bytes);
        if (rows[i].lines) expect(rows[i].lines);
    }
}

/* The same, byte by byte: no piece is too small. */
static void test_pieces_make_no_difference(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        text_free(text);
        text = text_new(20, 5);
        for (const char *c = rows[i].bytes; *c; c++) text_feed(text, c, 1);
        if (rows[i].lines) expect(rows[i].lines);
    }
}

static void test_colours_are_kept(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        struct job_colours colours;
    } looks[] = {
        {"\x1b[31mx", {1, -1, 0}},
        {"\x1b[1;92;44mx", {10, 4, LOOK_BOLD}},
        {"\x1b[38;5;9mx", {9, -1, 0}},
        {"\x1b[38;5;196mx", {1, -1, 0}},
        {"\x1b[107mx", {-1, 15, 0}},
        {"\x1b[4;7mx", {-1, -1, LOOK_UNDERLINE | LOOK_REVERSE}},
        {"\x1b[38;2;0;0;0mx", {0, -1, 0}},
        {"\x1b[38:2::255:255:255mx", {15, -1, 0}},
        {"\x1b[1m\x1b[22;3mx", {-1, -1, LOOK_ITALIC}},
        {"\x1b[31;39;42;49;4mx", {-1, -1, LOOK_UNDERLINE}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
        text_free(text);
        text = text_new(20, 5);
        feed(looks[i].bytes);
        text_draw(text, 0, 0, canvas_area(canvas));
        struct job_colours colours = style_to_job(canvas_row(canvas, 0)[0].style);
        if (colours.foreground != looks[i].colours.foreground ||
            colours.background != looks[i].colours.background ||
            colours.attributes != looks[i].colours.attributes)
            fail_msg("row %zu: %d on %d, %x", i, colours.foreground, colours.background,
                     colours.attributes);
    }
    feed("\x1b[0my");
    text_draw(text, 0, 0, canvas_area(canvas));
    assert_int_equal(canvas_row(canvas, 0)[1].style, STYLE_OUTPUT);
}

static void test_packed_lines_look_the_same(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf open = BUF_INIT;
    CLEANUP(buf_done) struct buf packed = BUF_INIT;
    feed("\x1b[31mred \x1b[0m日本e\u0301 \x1b[7m \x1b[0m   \r\n");
    text_draw(text, 0, 0, canvas_area(canvas));
    dump_text(&open, canvas);
    dump_styles(&open, canvas);
    for (int i = 0; i < 10; i++) feed("\r\n");
    text_draw(text, 0, 0, canvas_area(canvas));
    dump_text(&packed, canvas);
    dump_styles(&packed, canvas);
    assert_string_equal(buf_text(&packed), buf_text(&open));
    text_draw(text, 0, 5, canvas_area(canvas)); /* begins inside a wide character */
    buf_clear(&packed);
    dump_text(&packed, canvas);
    assert_int_equal(strncmp(buf_text(&packed), " 本e\u0301", 6), 0);
}

static void test_megabyte_line_is_cut(void **state) {
    (void)state;
    char *mega = malloc(1 << 20);
    memset(mega, 'x', 1 << 20);
    text_feed(text, mega, 1 << 20);
    feed("\r\nnext");
    assert_int_equal(text_columns(text, 0), TEXT_COLUMNS_MAX);
    text_draw(text, 0, TEXT_COLUMNS_MAX - 10, canvas_area(canvas));
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    dump_text(&out, canvas);
    assert_non_null(strstr(buf_text(&out), "xxxxxxxxxx…\n"));
    text_draw(text, 1, 0, canvas_area(canvas));
    free(mega);
}

static void test_old_lines_go(void **state) {
    (void)state;
    char line[32];
    for (int i = 0; i < TEXT_LINES_MAX * 2; i++) {
        snprintf(line, sizeof line, "line %d\r\n", i);
        feed(line);
    }
    assert_in_range(text_end(text) - text_first(text), TEXT_LINES_MAX - 10, TEXT_LINES_MAX + 10);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    text_plain(text, text_end(text) - 1, &out);
    assert_string_equal(buf_text(&out), "line 39999");
    assert_int_equal(text_columns(text, 0), 0); /* a line that is gone is empty */
}

static void test_many_bytes_go(void **state) {
    (void)state;
    char *wide = malloc(4000);
    memset(wide, 'x', 4000);
    memcpy(wide + 3998, "\r\n", 2);
    for (int i = 0; i < 5000; i++) text_feed(text, wide, 4000); /* 20 MB */
    assert_in_range(text_end(text) - text_first(text), 1800, 2200);
    free(wide);
}

static void test_full_screen_beside_the_lines(void **state) {
    (void)state;
    feed("before\r\n\x1b[?1049h\x1b[H\x1b[2Jtop\x1b[5;1Hbottom\x1b[3;18Hwrap over");
    assert_true(is_text_full_screen(text));
    expect_screen("top\n\n                 wra\np over\nbottom\n");
    feed("\x1b[2;4r\x1b[4;1Hin\n");
    expect_screen("top\n                 wra\ninover\n\nbottom\n");
    feed("\x1b[2;1H\x1b[Lnew\x1b[1;1H\x1b[2M");
    expect_screen(
        "top\nnew\n                 wra\ninover\nbottom\n"); /* above the region nothing moves */
    feed("\x1b[r\x1b[H\x1b[2J\x1b[31mless\x1b[5;1H\x1bM\x1b[1;1H\x1bMfirst");
    expect_screen("first\nless\n\n\n\n");
    text_resize(text, 10, 3);
    expect_screen("first\nless\n\n\n\n");
    feed("\x1b[?1049l after");
    assert_false(is_text_full_screen(text));
    expect("before| after");
}

static void test_screen_shows_cursor(void **state) {
    (void)state;
    int x, y;
    for (int i = 0; i < 12; i++) feed("line\r\n");
    feed("name? ");
    expect_screen("line\nline\nline\nline\nname?\n");
    assert_true(canvas_cursor(canvas, &x, &y));
    assert_true(x == 6 && y == 4);
    canvas_resize(canvas, 4, 2); /* smaller than the job's screen: what is around the cursor */
    expect_screen("e\ne?\n");
    assert_true(canvas_cursor(canvas, &x, &y) && x == 3 && y == 1);
    feed("\x1b[?25l");
    expect_screen("e\ne?\n");
    assert_false(canvas_cursor(canvas, &x, &y));
}

static void test_resize_keeps_lines(void **state) {
    (void)state;
    feed("1\r\n2\r\n3\r\n4\r\n5");
    text_resize(text, 20, 2);
    feed("\x1b[H!");
    expect("1|2|3|!|5");
    text_resize(text, 20, 10);
    feed("\x1b[H?");
    expect("1|2|3|?|5");
}

static void test_nothing_unsafe_comes_out(void **state) {
    (void)state;
    static const char *const bits[] = {
        "\x1b[", "\x1b]", "\x1bP", "?1049h", "?1049l", ";",       "9999", "H",    "J", "K",  "m",
        "r",     "L",     "M",     "@",      "P",      "X",       "S",    "T",    "A", "B",  "\r",
        "\n",    "\b",    "\t",    "\a",     "日本",   "e\u0301", "\xff", "\xe2", "x", "abc"};
    uint32_t seed = 21;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525 + 1013904223;
        feed(bits[seed >> 27]);
        if ((seed >> 8 & 1023) == 0)
            text_resize(text, (int)(seed >> 18 & 63), (int)(seed >> 22 & 15));
        if ((seed >> 8 & 255) != 1) continue;
        canvas_resize(canvas, 1 + (int)(seed >> 16 & 31), 1 + (int)(seed >> 21 & 7));
        text_draw_screen(text, canvas_area(canvas), true);
        text_draw(text, text_first(text), (int)(seed >> 20 & 63), canvas_area(canvas));
        for (int y = 0; y < canvas_height(canvas); y++)
            for (int x = 0; x < canvas_width(canvas); x++) {
                const char *c = canvas_row(canvas, y)[x].text;
                assert_true(!*c || ((unsigned char)*c >= 0x20 && *c != 0x7F));
            }
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_to_lines),
        TEST(test_pieces_make_no_difference),
        TEST(test_colours_are_kept),
        TEST(test_packed_lines_look_the_same),
        TEST(test_megabyte_line_is_cut),
        TEST(test_old_lines_go),
        TEST(test_many_bytes_go),
        TEST(test_full_screen_beside_the_lines),
        TEST(test_screen_shows_cursor),
        TEST(test_resize_keeps_lines),
        TEST(test_nothing_unsafe_comes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
