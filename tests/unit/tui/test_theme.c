/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

static double channel(int value) {
    double c = value / 255.0;
    return c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(int32_t rgb) {
    return 0.2126 * channel(rgb >> 16 & 255) + 0.7152 * channel(rgb >> 8 & 255) +
           0.0722 * channel(rgb & 255);
}

/* As the web's accessibility guidelines count it. */
static double contrast(enum theme theme, unsigned style) {
    struct look look = theme_look(theme, style);
    int32_t ink = look.foreground.rgb < 0 ? theme_ink(theme) : look.foreground.rgb;
    int32_t ground = look.background.rgb < 0 ? theme_ground(theme) : look.background.rgb;
    double a = luminance(ink), b = luminance(ground);
    return a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05);
}

static void test_every_style_can_be_read(void **state) {
    (void)state;
    static const double least[] = {
        [THEME_DARK] = 3, [THEME_LIGHT] = 3, [THEME_CONTRAST] = 7, [THEME_MONO] = 7};
    for (int theme = 0; theme < THEME_COUNT; theme++)
        for (unsigned style = 0; style < STYLE_COUNT; style++)
            if (contrast((enum theme)theme, style) < least[theme])
                fail_msg("%s in %s: contrast %.1f", style_name((enum style)style),
                         theme_name((enum theme)theme), contrast((enum theme)theme, style));
}

static bool is_same_look(struct look a, struct look b) {
    return a.foreground.rgb == b.foreground.rgb && a.background.rgb == b.background.rgb &&
           a.attributes == b.attributes;
}

/* On 16 colours too. */
static bool is_same_ansi(struct look a, struct look b) {
    return a.foreground.ansi == b.foreground.ansi && a.background.ansi == b.background.ansi &&
           a.attributes == b.attributes;
}

static const enum style apart[][2] = {
    {STYLE_GOOD, STYLE_BAD},
    {STYLE_PLAIN, STYLE_BAD},
    {STYLE_WARN, STYLE_BAD},
    {STYLE_PLAIN, STYLE_CURSOR},
    {STYLE_CURSOR, STYLE_CURSOR_AWAY},
    {STYLE_TITLE, STYLE_TITLE_FOCUS},
    {STYLE_BUTTON, STYLE_BUTTON_FOCUS},
    {STYLE_HEADER_LIVE, STYLE_HEADER_FROZEN},
    {STYLE_HEADER_LIVE, STYLE_HEADER_LOST},
    {STYLE_PLAIN, STYLE_STAGED},
    {STYLE_PLAIN, STYLE_TAGGED},
    {STYLE_KEY, STYLE_KEY_LABEL},
    {STYLE_HEAT_0, STYLE_HEAT_3},
    {STYLE_PLAIN, STYLE_MATCH},
    {STYLE_TITLE, STYLE_TITLE_SORT},
};

static void test_what_differs_looks_different(void **state) {
    (void)state;
    for (int theme = 0; theme < THEME_COUNT; theme++)
        for (size_t i = 0; i < ARRAY_SIZE(apart); i++) {
            struct look a = theme_look((enum theme)theme, apart[i][0]),
                        b = theme_look((enum theme)theme, apart[i][1]);
            if (is_same_look(a, b) || is_same_ansi(a, b))
                fail_msg("%s and %s look alike in %s", style_name(apart[i][0]),
                         style_name(apart[i][1]), theme_name((enum theme)theme));
        }
}

static void test_mono_has_no_colour(void **state) {
    (void)state;
    for (unsigned style = 0; style < 0x10000; style++) {
        struct look look = theme_look(THEME_MONO, style);
        assert_int_equal(look.foreground.rgb, -1);
        assert_int_equal(look.background.rgb, -1);
    }
}

static void test_every_style_has_help(void **state) {
    (void)state;
    for (int i = 0; i < STYLE_COUNT; i++)
        assert_true(strlen(style_name((enum style)i)) > 0 && strlen(style_help((enum style)i)) > 0);
}

static void test_job_colours_come_back(void **state) {
    (void)state;
    for (int f = -1; f < 16; f++)
        for (int b = -1; b < 16; b++)
            for (unsigned a = 0; a < 32; a++) {
                unsigned style = style_of_job((struct job_colours){f, b, a});
                struct job_colours back = style_to_job(style);
                assert_true(is_style_of_job(style) && style <= UINT16_MAX);
                assert_true(back.foreground == f && back.background == b && back.attributes == a);
            }
    assert_false(is_style_of_job(STYLE_COUNT - 1));
}

static void test_names(void **state) {
    (void)state;
    for (int i = 0; i < THEME_COUNT; i++)
        assert_int_equal(theme_find(theme_name((enum theme)i)), i);
    assert_int_equal(theme_find("pink"), -1);
    assert_int_equal(theme_guess(NULL), THEME_DARK);
    assert_int_equal(theme_guess("15;0"), THEME_DARK);
    assert_int_equal(theme_guess("0;15"), THEME_LIGHT);
    assert_int_equal(theme_guess("0;default;15"), THEME_LIGHT);
    assert_int_equal(theme_guess("15;default"), THEME_DARK);
    assert_int_equal(theme_guess("15;8"), THEME_DARK);
    assert_int_equal(theme_guess(""), THEME_DARK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_style_can_be_read),
        cmocka_unit_test(test_what_differs_looks_different),
        cmocka_unit_test(test_mono_has_no_colour),
        cmocka_unit_test(test_every_style_has_help),
        cmocka_unit_test(test_job_colours_come_back),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
