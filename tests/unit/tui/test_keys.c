/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "tui/keys.h"
#include "engine/base/banned.h"

#define MS UINT64_C(1000000)

static struct keys *keys;
static struct buf heard; /* names of keys, each with a blank behind it */

static void hear(void *context, const struct key *key) {
    char name[KEY_NAME_SIZE];
    (void)context;
    key_name(key, name);
    if (key->kind == KEY_KIND_MOUSE)
        buf_printf(&heard, "mouse%d/%d@%d,%d ", key->code, key->button, key->x, key->y);
    else if (key->kind == KEY_KIND_PASTE)
        buf_printf(&heard, "paste%s(%.*s) ", key->is_cut ? "-cut" : "",
                   (int)(key->size < 40 ? key->size : 40), key->bytes);
    else if (key->kind == KEY_KIND_MODE)
        buf_printf(&heard, "mode%d=%d ", key->code, key->value);
    else if (key->kind == KEY_KIND_POSITION)
        buf_printf(&heard, "at%d,%d ", key->x, key->y);
    else
        buf_printf(&heard, "%s ", name);
}

static int begin(const char *term) {
    buf_clear(&heard);
    keys = keys_free(keys);
    return keys_new(term, hear, NULL, &keys, NULL);
}

static int set_up(void **state) {
    (void)state;
    return begin("xterm-256color");
}

static int tear_down(void **state) {
    (void)state;
    keys = keys_free(keys);
    buf_done(&heard);
    return 0;
}

static void feed(const char *bytes, uint64_t now) {
    keys_feed(keys, bytes, strlen(bytes), now);
}

static const struct {
    const char *bytes, *keys;
} rows[] = {
    {"mA@/?!", "m A @ / ? ! "},
    {" ", "Space "},
    {"\r", "Enter "},
    {"\n", "Enter "},
    {"\t", "Tab "},
    {"\x7f", "Backspace "},
    {"\x03\x1a\x0c", "^C ^Z ^L "},
    {"é日", "é 日 "},
    {"\x1b[A\x1b[B\x1b[C\x1b[D", "Up Down Right Left "},
    {"\x1bOA\x1bOB", "Up Down "},
    {"\x1b[5~\x1b[6~\x1b[H\x1b[F", "PgUp PgDn Home End "},
    {"\x1b[1~\x1b[4~\x1bOH\x1bOF", "Home End Home End "},
    {"\x1b[2~\x1b[3~", "Ins Del "},
    {"\x1bOP\x1bOQ\x1b[15~\x1b[21~", "F1 F2 F5 F10 "},
    {"\x1b[11~\x1b[24~", "F1 F12 "},
    {"\x1b[Z", "Shift-Tab "},
    {"\x1b[1;5A\x1b[1;2C", "Ctrl-Up Shift-Right "},
    {"\x1b"
     "1\x1bx",
     "Alt-1 Alt-x "},
    {"\x1b[<0;5;3M\x1b[<0;5;3m", "mouse0/1@4,2 mouse2/1@4,2 "},
    {"\x1b[<64;1;1M\x1b[<65;300;90M", "mouse3/4@0,0 mouse4/5@299,89 "},
    {"\x1b[<32;7;8M", "mouse1/1@6,7 "},
    {"\x1b[?2026;2$y", "mode2026=2 "},
    {"\x1b[?12;34R", "at33,11 "},
    {"\x1b[Iq\x1b[Oq", "q q "},
    {"\x1b[200~a\x1b[Ab\x1b[201~q", "paste(a\x1b[Ab) q "},
    {"\x1b[200~\x1b[201\x1b[20\x1b\x1b[201~", "paste(\x1b[201\x1b[20\x1b) "},
    {"\x1b[200~\x1b[201~", "paste() "},
    {"\x1b[999;1~k", "k "},
    {"\x1bOM", "Enter "},
    {"\xff"
     "a\x9b"
     "b\xc3(c",
     "a b ( c "},
    {"\x1b]11;rgb:0/0/0\x1b\\q\x1b]0;q\aq", "q q "},
    {"\x1b[?1Aq\x1b[#9Qq\x1b[>0;1cq", "q q q "},
    {"\x1b[1;2;3;4;5;6;7;8;9;1;2;3;4;5;6;7;8Aq", "q "},
    {"\x1b[27~\x1b[u\x1b[27;5;99999999~q", "q "},
    {"\x1b[97;5u", "^A "},
    {"\x1b[1111111111111111111111111111111111111111111111111111111111~q", "q "},
    {"\x1b[M !!q", "mouse0/1@0,0 q "},
    {"\x1b[12\x1b[A", "Up "},
    {"\x1b[~q\x1b[1;2mq\x1b[27;1;55555~q", "q q q "},
};

static void test_bytes_to_keys(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        begin("xterm-256color");
        feed(rows[i].bytes, 1);
        if (strcmp(buf_text(&heard), rows[i].keys))
            fail_msg("row %zu: '%s', not '%s'", i, buf_text(&heard), rows[i].keys);
        assert_int_equal(keys_deadline_ns(keys), 0);
    }
}

/* A slow line: 20 ms from byte to byte. */
static void test_bytes_one_at_a_time(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t now = 1;
        begin("xterm-256color");
        for (const char *c = rows[i].bytes; *c; c++, now += 20 * MS) {
            keys_tick(keys, now);
            keys_feed(keys, c, 1, now);
        }
        if (strcmp(buf_text(&heard), rows[i].keys))
            fail_msg("row %zu: '%s', not '%s'", i, buf_text(&heard), rows[i].keys);
    }
}

static void test_lone_escape_waits_40_ms(void **state) {
    (void)state;
    feed("\x1b", 1000 * MS);
    assert_string_equal(buf_text(&heard), "");
    assert_int_equal(keys_deadline_ns(keys), 1040 * MS);
    keys_tick(keys, 1039 * MS);
    assert_string_equal(buf_text(&heard), "");
    keys_tick(keys, 1040 * MS);
    assert_string_equal(buf_text(&heard), "Esc ");
    assert_int_equal(keys_deadline_ns(keys), 0);
    feed("q", 1050 * MS);
    assert_string_equal(buf_text(&heard), "Esc q ");
}

static void test_late_byte_after_escape_is_its_own_key(void **state) {
    (void)state;
    feed("\x1b", 1000 * MS);
    feed("q", 1100 * MS);
    assert_string_equal(buf_text(&heard), "Esc q ");
}

/* The rest of a key that comes behind its ESC, byte by byte, as late as it may. */
static void test_rest_of_a_key_is_no_keys_of_its_own(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *keys;
    } late[] = {
        {"\x1b[A", "Esc Up "},
        {"\x1bOA", "Esc Up "},
        {"\x1b[1;5A", "Esc Ctrl-Up "},
        {"\x1b[<0;5;3M", "Esc mouse0/1@4,2 "},
        {"\x1b[5~", "Esc PgUp "},
        {"\x1b[15~A", "Esc F5 A "},
        {"\x1b[\x1b[A", "Esc [ Esc Up "},
        {"\x1b[", "Esc [ "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
        uint64_t now = 1000 * MS;
        begin("xterm");
        for (const char *c = late[i].bytes; *c; c++, now += 200 * MS) {
            keys_tick(keys, now);
            keys_feed(keys, c, 1, now);
        }
        keys_tick(keys, now + 300 * MS);
        if (strcmp(buf_text(&heard), late[i].keys))
            fail_msg("row %zu: '%s', not '%s'", i, buf_text(&heard), late[i].keys);
    }
    begin("xterm");
    feed("\x1b", 1000 * MS);
    feed("[A", 1300 * MS); /* nobody looked at the time meanwhile */
    assert_string_equal(buf_text(&heard), "Up ");
    begin("xterm");
    feed("\x1b", 1000 * MS);
    keys_tick(keys, 1040 * MS);
    feed("[A", 2040 * MS);
    assert_string_equal(buf_text(&heard), "Esc [ A ");
}

static void test_two_escapes(void **state) {
    (void)state;
    feed("\x1b\x1b", 1000 * MS);
    keys_tick(keys, 1040 * MS);
    assert_string_equal(buf_text(&heard), "Esc Esc ");
    begin("xterm");
    feed("\x1b\x1b\x1b\x1b", 2000 * MS);
    keys_tick(keys, 2040 * MS);
    assert_int_equal(keys_deadline_ns(keys), 0);
    feed("q", 2100 * MS);
    assert_non_null(strstr(buf_text(&heard), "Esc Esc Esc Esc q "));
}

static void test_cut_sequence_waits_longer(void **state) {
    (void)state;
    feed("\x1b[", 1000 * MS);
    keys_tick(keys, 1200 * MS);
    assert_string_equal(buf_text(&heard), "");
    feed("5", 1200 * MS);
    feed("~", 1400 * MS);
    assert_string_equal(buf_text(&heard), "PgUp ");
    feed("\x1b[", 2000 * MS);
    keys_tick(keys, 2300 * MS);
    assert_string_equal(buf_text(&heard), "PgUp Alt-[ ");
}

static void test_paste_is_bounded_and_ends(void **state) {
    (void)state;
    static char much[KEYS_PASTE_MAX + 100];
    memset(much, 'q', sizeof much);
    feed("\x1b[200~", MS);
    keys_feed(keys, much, sizeof much, MS);
    feed("\x1b[201~q", MS);
    assert_int_equal(strncmp(buf_text(&heard), "paste-cut(qqqqq", 15), 0);
    begin("xterm");
    feed("\x1b[200~never ends", 1000 * MS);
    keys_tick(keys, 2500 * MS);
    assert_string_equal(buf_text(&heard), "");
    keys_tick(keys, 3000 * MS);
    assert_string_equal(buf_text(&heard), "paste(never ends) ");
    feed("q", 3001 * MS);
    assert_string_equal(buf_text(&heard), "paste(never ends) q ");
}

static void test_other_terminals(void **state) {
    (void)state;
    static const struct {
        const char *term, *bytes, *keys;
    } terms[] = {
        {"linux", "\x1b[[A\x1b[[E\x1b[1~", "F1 F5 Home "},
        {"screen", "\x1bOP\x1b[15~\x1b[1~", "F1 F5 Home "},
        {"tmux", "\x1bOP\x1b[4~", "F1 End "},
        {"dumb", "q\x1b[A", "q Up "},
        {"no-such-terminal", "q\x1b[A", "q Up "},
        {NULL, "q\x1b[A", "q Up "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
        assert_int_equal(begin(terms[i].term), 0);
        feed(terms[i].bytes, 1);
        if (strcmp(buf_text(&heard), terms[i].keys))
            fail_msg("%s: '%s', not '%s'", terms[i].term, buf_text(&heard), terms[i].keys);
    }
}

static void test_endless_string_does_not_hold_keys(void **state) {
    (void)state;
    static char much[5000];
    memset(much, 'x', sizeof much);
    feed("\x1b]0;", MS);
    keys_feed(keys, much, sizeof much, MS);
    keys_tick(keys, 1000 * MS);
    buf_clear(&heard);
    feed("q", 2000 * MS);
    keys_tick(keys, 3000 * MS);
    assert_string_equal(buf_text(&heard), "q ");
}

static void test_string_that_never_ends_lets_control_keys_through(void **state) {
    (void)state;
    uint64_t now = MS;
    feed("\x1b]0;title", now);
    for (const char *c = "abc\rq\x1b]\x03q\x1bPx\x1b[Aq\x1b]0;t\x1b\\\\"; *c; c++, now += 20 * MS)
        keys_feed(keys, c, 1, now);
    assert_string_equal(buf_text(&heard), "Enter q Alt-] ^C q Up q \\ ");
}

static void test_random_bytes(void **state) {
    (void)state;
    static const char *const bits[] = {
        "\x1b", "[", "\x1b[", "\x1b[<", "200~",       "201~", "0;5;3M", "\x1b[M", "O",    "P",
        "]",    "?", "$y",    ";",      "9999999999", "R",    "~",      "q",      "\xe2", "\xff"};
    uint32_t seed = 17;
    uint64_t now = 1;
    for (int i = 0; i < 100000; i++) {
        seed = seed * 1664525 + 1013904223;
        char byte = (char)(seed >> 24);
        if (seed >> 23 & 1)
            keys_feed(keys, &byte, 1, now);
        else
            feed(bits[(seed >> 8) % ARRAY_SIZE(bits)], now);
        now += (seed >> 16 & 255) * MS;
        keys_tick(keys, now);
        buf_clear(&heard);
    }
    keys_tick(keys, now + 10000 * MS);
    feed("\x1b[201~", now + 20000 * MS);
    keys_tick(keys, now + 30000 * MS);
    buf_clear(&heard);
    feed("q", now + 40000 * MS);
    assert_string_equal(buf_text(&heard), "q ");
}

static void test_names_come_back(void **state) {
    (void)state;
    static const char *const names[] = {
        "m",  "A",     "@",         "Space",   "Enter", "Tab", "Esc", "F1",       "F12", "^L",
        "^C", "Alt-1", "Shift-Tab", "Ctrl-Up", "PgUp",  "é",   "^",   "Alt-PgDn", "-",   "F"};
    static const struct {
        const char *name, *same;
    } spellings[] = {{"Ctrl-L", "^L"},
                     {"ctrl-l", "^L"},
                     {"escape", "Esc"},
                     {"PageUp", "PgUp"},
                     {"space", "Space"}};
    static const char *const wrong[] = {"", "F0", "F99", "Foo", "ab", "Ctrl-", "\x01"};
    struct key key, other;
    char name[KEY_NAME_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_true(key_read(names[i], &key));
        key_name(&key, name);
        assert_string_equal(name, names[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        assert_true(key_read(spellings[i].name, &key) && key_read(spellings[i].same, &other));
        assert_true(is_same_key(&key, &other));
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) assert_false(key_read(wrong[i], &key));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_to_keys),
        TEST(test_bytes_one_at_a_time),
        TEST(test_lone_escape_waits_40_ms),
        TEST(test_late_byte_after_escape_is_its_own_key),
        TEST(test_rest_of_a_key_is_no_keys_of_its_own),
        TEST(test_two_escapes),
        TEST(test_cut_sequence_waits_longer),
        TEST(test_paste_is_bounded_and_ends),
        TEST(test_other_terminals),
        TEST(test_endless_string_does_not_hold_keys),
        TEST(test_string_that_never_ends_lets_control_keys_through),
        TEST(test_random_bytes),
        TEST(test_names_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
