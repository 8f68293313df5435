/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/ascii.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

static void test_every_character_comes_back(void **state) {
    (void)state;
    for (uint32_t point = 1; point <= 0x10FFFF; point++) {
        char bytes[4];
        uint32_t read = 0;
        size_t size = utf8_write(bytes, point);
        assert_int_equal(utf8_read(bytes, size, &read), size);
        assert_int_equal(read, point >= 0xD800 && point <= 0xDFFF ? UTF8_REPLACEMENT : point);
    }
}

static const struct {
    const char *text;
    size_t used;
} broken[] = {
    {"\x80", 1},         {"\xC0\x80", 1},     {"\xC1\xBF", 1},
    {"\xE0\x80\x80", 1}, {"\xED\xA0\x80", 1}, {"\xF4\x90\x80\x80", 1},
    {"\xF5\x80", 1},     {"\xFF", 1},         {"\xE2\x82", 1},
    {"\xE2", 1},         {"\xC3", 1},         {"\xF0\x9F\x98", 1},
    {"\xC3\x28", 1},     {"\xE2\x28\xA1", 1}, {"\xF8\x88\x80", 1},
};

static void test_broken_bytes_count_one_each(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        uint32_t point = 0;
        assert_int_equal(utf8_read(broken[i].text, strlen(broken[i].text), &point), broken[i].used);
        assert_int_equal(point, UTF8_REPLACEMENT);
    }
}

static const struct {
    const char *text;
    int columns;
} widths[] = {
    {"", 0},
    {"abc", 3},
    {"é", 1},
    {"e\u0301", 1},
    {"日本", 4},
    {"ｆ", 2},
    {"한국", 4},
    {"\u1112\u1161\u11ab", 2}, /* decomposed jamo */
    {"🚀", 2},
    {"👩\u200d💻", 4},    /* without the joiner they are two */
    {"👍\U0001F3FD", 2}, /* without the skin tone */
    {"❤\uFE0F", 1},
    {"🇩🇪", 2}, /* DE */
    {"a\u202Eb", 2},
    {"a\x1b[31mb", 6},
    {"\a\b\x7f", 0},
    {"a\tb\nc", 5},
    {"\u0301", 0}, /* nothing before it */
    {"\xFF\xFE", 2},
    {"⣿⠀", 2},
    {"\u00AD", 1},
};

static void test_columns(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
        if (utf8_columns(widths[i].text) != widths[i].columns)
            fail_msg("row %zu takes %d columns, not %d", i, utf8_columns(widths[i].text),
                     widths[i].columns);
}

static void test_glyph_keeps_few_marks(void **state) {
    (void)state;
    const char *text = "a\u0301\u0302\u0303\u0304\u0305\u0306z";
    struct glyph glyph;
    size_t used = utf8_glyph(text, strlen(text), &glyph);
    assert_string_equal(text + used, "z");
    assert_string_equal(glyph.text, "a\u0301\u0302\u0303");
    assert_int_equal(glyph.width, 1);
}

static void test_no_glyph_holds_controls(void **state) {
    (void)state;
    for (uint32_t point = 1; point <= 0x10FFFF; point++) {
        char bytes[4];
        struct glyph glyph;
        size_t size = utf8_write(bytes, point);
        assert_int_equal(utf8_glyph(bytes, size, &glyph), size);
        assert_true(glyph.width <= 2 && (glyph.width == 0) == (glyph.text[0] == 0));
        uint32_t drawn = 0x20;
        if (glyph.width) utf8_read(glyph.text, strlen(glyph.text), &drawn);
        assert_false(drawn < 0x20 || (drawn >= 0x7F && drawn < 0xA0));
    }
}

static void test_any_bytes_are_used_up(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[16];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
        for (size_t done = 0; done < sizeof text;) {
            struct glyph glyph;
            size_t used = utf8_glyph(text + done, sizeof text - done, &glyph);
            assert_true(used > 0 && used <= sizeof text - done);
            assert_true(strlen(glyph.text) < UTF8_GLYPH_SIZE);
            done += used;
        }
    }
}

static void test_ascii_is_printable(void **state) {
    (void)state;
    for (uint32_t point = 0x20; point <= 0x30000; point++) {
        char c = ascii_for(point);
        assert_true(c >= 0x20 && c < 0x7F);
    }
    assert_int_equal(ascii_for(0xE9), 'e');
    assert_int_equal(ascii_for(0x178), 'Y');
    assert_int_equal(ascii_for(0x17F), 's');
    assert_int_equal(ascii_for(0x2500), '-');
    assert_int_equal(ascii_for(0x2502), '|');
    assert_int_equal(ascii_for(0x253F), '+');
    assert_int_equal(ascii_for(0x28FF), '#');
    assert_int_equal(ascii_for(0x2588), '#');
    assert_int_equal(ascii_for(0x4E2D), '?');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character_comes_back),
        cmocka_unit_test(test_broken_bytes_count_one_each),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_glyph_keeps_few_marks),
        cmocka_unit_test(test_no_glyph_holds_controls),
        cmocka_unit_test(test_any_bytes_are_used_up),
        cmocka_unit_test(test_ascii_is_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
