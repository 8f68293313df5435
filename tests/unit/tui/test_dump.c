/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/dump.h"
#include "engine/base/banned.h"

static void test_svg_holds_text_and_colours(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct canvas *canvas = canvas_new(20, 2);
    area_text(canvas_area(canvas), 1, 0, STYLE_BAD, "a<b & c");
    area_text(canvas_area(canvas), 0, 1, STYLE_TITLE, "日 title");
    dump_svg(&out, canvas, THEME_DARK);
    const char *svg = buf_text(&out);
    assert_non_null(strstr(svg, ">a&lt;b</text>"));
    assert_non_null(strstr(svg, ">&amp;</text>"));
    assert_non_null(strstr(svg, "font-weight='bold'"));
    assert_non_null(strstr(svg, "fill='#FF5F5F'"));
    assert_non_null(strstr(svg, "<rect x='9' y='27' width='72' height='18' fill='#444444'/>"));
    assert_non_null(strstr(svg, "textLength='18' fill='#FFFFFF'>日</text>"));
    assert_non_null(strstr(svg, "</svg>\n"));
    canvas_free(canvas);
}

static void test_styles_have_a_legend(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct canvas *canvas = canvas_new(4, 1);
    area_text(canvas_area(canvas), 1, 0, STYLE_BAD, "x");
    area_text(canvas_area(canvas), 2, 0, style_of_job((struct job_colours){1, -1, 0}), "y");
    dump_styles(&out, canvas);
    assert_string_equal(buf_text(&out), ".ab.\n. PLAIN\na BAD\nb job 0x8800\n");
    canvas_free(canvas);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svg_holds_text_and_colours),
        cmocka_unit_test(test_styles_have_a_legend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
