/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/base/banned.h"

static int parse(const char *text, struct event *ret, struct err *err) {
    return event_parse(text, strlen(text), 1000000000u, ret, err);
}

static const struct {
    const char *text;
    int result;
    const char *printed;
} good[] = {
    {"{\"v\":1,\"kind\":\"problem\",\"ns\":1500000000,\"what\":\"a\",\"text\":\"b\"}", 0,
     "{\"v\":1,\"kind\":\"problem\",\"t\":0.5,\"what\":\"a\",\"text\":\"b\"}"},
    {"{\"text\":\"b\",\"what\":\"a\",\"rank\":3,\"step\":7,\"t\":2,\"kind\":\"problem\",\"v\":1}",
     0,
     "{\"v\":1,\"kind\":\"problem\",\"t\":2.0,\"rank\":3,\"step\":7,\"text\":\"b\",\"what\":"
     "\"a\"}"},
    /* before the start */
    {"{\"v\":1,\"kind\":\"problem\",\"ns\":500000000,\"what\":\"a\",\"text\":\"b\"}", 0,
     "{\"v\":1,\"kind\":\"problem\",\"t\":-0.5,\"what\":\"a\",\"text\":\"b\"}"},
    /* a later version, an unknown field, an unknown kind: kept and counted */
    {"{\"v\":2,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":\"b\",\"x\":[1],\"y\":null}", 2,
     "{\"v\":1,\"kind\":\"problem\",\"t\":0.0,\"what\":\"a\",\"text\":\"b\",\"x\":[1],\"y\":null}"},
    {"{\"v\":1,\"kind\":\"dream\",\"t\":0,\"x\":1}", 1,
     "{\"v\":1,\"t\":0.0,\"kind\":\"dream\",\"x\":1}"},
    /* known on every kind */
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":\"b\",\"tag\":9,\"cut\":true}",
     0,
     "{\"v\":1,\"kind\":\"problem\",\"t\":0.0,\"what\":\"a\",\"text\":\"b\",\"tag\":9,\"cut\":"
     "true}"},
    /* null is missing */
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"rank\":null,\"what\":\"a\",\"text\":\"b\",\"hint\":"
     "null}",
     0, "{\"v\":1,\"kind\":\"problem\",\"t\":0.0,\"what\":\"a\",\"text\":\"b\"}"},
    {"{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"step\":1,\"ms\":31.923412,\"variant\":0,"
     "\"clean\":true}",
     0,
     "{\"v\":1,\"kind\":\"step\",\"t\":0.0,\"rank\":0,\"step\":1,\"ms\":31.923412,\"variant\":0,"
     "\"clean\":true}"},
    /* a number may be whole, text may hold brackets and quotes */
    {"{\"v\":1,\"kind\":\"compile\",\"t\":0,\"rank\":0,\"variant\":0,\"id\":\"{[\\\"[\\\\\","
     "\"trigger\":\"first\",\"ms\":5}",
     0,
     "{\"v\":1,\"kind\":\"compile\",\"t\":0.0,\"rank\":0,\"variant\":0,\"id\":\"{[\\\"[\\\\\","
     "\"trigger\":\"first\",\"ms\":5}"},
    {"{\"v\":1,\"kind\":\"switch\",\"t\":0,\"id\":1,\"by\":\"at\",\"status\":\"not reached\"}", 0,
     "{\"v\":1,\"kind\":\"switch\",\"t\":0.0,\"id\":1,\"by\":\"at\",\"status\":\"not reached\"}"},
};

static void test_parse_and_print(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct event event;
        struct err err = {0};
        int r = parse(good[i].text, &event, &err);
        if (r != good[i].result) fail_msg("row %zu: %d: %s", i, r, err.message);
        struct buf buf = BUF_INIT;
        event_print(&event, &buf);
        assert_string_equal(buf_text(&buf), good[i].printed);
        buf_done(&buf);
        event_done(&event);
    }
}

static const struct {
    const char *text, *message;
} bad[] = {
    {"", "event is no JSON"},
    {"{\"v\":1", "event is no JSON"},
    {"[1]", "event is no JSON object"},
    {"{\"v\":1,\"v\":1}", "event is no JSON"},
    {"{\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":\"b\"}", "event without a version"},
    {"{\"v\":0,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":\"b\"}",
     "event without a version"},
    {"{\"v\":1,\"t\":0}", "event without a 'kind'"},
    {"{\"v\":1,\"kind\":4,\"t\":0}", "event without a 'kind'"},
    {"{\"v\":1,\"kind\":\"problem\",\"what\":\"a\",\"text\":\"b\"}", "event without a time"},
    {"{\"v\":1,\"kind\":\"problem\",\"ns\":1.5,\"what\":\"a\",\"text\":\"b\"}",
     "event without a time"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"a\"}",
     "event 'problem' without the field 'text'"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":null}",
     "event 'problem': field 'text' is not text"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":7}",
     "event 'problem': field 'text' is not text"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"rank\":-1,\"what\":\"a\",\"text\":\"b\"}",
     "event field 'rank' is no count"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"rank\":3000000000,\"what\":\"a\",\"text\":\"b\"}",
     "event field 'rank' is no count"},
    {"{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"variant\":0,\"clean\":true}",
     "event 'step' without the field 'step'"},
    {"{\"v\":1,\"kind\":\"step\",\"t\":0,\"step\":0,\"variant\":0,\"clean\":true}",
     "event 'step' without the field 'rank'"},
    {"{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"step\":0,\"variant\":0.5,\"clean\":true}",
     "event 'step': field 'variant' is not a whole number"},
    {"{\"v\":1,\"kind\":\"step\",\"t\":0,\"rank\":0,\"step\":0,\"variant\":0,\"clean\":1}",
     "event 'step': field 'clean' is not true or false"},
    {"{\"v\":1,\"kind\":\"switch\",\"t\":0,\"id\":1,\"by\":\"at\",\"status\":\"reached\"}",
     "event 'switch': field 'status' is not one of proposed|"},
    {"{\"v\":1,\"kind\":\"switch\",\"t\":0,\"id\":1,\"by\":\"\",\"status\":\"failed\"}",
     "event 'switch': field 'by' is not one of set|"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"\\u0000\",\"text\":\"b\"}",
     "event is no JSON"},
    {"{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"\xff\",\"text\":\"b\"}", "event is no JSON"},
    {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "event nests too deep"},
};

static void test_parse_refuses(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct event event = {.rank = 77};
        struct err err = {0};
        int r = parse(bad[i].text, &event, &err);
        if (r >= 0) fail_msg("row %zu was taken", i);
        if (strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("row %zu: %s", i, err.message);
        assert_int_equal(event.rank, 77);
    }
}

static void test_parse_cuts_long_text_at_a_character(void **state) {
    (void)state;
    struct buf line = BUF_INIT;
    buf_puts(&line, "{\"v\":1,\"kind\":\"problem\",\"t\":0,\"what\":\"a\",\"text\":\"x");
    for (int i = 0; i < EVENT_TEXT_MAX; i++) buf_puts(&line, "\xc3\xa4");
    buf_puts(&line, "\"}");
    struct event event;
    struct err err;
    assert_int_equal(event_parse(line.data, line.size, 0, &event, &err), 0);
    assert_int_equal(strlen(event_text(&event, "text")), EVENT_TEXT_MAX - 1);
    assert_true(event_is_true(&event, "cut"));
    event_done(&event);
    buf_done(&line);
}

static void test_parse_refuses_a_line_that_is_too_long(void **state) {
    (void)state;
    char *line = mem_new(EVENT_LINE_MAX + 1);
    memset(line, ' ', EVENT_LINE_MAX + 1);
    struct event event;
    struct err err;
    assert_true(event_parse(line, EVENT_LINE_MAX + 1, 0, &event, &err) < 0);
    free(line);
}

static void test_step_record_tells_only_what_is_valid(void **state) {
    (void)state;
    struct step_record record = {
        .step = 5, .end_ns = 3000000000u, .dur_ns = 31923412, .variant = 9, .data_ns = 7};
    struct event event;
    event_from_step(&record, 2, 1000000000u, &event);
    struct buf buf = BUF_INIT;
    event_print(&event, &buf);
    assert_string_equal(
        buf_text(&buf),
        "{\"v\":1,\"kind\":\"step\",\"t\":2.0,\"rank\":2,\"step\":5,\"ms\":31.923412,"
        "\"variant\":9,\"clean\":true}");
    assert_int_equal(event_check(&event, NULL), 0);
    event_done(&event);
    buf_done(&buf);
}

static void test_step_record_tells_all(void **state) {
    (void)state;
    struct step_record record = {
        .why = STEP_WHY_FIRST | STEP_WHY_COMPILE,
        .valid = 0x1ff,
        .data_ns = 1000000,
        .forward_ns = 2000000,
        .backward_ns = 3000000,
        .optimizer_ns = 4000000,
        .own_ns = 12000,
        .rss_bytes = 1,
        .cpu_bytes = 2,
        .cpu_peak_bytes = 3,
        .device_bytes = 4,
        .device_peak_bytes = 5,
        .allocs = 6,
    };
    struct event event;
    event_from_step(&record, 0, 0, &event);
    struct buf buf = BUF_INIT;
    event_print(&event, &buf);
    assert_string_equal(
        buf_text(&buf),
        "{\"v\":1,\"kind\":\"step\",\"t\":0.0,\"rank\":0,\"step\":0,\"data_ms\":1."
        "0,\"forward_ms\":2.0,\"backward_ms\":3.0,"
        "\"optimizer_ms\":4.0,\"own_ms\":0.012,\"variant\":0,\"clean\":false,\"why\":[\"first\","
        "\"compile\"],\"rss\":1,"
        "\"cpu_bytes\":2,\"cpu_peak\":3,\"device_bytes\":4,\"device_peak\":5,\"allocs\":6}");
    assert_int_equal(event_check(&event, NULL), 0);
    event_done(&event);
    buf_done(&buf);
}

/* An example of every field of every kind survives print and parse. */
static json_t *example(const struct kind_field *field) {
    switch (field->type) {
    case FIELD_STRING: return json_string("text");
    case FIELD_INT: return json_integer(4);
    case FIELD_NUMBER: return json_real(0.25);
    case FIELD_BOOL: return json_true();
    case FIELD_OBJECT: return json_pack("{s:s}", "key", "value");
    case FIELD_ARRAY: return json_pack("[s]", "entry");
    case FIELD_CHOICE: return json_stringn(field->unit, strcspn(field->unit, "|"));
    }
    return NULL;
}

static void test_every_kind_goes_there_and_back(void **state) {
    (void)state;
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        struct event event = event_make((enum event_kind)kind, 1.5, "{}"), back;
        event_set_rank(&event, 1);
        event_set_step(&event, 2);
        for (size_t i = 0; i < count; i++)
            if ((int)fields[i].kind == kind)
                json_object_set_new(event.body, fields[i].name, example(&fields[i]));
        struct buf buf = BUF_INIT;
        struct err err = {0};
        event_print(&event, &buf);
        if (event_parse(buf.data, buf.size, 0, &back, &err) != 0)
            fail_msg("%s: %s", kind_name(kind), err.message);
        assert_int_equal(back.kind, kind);
        assert_true(json_equal(back.body, event.body));
        buf_done(&buf);
        event_done(&back);
        event_done(&event);
    }
}

static const struct {
    const char *bytes, *text;
} texts[] = {
    {NULL, ""},
    {"plain", "plain"},
    {"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
    {"\xff\xc3", "??"},
    {"a\xed\xa0\x80z", "a???z"},       /* a surrogate */
    {"\xc0\xaf\xe0\x80\x80", "?????"}, /* too long forms */
    {"\xf4\x90\x80\x80\xf5\x80", "??????"},
};

static void test_string_takes_any_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        json_t *value = event_string(texts[i].bytes);
        assert_string_equal(json_string_value(value), texts[i].text);
        json_decref(value);
    }
    char *large = mem_new(2 * EVENT_TEXT_MAX + 1);
    memset(large, 'x', 2 * EVENT_TEXT_MAX);
    json_t *value = event_string(large);
    assert_int_equal(json_string_length(value), EVENT_TEXT_MAX);
    json_decref(value);
    free(large);
}

static void test_fields(void **state) {
    (void)state;
    struct event event = event_make(EVENT_COMPILE, 0, "{s:s, s:i, s:f, s:b}", "id", "0/1",
                                    "variant", 7, "ms", 2.5, "x", 1);
    int64_t whole = -1;
    double number = -1;
    assert_string_equal(event_text(&event, "id"), "0/1");
    assert_null(event_text(&event, "variant"));
    assert_true(event_int(&event, "variant", &whole) && whole == 7);
    assert_false(event_int(&event, "ms", &whole));
    assert_true(event_number(&event, "ms", &number) && number == 2.5);
    assert_true(event_number(&event, "variant", &number) && number == 7);
    assert_false(event_number(&event, "nothing", &number));
    assert_true(event_is_true(&event, "x"));
    assert_false(event_is_true(&event, "id"));
    event_done(&event);
    event_done(&event);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_and_print),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_parse_cuts_long_text_at_a_character),
        cmocka_unit_test(test_parse_refuses_a_line_that_is_too_long),
        cmocka_unit_test(test_step_record_tells_only_what_is_valid),
        cmocka_unit_test(test_step_record_tells_all),
        cmocka_unit_test(test_every_kind_goes_there_and_back),
        cmocka_unit_test(test_string_takes_any_bytes),
        cmocka_unit_test(test_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
