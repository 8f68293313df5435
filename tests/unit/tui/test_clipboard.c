/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/clipboard.h"
#include "engine/base/banned.h"

static const struct {
    const char *text, *sequence;
} rows[] = {
    {"", "\033]52;c;\007"},
    {"f", "\033]52;c;Zg==\007"},
    {"fo", "\033]52;c;Zm8=\007"},
    {"foo", "\033]52;c;Zm9v\007"},
    {"a?>~", "\033]52;c;YT8+fg==\007"},
    {"\303\251", "\033]52;c;w6k=\007"},
    {"rm\n", "\033]52;c;cm0g\007"},        /* a shell does not run it */
    {"\033[0m", "\033]52;c;IFswbQ==\007"}, /* a terminal does not obey it */
};

static void test_sequence(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        clipboard_sequence(&out, rows[i].text);
        assert_string_equal(buf_text(&out), rows[i].sequence);
    }
}

static void test_sequence_is_bounded(void **state) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char *text = malloc(3 * CLIPBOARD_MAX);
    (void)state;
    memset(text, 'x', 3 * CLIPBOARD_MAX - 1);
    text[3 * CLIPBOARD_MAX - 1] = 0;
    clipboard_sequence(&out, text);
    free(text);
    assert_true(out.size < CLIPBOARD_MAX * 4 / 3 + 32);
}

static void test_terminals_that_would_show_it_are_spared(void **state) {
    (void)state;
    assert_true(has_clipboard("xterm-256color"));
    assert_true(has_clipboard("tmux-256color"));
    assert_false(has_clipboard("linux"));
    assert_false(has_clipboard("dumb"));
    assert_false(has_clipboard(""));
    assert_false(has_clipboard(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_sequence_is_bounded),
        cmocka_unit_test(test_terminals_that_would_show_it_are_spared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
