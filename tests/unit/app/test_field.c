/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tui/field.h"
#include "engine/base/banned.h"

static void type(struct field *field, int code) {
    const struct key key = {.kind = KEY_KIND_CHARACTER, .code = code};
    assert_true(field_take(field, &key));
}

static void test_wide_and_narrow_characters_are_edited_whole(void **state) {
    struct field field;
    (void)state;
    field_set(&field, "a漢é");
    assert_int_equal(field_columns(&field), 4);
    field_edit(&field, ACTION_LEFT);
    assert_int_equal(field_columns(&field), 3);
    field_edit(&field, ACTION_ERASE);
    assert_string_equal(field.text, "aé");
    type(&field, 'b');
    assert_string_equal(field.text, "abé");
    field_edit(&field, ACTION_DELETE);
    assert_string_equal(field.text, "ab");
    field_edit(&field, ACTION_DELETE);
    field_edit(&field, ACTION_HOME);
    field_edit(&field, ACTION_ERASE);
    assert_string_equal(field.text, "ab");
}

static void test_paste_leaves_controls_and_broken_bytes_out(void **state) {
    static const char bytes[] = "x\x1b[31m\ny\x7f\xff";
    struct field field;
    const struct key key = {.kind = KEY_KIND_PASTE, .bytes = bytes, .size = sizeof bytes - 1};
    (void)state;
    field_set(&field, "");
    assert_true(field_take(&field, &key));
    assert_memory_equal(field.text, "x[31my", 6);
    assert_null(strpbrk(field.text, "\x1b\n\x7f"));
}

static void test_text_that_is_too_long_is_cut(void **state) {
    struct field field;
    (void)state;
    field_set(&field, "");
    for (int i = 0; i < 2 * FIELD_SIZE; i++) type(&field, 0x6F22);
    assert_true(field.size < FIELD_SIZE && field.size % 3 == 0);
}

static void test_words_are_erased_and_replaced(void **state) {
    struct field field;
    size_t at;
    (void)state;
    field_set(&field, "mode=x, dyn");
    assert_int_equal(field_word(&field, ", ", &at), 3);
    field_replace(&field, at, "dynamic=");
    assert_string_equal(field.text, "mode=x, dynamic=");
    field_edit(&field, ACTION_ERASE_WORD);
    assert_string_equal(field.text, "mode=x, ");
    field_edit(&field, ACTION_ERASE_ALL);
    assert_string_equal(field.text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_and_narrow_characters_are_edited_whole),
        cmocka_unit_test(test_paste_leaves_controls_and_broken_bytes_out),
        cmocka_unit_test(test_text_that_is_too_long_is_cut),
        cmocka_unit_test(test_words_are_erased_and_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
