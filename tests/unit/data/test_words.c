/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/rank_set.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

static const struct {
    const char *cause, *words, *text; /* of the event; what is said */
} causes[] = {
    {"0/0: tensor 'x' size mismatch at index 0. expected 8, actual 6", "size of x[0]: 8, now 6",
     "size of x[0]: 8, now 6"},
    {NULL, "defined anew", "defined anew"},
    {"1:2/3: tensor 'L['x']' size mismatch at index 12. expected 8, actual 6", NULL,
     "tensor 'x' size mismatch at index 12. expected 8, actual 6"},
    {"0/0: L['n'] == 3\nmore", NULL, "n == 3"},
    {"0/0: len(L['xs']) == L['n']", NULL, "len(xs) == n"},
    {"something else", NULL, "something else"},
    {"L['open", NULL, "L['open"},
    {"", NULL, ""},
    {"0/0: ", NULL, ""},
    {NULL, NULL, NULL},
};

static void test_causes_in_plain_words(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
        struct event event = event_make(EVENT_COMPILE, 0, "{s:s?, s:s?}", "cause", causes[i].cause,
                                        "words", causes[i].words);
        char *text = words_of_cause(&event);
        if (causes[i].text)
            assert_string_equal(text, causes[i].text);
        else
            assert_null(text);
        free(text);
        event_done(&event);
    }
}

static void check_change(const char *from, const char *to, const char *wanted) {
    json_t *a = from ? json_loads(from, 0, NULL) : NULL, *b = to ? json_loads(to, 0, NULL) : NULL;
    char *words = words_of_change(a, b);
    assert_string_equal(words, wanted);
    free(words);
    json_decref(a);
    json_decref(b);
}

static void test_changes(void **state) {
    (void)state;
    check_change("{}", "{\"dynamic\":\"on\"}", "dynamic as written to on");
    check_change("{\"dynamic\":\"on\",\"mode\":\"x\"}", "{\"mode\":\"y\"}",
                 "mode x to y, dynamic on to as written");
    check_change("{\"mode\":\"x\"}", "{\"mode\":\"x\"}", "");
    check_change(NULL, "{\"mode\":\"x\"}", "mode as written to x");
    check_change(NULL, NULL, "");
}

static const struct {
    const char *event, *text;
} speedups[] = {
    {"{'verdict':'measuring','pairs':3}", "over whole: cannot be told, too few clean pairs (3)"},
    {"{'ratio':1.344,'low':1.32,'high':1.366,'pairs':6,'within':0.366,'verdict':'faster','break_even':120}",
     "1.34 over whole (95 %: 1.32 to 1.37, 6 pairs), faster; pays after 120 steps"},
    {"{'ratio':1.002,'low':0.995,'high':1.009,'pairs':10,'within':0.009,'verdict':'tie'}",
     "1.00 over whole (95 %: 0.99 to 1.01, 10 pairs), tie: no difference larger than 0.9 %"},
    {"{'ratio':0.9,'low':0.85,'high':0.95,'pairs':6,'within':0.17,'verdict':'slower','phases':"
     "{'forward':{'ratio':0.8,'low':0.7,'high':0.9},'backward':{'ratio':1.01,'low':1,'high':1.1}}}",
     "0.90 over whole (95 %: 0.85 to 0.95, 6 pairs), slower; forward 0.80 (0.70 to 0.90)"},
    {"{'ratio':1.0,'low':0.9,'high':1.1,'pairs':16,'within':0.1,'verdict':'measuring'}",
     "1.00 over whole (95 %: 0.90 to 1.10, 16 pairs), cannot be told"},
};

static void test_speedups_in_plain_words(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(speedups); i++) {
        char *json = mem_strdup(speedups[i].event);
        for (char *at = json; *at; at++)
            if (*at == '\'') *at = '"';
        struct event event = {.kind = EVENT_SPEEDUP, .body = json_loads(json, 0, NULL)};
        char *text = words_of_speedup(&event, "whole");
        assert_string_equal(text, speedups[i].text);
        free(text);
        free(json);
        event_done(&event);
    }
}

static void test_numbers_go(void **state) {
    (void)state;
    char *text = words_without_numbers("a1b 22, 3.5");
    assert_string_equal(text, "a#b #, #.#");
    free(text);
}

static const struct {
    const char *ranks, *text;
    size_t count;
} sets[] = {
    {"", "", 0},
    {"0", "0", 1},
    {"1,0", "0,1", 2},
    {"0-3", "0-3", 4},
    {"5,4,3", "3-5", 3},
    {"0,1,3", "0,1,3", 3},
    {"7-9,0-511", "0-511", 512},
    {"3,x,4", "3", 1},
    {"2-1", "", 0},
    {"9999999999", "", 0},
    {"1,1", "1", 1},
};

static void test_sets_of_ranks(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        struct rank_set set = {0};
        rank_set_parse(&set, sets[i].ranks);
        struct rank_set copy = rank_set_dup(&set);
        rank_set_done(&set);
        char *text = rank_set_text(&copy);
        assert_string_equal(text, sets[i].text);
        assert_int_equal(copy.count, sets[i].count);
        free(text);
        rank_set_done(&copy);
    }
    struct rank_set set = {0};
    assert_int_equal(rank_set_first(&set), -1);
    assert_false(rank_set_add(&set, -1));
    assert_false(rank_set_add(&set, RANKS_MOST));
    assert_true(rank_set_add(&set, 300));
    assert_false(rank_set_add(&set, 300));
    assert_true(rank_set_has(&set, 300) && !rank_set_has(&set, 301) && !rank_set_has(&set, 9999));
    assert_int_equal(rank_set_first(&set), 300);
    rank_set_done(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes_in_plain_words),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_speedups_in_plain_words),
        cmocka_unit_test(test_numbers_go),
        cmocka_unit_test(test_sets_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
