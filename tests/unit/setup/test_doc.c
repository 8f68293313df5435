/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/setup/doc.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

static void test_tree_has_texts_and_places(void **state) {
    (void)state;
    static const char text[] = "# c\na: on\nb:\n  c: '1'\n  d: [x, y]\nf: {g: \"h\\ti\"}\n";
    CLEANUP(doc_cleanup) struct doc *root = NULL;
    struct err err = {0};
    assert_int_equal(doc_read(text, strlen(text), &root, &err), 0);
    assert_int_equal(root->type, DOC_MAP);
    assert_int_equal(root->count, 3);
    assert_false(root->is_flow);
    assert_string_equal(doc_get(root, "a")->text, "on");
    const struct doc *b = doc_get(root, "b"), *d = doc_get(b, "d"), *f = doc_get(root, "f");
    assert_int_equal(b->line, 3);
    assert_string_equal(doc_get(b, "c")->text, "1");
    assert_int_equal(doc_get(b, "c")->line, 4);
    assert_int_equal(doc_get(b, "c")->column, 3);
    assert_int_equal(doc_get(b, "c")->value_column, 6);
    assert_int_equal(d->type, DOC_LIST);
    assert_string_equal(d->children[1]->text, "y");
    assert_null(d->children[1]->key);
    assert_true(f->is_flow);
    assert_string_equal(doc_get(f, "g")->text, "h\ti");
    assert_null(doc_get(root, "g"));
    assert_null(doc_get(d, "x"));
}

static const struct {
    const char *text, *message;
    enum err_code code;
} bad[] = {
    {"a: *b\n", "line 1, column 4: anchors and aliases are not read", ERR_REFUSED},
    {"a: &b c\n", "line 1, column 4: anchors and aliases", ERR_REFUSED},
    {"a: &b {c: d}\n", "anchors and aliases", ERR_REFUSED},
    {"a: &b [c]\n", "anchors and aliases", ERR_REFUSED},
    {"&a b: c\n", "line 1, column 1: a key is no plain text", ERR_SYNTAX},
    {"*a : c\n", "a key is no plain text", ERR_SYNTAX},
    {"{a: b}: c\n", "a key is no plain text", ERR_SYNTAX},
    {"'': c\n", "a key is empty", ERR_SYNTAX},
    {"a: 1\na: 2\n", "line 2, column 1: key 'a' is given twice", ERR_SYNTAX},
    {"a: \"x\\0y\"\n", "NUL character", ERR_INVALID},
    {"\"a\\0\": y\n", "NUL character", ERR_SYNTAX},
    {"a: [b\n", "line 2, column 1: ", ERR_SYNTAX},
    {"a: b: c\n", "line 1, column 5: mapping values are not allowed in this context", ERR_SYNTAX},
    {"a: 1\n b: 2\n", "line 2, column 3: ", ERR_SYNTAX},
    {"\tb: 2\n", "line 1, column ", ERR_SYNTAX},
    {"a: 1\nb: \x01\n", "line 2, column 4: control characters are not allowed", ERR_SYNTAX},
    {"a: \xff\n", "line 1, column 4: ", ERR_SYNTAX},
    {"a: 1\n---\nb: 2\n", "line 2, column 1: more than one document", ERR_SYNTAX},
    {"[[[[[[[[[[a]]]]]]]]]]", "nested too deep", ERR_LIMIT},
    {"%YAML 9.9\n---\na: 1\n", "line 1, column 1: ", ERR_SYNTAX},
};

static void test_what_is_not_read_names_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct doc *root = NULL;
        struct err err = {0};
        int rc = doc_read(bad[i].text, strlen(bad[i].text), &root, &err);
        if (rc != -(int)bad[i].code) fail_msg("row %zu: %d %s", i, rc, err.message);
        check_message(&err, bad[i].message);
        assert_null(root);
        assert_true(doc_read(bad[i].text, strlen(bad[i].text), &root, NULL) < 0);
    }
}

static void test_size_and_number_are_bounded(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct doc *root = NULL;
    struct err err;
    for (int i = 0; i <= DOC_NODES_MAX; i++) buf_puts(&text, "- 1\n");
    assert_int_equal(doc_read(text.data, text.size, &root, &err), -ERR_LIMIT);
    check_message(&err, "too many values");
    while (text.size <= DOC_SIZE_MAX) buf_puts(&text, "# comment\n");
    assert_int_equal(doc_read(text.data, text.size, &root, &err), -ERR_LIMIT);
    check_message(&err, "larger than 64 KiB");
}

static void test_empty_is_an_empty_map(void **state) {
    (void)state;
    static const char *const texts[] = {"", "\n", "# only a comment\n"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(doc_cleanup) struct doc *root = NULL;
        assert_int_equal(doc_read(texts[i], strlen(texts[i]), &root, NULL), 0);
        assert_int_equal(root->type, DOC_MAP);
        assert_int_equal(root->count, 0);
    }
}

static const char *const texts[] = {
    "on",
    "1.5",
    "",
    " x ",
    "a: b",
    "# no comment",
    "'q'",
    "\"q\"",
    "two\nlines",
    "two\nlines\n",
    "\n\nx\n\n",
    "  indented\nx\n",
    "- x",
    "*a",
    "&a",
    "{a}",
    "[a]",
    "%x",
    "@x",
    "`x",
    "!x",
    "null",
    "~",
    "\xc3\xbc",
    "\xf0\x9f\x98\x80",
    "tab\there",
    "a\n b\n  c",
};

static void test_every_text_comes_back(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(doc_cleanup) struct doc *map = doc_new_map(), *again = NULL;
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct err err = {0};
        doc_add_text(doc_add_map(map, "m"), "k.k", texts[i]);
        doc_add_text(map, "t", texts[i]);
        assert_int_equal(doc_write(map, &out, &err), 0);
        if (doc_read(out.data, out.size, &again, &err) < 0)
            fail_msg("%s: %s", buf_text(&out), err.message);
        assert_string_equal(doc_get(again, "t")->text, texts[i]);
        assert_string_equal(doc_get(doc_get(again, "m"), "k.k")->text, texts[i]);
        assert_int_equal(out.data[out.size - 1], '\n');
    }
}

static void test_text_that_is_no_utf8_is_not_written(void **state) {
    (void)state;
    CLEANUP(doc_cleanup) struct doc *map = doc_new_map();
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct err err = {0};
    doc_add_text(map, "a", "x");
    doc_add_text(map, "b", "\xff");
    assert_int_equal(doc_write(map, &out, &err), -ERR_INVALID);
    check_message(&err, "no UTF-8");
    assert_int_equal(out.size, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_has_texts_and_places),
        cmocka_unit_test(test_what_is_not_read_names_its_place),
        cmocka_unit_test(test_size_and_number_are_bounded),
        cmocka_unit_test(test_empty_is_an_empty_map),
        cmocka_unit_test(test_every_text_comes_back),
        cmocka_unit_test(test_text_that_is_no_utf8_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
