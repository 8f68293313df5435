/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/base/attr.h"
#include "tui/dump.h"
#include "tui/filter.h"
#include "tui/format.h"
#include "tui/table.h"
#include "engine/base/banned.h"

struct row {
    int rank;
    double ms, bytes;
    const char *state;
};

static int shown; /* texts made so far */

static void show_rank(const void *rows, size_t row, struct table_cell *cell) {
    shown++;
    snprintf(cell->text, sizeof cell->text, "%d", ((const struct row *)rows)[row].rank);
}

static double rank_number(const void *rows, size_t row) {
    return ((const struct row *)rows)[row].rank;
}

static void show_ms(const void *rows, size_t row, struct table_cell *cell) {
    snprintf(cell->text, sizeof cell->text, "%s",
             format_ms(((const struct row *)rows)[row].ms * 1e6).text);
}

static double ms_number(const void *rows, size_t row) {
    return ((const struct row *)rows)[row].ms * 1e6;
}

static void show_memory(const void *rows, size_t row, struct table_cell *cell) {
    snprintf(cell->text, sizeof cell->text, "%s",
             format_bytes(((const struct row *)rows)[row].bytes).text);
}

static double memory_number(const void *rows, size_t row) {
    return ((const struct row *)rows)[row].bytes;
}

static void show_memory_or_why(const void *rows, size_t row, struct table_cell *cell) {
    show_memory(rows, row, cell);
    if (!isnan(((const struct row *)rows)[row].bytes)) return;
    snprintf(cell->text, sizeof cell->text, "n/a: the rank is lost");
    cell->runs_on = true;
}

static void show_state(const void *rows, size_t row, struct table_cell *cell) {
    snprintf(cell->text, sizeof cell->text, "%s", ((const struct row *)rows)[row].state);
}

static const struct table_column columns[] = {
    {"rank", "Rank", "number", 4, 0, ALIGN_LEFT, false, 0, 0, show_rank, rank_number},
    {"ms", "ms", "step time", 6, 0, ALIGN_RIGHT, true, 1, 1e6, show_ms, ms_number},
    {"memory", "memory", "resident", 7, 0, ALIGN_RIGHT, true, 2, 0, show_memory, memory_number},
    {"state", "state", "what it does", 8, 1, ALIGN_LEFT, false, 3, 0, show_state, NULL},
};

#define MB (1024.0 * 1024)
static const struct row rows[] = {
    {0, 31.9, 612 * MB, "training"}, {1, 32.1, 608 * MB, "training"},  {2, NAN, NAN, "lost"},
    {3, 55.0, 700 * MB, "training"}, {4, 31.9, 100 * MB, "compiling"},
};

static uint64_t id_of(const void *data, size_t row) {
    return (uint64_t)((const struct row *)data)[row].rank + 100;
}

static struct table *table;
static struct canvas *canvas;

static void update(const struct row *data, size_t count) {
    table_update(table, &(struct table_source){data, count, id_of});
}

static int set_up(void **state) {
    (void)state;
    table = table_new(columns, ARRAY_SIZE(columns));
    canvas = canvas_new(40, 6);
    update(rows, ARRAY_SIZE(rows));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    table = table_free(table);
    canvas = canvas_free(canvas);
    return 0;
}

static void expect(const char *text) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    canvas_clear(canvas);
    table_draw(table, canvas_area(canvas), true);
    dump_text(&out, canvas);
    assert_string_equal(buf_text(&out), text);
}

/* The ranks in the order shown, as text. */
static void expect_order(const char *wanted) {
    char text[64] = "";
    size_t at = 0, row;
    uint64_t before = table_cursor_id(table);
    table_move(table, TABLE_HOME);
    for (size_t i = 0; i < table_count(table); i++, table_move(table, TABLE_DOWN)) {
        assert_true(table_cursor(table, &row));
        at += (size_t)snprintf(text + at, sizeof text - at, "%zu", row);
    }
    assert_string_equal(text, wanted);
    table_go(table, before);
}

static void test_draws_columns(void **state) {
    (void)state;
    expect(" Rank     ms  memory state\n"
           "▸0      31.9  612 MB training\n"
           " 1      32.1  608 MB training\n"
           " 2         -       - lost\n"
           " 3      55.0  700 MB training\n"
           " 4      31.9  100 MB compiling\n");
}

static void test_narrow_leaves_columns_out(void **state) {
    (void)state;
    canvas_resize(canvas, 21, 4);
    expect(" Rank     ms  memory\n▸0      31.9  612 MB▐\n 1      32.1  608 MB\n 2         -       "
           "-\n");
    canvas_resize(canvas, 5, 3);
    expect(" Rank\n▸0  ▐\n 1\n");
    for (int width = 1; width < 50; width++)
        for (int height = 1; height < 8; height++) {
            canvas_resize(canvas, width, height);
            table_draw(table, canvas_area(canvas), false);
        }
}

static void test_a_column_can_be_left_out_until_something_is_told(void **state) {
    (void)state;
    struct table_column late[ARRAY_SIZE(columns)];
    memcpy(late, columns, sizeof late);
    late[2].if_told = true;
    table_free(table);
    table = table_new(late, ARRAY_SIZE(late));
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    update(rows + 2, 1);
    table_row_text(table, &text);
    assert_string_equal(buf_text(&text), "2  -  lost");
    expect(" Rank     ms state\n▸2         - lost\n\n\n\n\n");
    update(rows + 2, 2);
    expect(" Rank     ms  memory state\n"
           "▸2         -       - lost\n"
           " 3      55.0  700 MB training\n\n\n\n");
    table = table_free(table);
}

static void test_sorts_missing_last(void **state) {
    (void)state;
    table_sort(table, 1, true);
    expect_order("31042");
    table_invert(table);
    expect_order("04132");
    table_sort(table, 3, false);
    expect_order("42013");
    table_sort(table, 3, true);
    expect_order("01324");
    table_sort(table, TABLE_UNSORTED, false);
    expect_order("01234");
}

static void test_sort_walks_over_columns(void **state) {
    (void)state;
    table_sort_next(table, 1);
    assert_int_equal(table_sort_column(table), 0);
    table_sort_next(table, 1);
    assert_true(table_sort_column(table) == 1 && is_table_descending(table));
    for (int i = 0; i < 3; i++) table_sort_next(table, 1);
    assert_int_equal(table_sort_column(table), TABLE_UNSORTED);
    table_sort_next(table, -1);
    assert_int_equal(table_sort_column(table), 3);
}

static const struct {
    const char *text, *order;
} filters[] = {
    {"", "01234"},
    {"train", "013"},
    {"TRAIN", "013"},
    {"!train", "24"},
    {"ms > 40", "3"},
    {"ms>32", "13"},
    {"ms >= 55", "3"},
    {"ms<32", "04"},
    {"ms<=31.9 state=training", "0"},
    {"memory > 605M", "013"},
    {"memory > 605 MB", "013"},
    {"memory<605MB", "4"},
    {"rank<2 | lost", "012"},
    {"rank < 2 or state = lost", "012"},
    {"rank<2 and ms>32", "1"},
    {"state != training", "24"},
    {"state~pil", "4"},
    {"!state~pil", "0123"},
    {"ms != 55", "0124"},
    {"\"training\"", "013"},
    {"\"a | b\"", ""},
    {"rank=3", "3"},
    {"!!lost", "2"},
    {"|", "01234"},
    {"ms > 0.03s", "0134"},
    {"ms > 0.05s", "3"},
    {"and", "01234"},
    {"state = \"lost\"", "2"},
};

static void test_filters(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        assert_int_equal(table_set_filter(table, filters[i].text, NULL), 0);
        assert_string_equal(table_filter(table), filters[i].text);
        expect_order(filters[i].order);
    }
}

static const struct {
    const char *text, *message, *hint;
} wrong[] = {
    {"rnk > 3", "filter: there is no column 'rnk'", "Did you mean 'rank'?"},
    {"banana=3", "filter: there is no column 'banana'",
     "To look for such a text, put it in double quotes."},
    {"ms > fast", "filter: 'fast' is no figure to compare 'ms' with", ""},
    {"ms >", "filter: nothing to compare 'ms' with", ""},
    {"> 3", "filter: a name is missing before '> 3'", ""},
};

static void test_wrong_filter_says_why_and_changes_nothing(void **state) {
    (void)state;
    table_set_filter(table, "lost", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct err err = {0};
        assert_true(table_set_filter(table, wrong[i].text, &err) < 0);
        assert_string_equal(err.message, wrong[i].message);
        assert_string_equal(err.hint, wrong[i].hint);
        assert_string_equal(table_filter(table), "lost");
    }
}

static void test_any_filter_text_ends(void **state) {
    (void)state;
    static const char letters[] = "rank ms<>=!~|\"0 1M and or";
    uint32_t seed = 5;
    for (int i = 0; i < 20000; i++) {
        char text[24];
        for (size_t j = 0; j + 1 < sizeof text; j++) {
            seed = seed * 1664525 + 1013904223;
            text[j] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        text[sizeof text - 1] = 0;
        table_set_filter(table, text, NULL);
    }
}

static void test_cursor_goes_with_its_row(void **state) {
    (void)state;
    size_t row;
    table_move(table, TABLE_DOWN);
    table_move(table, TABLE_DOWN);
    table_move(table, TABLE_DOWN); /* rank 3 */
    table_sort(table, 1, true);
    assert_true(table_cursor(table, &row));
    assert_int_equal(rows[row].rank, 3);
    table_set_filter(table, "lost", NULL); /* its row goes away and comes back */
    assert_int_equal(table_cursor_id(table), 102);
    table_set_filter(table, "", NULL);
    table_cursor(table, &row);
    assert_int_equal(rows[row].rank, 3);
}

static void test_cursor_at_the_top_stays_there(void **state) {
    (void)state;
    size_t row;
    static const struct row swapped[] = {{7, 1, 1, "new"}, {0, 31.9, 612 * MB, "training"}};
    update(swapped, 2);
    table_cursor(table, &row);
    assert_int_equal(swapped[row].rank, 7);
    update(rows, ARRAY_SIZE(rows));
    table_set_follow(table, true);
    update(swapped, 2);
    table_cursor(table, &row);
    assert_int_equal(swapped[row].rank, 0);
}

static void test_tail_stays_at_the_end(void **state) {
    (void)state;
    size_t row;
    table_set_tail(table, true);
    table_move(table, TABLE_END);
    update(rows, 3);
    table_cursor(table, &row);
    assert_int_equal(row, 2);
    update(rows, 5);
    table_cursor(table, &row);
    assert_int_equal(row, 4);
    table_move(table, TABLE_UP);
    update(rows, 5);
    table_cursor(table, &row);
    assert_int_equal(row, 3);
}

static void test_moves_and_scrolls(void **state) {
    (void)state;
    static struct row many[4096];
    for (int i = 0; i < 4096; i++) many[i] = (struct row){i, 30 + i % 7, i * MB, "training"};
    update(many, 4096);
    canvas_resize(canvas, 24, 4);
    expect(" Rank     ms  memory\n▸0      30.0     0 B   ▐\n 1      31.0  1.0 MB\n 2      32.0  "
           "2.0 MB\n");
    table_move(table, TABLE_PAGE_DOWN);
    table_move(table, TABLE_PAGE_DOWN);
    expect(" Rank     ms  memory\n 2      32.0  2.0 MB   ▐\n 3      33.0  3.0 MB\n▸4      34.0  "
           "4.0 MB\n");
    table_move(table, TABLE_END);
    table_move(table, TABLE_DOWN);
    expect(" Rank     ms  memory\n 4093   35.0  4.0 GB\n 4094   36.0  4.0 GB\n▸4095   30.0  4.0 GB "
           "  ▐\n");
    table_move(table, TABLE_PAGE_UP);
    table_move(table, TABLE_HOME);
    table_move(table, TABLE_UP);
    size_t row;
    table_cursor(table, &row);
    assert_int_equal(row, 0);
}

static void test_only_rows_in_sight_become_text(void **state) {
    (void)state;
    static struct row many[4096];
    for (int i = 0; i < 4096; i++) many[i] = (struct row){i, 30 + i % 7, i * MB, "training"};
    shown = 0;
    update(many, 4096);
    table_sort(table, 1, true);
    table_set_filter(table, "ms > 32", NULL);
    table_draw(table, canvas_area(canvas), true);
    assert_int_equal(shown, 5);
}

static void test_tags(void **state) {
    (void)state;
    table_tag(table);
    table_tag(table);
    assert_int_equal(table_tag_count(table), 2);
    assert_true(is_tagged(table, 100) && is_tagged(table, 101) && !is_tagged(table, 102));
    table_move(table, TABLE_HOME);
    table_tag(table);
    assert_false(is_tagged(table, 100));
    canvas_resize(canvas, 24, 4);
    expect(" Rank     ms  memory\n 0      31.9  612 MB   ▐\n*1      32.1  608 MB\n 2         -     "
           "  -\n");
    table_untag(table);
    assert_int_equal(table_tag_count(table), 0);
}

static void test_click(void **state) {
    (void)state;
    size_t row;
    table_draw(table, canvas_area(canvas), true);
    assert_int_equal(table_click(table, 3, 4), TABLE_HIT_ROW);
    table_cursor(table, &row);
    assert_int_equal(row, 3);
    assert_int_equal(table_click(table, 10, 0), TABLE_HIT_TITLE);
    assert_true(table_sort_column(table) == 1 && is_table_descending(table));
    assert_int_equal(table_click(table, 10, 0), TABLE_HIT_TITLE);
    assert_false(is_table_descending(table));
    assert_int_equal(table_click(table, 3, 9), TABLE_HIT_NONE);
    assert_int_equal(table_click(table, -1, 2), TABLE_HIT_NONE);
}

static void test_text_runs_on(void **state) {
    (void)state;
    static const struct table_column two[] = {
        {"rank", "Rank", "", 4, 0, ALIGN_LEFT, false, 0, 0, show_rank, rank_number},
        {"memory", "memory", "", 7, 0, ALIGN_RIGHT, true, 0, 0, show_memory_or_why, memory_number},
        {"state", "state", "", 8, 0, ALIGN_LEFT, false, 0, 0, show_state, NULL},
    };
    table_free(table);
    table = table_new(two, ARRAY_SIZE(two));
    update(rows, 3);
    canvas_resize(canvas, 25, 4);
    expect(" Rank  memory state\n▸0     612 MB training\n 1     608 MB training\n 2    n/a: the "
           "rank is l…\n");
}

static void test_empty_says_so(void **state) {
    (void)state;
    table_set_empty(table, "no rank yet");
    update(rows, 0);
    size_t row;
    assert_false(table_cursor(table, &row));
    expect(" Rank     ms  memory state\n no rank yet\n\n\n\n\n");
    table_tag(table);
    table_move(table, TABLE_DOWN);
    table_move(table, TABLE_END);
    update(rows, 5);
    table_set_title(table, "Ranks");
    table_set_filter(table, "nosuch", NULL);
    expect(" Ranks\n nothing passes the filter (/ changes\n it)\n\n\n\n");
}

static void test_sort_sign_and_ascii(void **state) {
    (void)state;
    canvas_resize(canvas, 30, 2);
    table_sort(table, 1, true);
    expect(" Rank    ms▼  memory state\n▸3      55.0  700 MB training▐\n");
    canvas_set_ascii(canvas, true);
    expect(" Rank    msv  memory state\n>3      55.0  700 MB training#\n");
}

/* A second of rows in well under a second: what matters is that nothing is quadratic. */
static void test_many_rows_are_quick(void **state) {
    (void)state;
    static struct row many[100000];
    struct timespec from, to;
    for (int i = 0; i < 100000; i++)
        many[i] = (struct row){i, (i * 7919) % 1000, i * MB, "training"};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    table_sort(table, 1, true);
    update(many, 100000);
    table_draw(table, canvas_area(canvas), true);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_true((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9 < 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_draws_columns),
        TEST(test_narrow_leaves_columns_out),
        TEST(test_a_column_can_be_left_out_until_something_is_told),
        TEST(test_sorts_missing_last),
        TEST(test_sort_walks_over_columns),
        TEST(test_filters),
        TEST(test_wrong_filter_says_why_and_changes_nothing),
        TEST(test_any_filter_text_ends),
        TEST(test_cursor_goes_with_its_row),
        TEST(test_cursor_at_the_top_stays_there),
        TEST(test_tail_stays_at_the_end),
        TEST(test_moves_and_scrolls),
        TEST(test_only_rows_in_sight_become_text),
        TEST(test_tags),
        TEST(test_click),
        TEST(test_text_runs_on),
        TEST(test_empty_says_so),
        TEST(test_sort_sign_and_ascii),
        TEST(test_many_rows_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
