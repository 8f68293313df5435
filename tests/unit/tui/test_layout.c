/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "engine/base/attr.h"
#include "tui/layout.h"
#include "engine/base/banned.h"

static struct layout_wish wish_of(int width, int height, int ranks) {
    return (struct layout_wish){
        width, height, ranks, 7, 3, .focus = PLACE_SETTINGS, .zoom = PLACE_COUNT};
}

static void fail_at(const struct layout_wish *wish, const char *what, enum place place) {
    fail_msg("%dx%d, %d ranks, focus %s, zoom %s, hidden %x, view %d: %s %s", wish->width,
             wish->height, wish->rank_count, place_name(wish->focus), place_name(wish->zoom),
             wish->hidden, wish->has_view, place_name(place), what);
}

/* Every cell belongs to one place or divider at most; each is inside and not empty. */
static unsigned char taken[CANVAS_SIDE_MAX][CANVAS_SIDE_MAX];

static void take(const struct layout_wish *wish, struct rect at, enum place place) {
    if (at.x < 0 || at.y < 0 || at.x + at.width > wish->width || at.y + at.height > wish->height)
        fail_at(wish, "leaves the screen", place);
    if (at.width <= 0 || at.height <= 0) fail_at(wish, "is empty", place);
    for (int y = at.y; y < at.y + at.height; y++)
        for (int x = at.x; x < at.x + at.width; x++)
            if (taken[y][x]++) fail_at(wish, "overlaps", place);
}

static bool is_there(struct rect at) {
    return at.width != 0 || at.height != 0;
}

/* The same by comparing sides, for the loops over many sizes. */
static bool do_meet(struct rect a, struct rect b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

static void check_quickly(const struct layout_wish *wish) {
    struct layout layout = layout_make(wish);
    struct rect all[PLACE_COUNT + LAYOUT_DIVIDERS_MAX];
    int count = 0, cells = 0;
    for (int i = 0; i < PLACE_COUNT; i++)
        if (is_there(layout.places[i])) all[count++] = layout.places[i];
    for (int i = 0; i < layout.divider_count; i++) all[count++] = layout.dividers[i];
    for (int i = 0; i < count; i++) {
        struct rect at = all[i];
        cells += at.width * at.height;
        if (at.x < 0 || at.y < 0 || at.width <= 0 || at.height <= 0 ||
            at.x + at.width > wish->width || at.y + at.height > wish->height)
            fail_at(wish, "is empty or leaves the screen", PLACE_COUNT);
        for (int j = 0; j < i; j++)
            if (do_meet(at, all[j])) fail_at(wish, "overlaps", PLACE_COUNT);
    }
    if (cells != wish->width * wish->height) fail_at(wish, "cells are left over", PLACE_COUNT);
    bool is_overview = !wish->has_view && wish->zoom == PLACE_COUNT && wish->height >= 2;
    if (is_overview && wish->focus < PLACE_COUNT && !is_shown(&layout, wish->focus))
        fail_at(wish, "has the focus and is not shown", wish->focus);
}

static const int rank_counts[] = {0, 1, 2, 3, 4, 5, 8, 16, 17, 64, 512, 4096};

static void test_all_sizes(void **state) {
    (void)state;
    for (int width = 1; width <= 300; width++)
        for (int height = 1; height <= 100; height++)
            for (size_t r = 0; r < ARRAY_SIZE(rank_counts); r++) {
                struct layout_wish wish = wish_of(width, height, rank_counts[r]);
                check_quickly(&wish);
            }
}

static void test_every_rank_count(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1},    {20, 5},   {40, 12},  {80, 24},
                                   {120, 40}, {200, 60}, {300, 100}};
    for (int ranks = 0; ranks <= 4096; ranks++)
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            struct layout_wish wish = wish_of(sizes[i][0], sizes[i][1], ranks);
            check_quickly(&wish);
        }
}

static const enum place focusable[] = {PLACE_SETTINGS, PLACE_CHART,    PLACE_SPEEDUP,
                                       PLACE_RANKS,    PLACE_FINDINGS, PLACE_OUTPUT};

static void test_every_wish(void **state) {
    (void)state;
    uint32_t seed = 11;
    for (int i = 0; i < 400000; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t a = seed >> 8;
        seed = seed * 1664525 + 1013904223;
        uint32_t b = seed >> 8;
        struct layout_wish wish = wish_of(1 + (int)(a % 300), 1 + (int)(b % 100),
                                          rank_counts[a / 300 % ARRAY_SIZE(rank_counts)]);
        wish.hidden = (b / 100) & ((1u << PLACE_COUNT) - 1);
        wish.focus = focusable[a / 4000 % ARRAY_SIZE(focusable)];
        wish.setting_count = (int)(b % 41);
        wish.speedup_count = (int)(a % 23);
        wish.has_view = b % 7 == 0;
        wish.has_detail = b % 2 == 0;
        wish.has_staged = a % 2 == 0;
        if (b % 11 == 0) wish.zoom = focusable[a % ARRAY_SIZE(focusable)];
        check_quickly(&wish);
    }
}

static void test_cell_by_cell(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1},   {2, 3},    {20, 5},   {75, 40},  {76, 24},
                                   {80, 24}, {120, 40}, {149, 50}, {150, 50}, {200, 60}};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct layout_wish wish = wish_of(sizes[i][0], sizes[i][1], 2);
        struct layout layout = layout_make(&wish);
        memset(taken, 0, sizeof taken);
        for (int p = 0; p < PLACE_COUNT; p++)
            if (is_there(layout.places[p])) take(&wish, layout.places[p], (enum place)p);
        for (int d = 0; d < layout.divider_count; d++) take(&wish, layout.dividers[d], PLACE_COUNT);
    }
}

/* Height of each place, 0: not shown. */
static const struct {
    int width, height, ranks;
    enum place focus;
    int heights[PLACE_COUNT];
} shapes[] = {
    {80, 24, 2, PLACE_SETTINGS, {1, 8, 5, 3, 1, 0, 3, 6, 4, 0, 0, 1}},
    {80, 24, 8, PLACE_SETTINGS, {1, 8, 5, 3, 1, 0, 9, 2, 2, 0, 0, 1}},
    {80, 24, 512, PLACE_SETTINGS, {1, 8, 5, 3, 1, 3, 4, 4, 2, 0, 0, 1}},
    {20, 5, 2, PLACE_RANKS, {1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1}},
    {20, 5, 2, PLACE_SETTINGS, {1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {20, 5, 2, PLACE_CHART, {1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {80, 2, 2, PLACE_OUTPUT, {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}},
    {80, 1, 2, PLACE_OUTPUT, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {60, 24, 2, PLACE_SETTINGS, {1, 8, 0, 0, 1, 0, 3, 6, 4, 0, 0, 1}},
};

static void test_shapes(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct layout_wish wish = wish_of(shapes[i].width, shapes[i].height, shapes[i].ranks);
        wish.focus = shapes[i].focus;
        struct layout layout = layout_make(&wish);
        for (int p = 0; p < PLACE_COUNT; p++)
            if (layout.places[p].height != shapes[i].heights[p])
                fail_msg("shape %zu: %s has %d rows, not %d", i, place_name((enum place)p),
                         layout.places[p].height, shapes[i].heights[p]);
    }
}

static void test_ranks_as(void **state) {
    (void)state;
    static const struct {
        int width, height, ranks;
        enum ranks_as as;
    } rows[] = {
        {80, 24, 1, RANKS_AS_ROWS},    {200, 60, 1, RANKS_AS_CARDS}, {200, 60, 4, RANKS_AS_CARDS},
        {200, 60, 5, RANKS_AS_ROWS},   {200, 60, 16, RANKS_AS_ROWS}, {200, 60, 17, RANKS_AS_STRIP},
        {20, 5, 4096, RANKS_AS_STRIP}, {200, 60, 0, RANKS_AS_ROWS},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct layout_wish wish = wish_of(rows[i].width, rows[i].height, rows[i].ranks);
        assert_int_equal(layout_make(&wish).ranks_as, rows[i].as);
    }
}

static void test_zoom_and_view_have_the_middle(void **state) {
    (void)state;
    struct layout_wish wish = wish_of(80, 24, 2);
    wish.zoom = PLACE_OUTPUT;
    struct layout layout = layout_make(&wish);
    assert_int_equal(layout.places[PLACE_OUTPUT].height, 22);
    assert_false(is_shown(&layout, PLACE_RANKS));
    wish.zoom = PLACE_COUNT;
    wish.has_view = wish.has_detail = wish.has_staged = true;
    layout = layout_make(&wish);
    assert_int_equal(layout.places[PLACE_VIEW].height + layout.places[PLACE_DETAIL].height, 21);
    assert_int_equal(layout.places[PLACE_STAGED].y, 22);
}

static void test_tab_reaches_every_place(void **state) {
    (void)state;
    struct layout_wish wish = wish_of(20, 5, 2);
    unsigned seen = 0;
    for (size_t i = 0; i < ARRAY_SIZE(focusable); i++) {
        wish.focus = layout_next(&wish, 1);
        seen |= 1u << wish.focus;
        struct layout_wish back = wish;
        back.focus = layout_next(&back, -1);
        assert_int_equal(layout_next(&back, 1), wish.focus);
    }
    for (size_t i = 0; i < ARRAY_SIZE(focusable); i++) assert_true(seen >> focusable[i] & 1);
    wish.hidden = 1u << PLACE_CHART;
    wish.focus = PLACE_SETTINGS;
    assert_int_equal(layout_next(&wish, 1), PLACE_SPEEDUP);
}

static void test_place_under_the_mouse(void **state) {
    (void)state;
    struct layout_wish wish = wish_of(80, 24, 2);
    struct layout layout = layout_make(&wish);
    assert_int_equal(layout_at(&layout, 0, 0), PLACE_HEADER);
    assert_int_equal(layout_at(&layout, 79, 23), PLACE_FOOTER);
    assert_int_equal(layout_at(&layout, 5, 3), PLACE_SETTINGS);
    assert_int_equal(layout_at(&layout, 79, 2), PLACE_CHART);
    assert_int_equal(layout_at(&layout, layout.dividers[0].x, 2), PLACE_COUNT);
    assert_int_equal(layout_at(&layout, -1, 99), PLACE_COUNT);
}

static void test_dialog_fits(void **state) {
    (void)state;
    for (int w = 1; w < 100; w++)
        for (int h = 1; h < 40; h++) {
            struct rect at = layout_dialog(w, h, 60, 10);
            assert_true(at.x >= 0 && at.y >= 0 && at.width > 0 && at.height > 0 &&
                        at.x + at.width <= w && at.y + at.height <= h);
        }
}

/* However small the screen, what one has just staged, or is told, has a row. */
static void test_staged_is_seen_on_small_screens(void **state) {
    (void)state;
    for (int width = 1; width <= 80; width += 13)
        for (int height = 5; height <= 24; height++)
            for (size_t i = 0; i < ARRAY_SIZE(focusable); i++) {
                struct layout_wish wish = wish_of(width, height, 2);
                wish.has_staged = true;
                wish.focus = focusable[i];
                struct layout layout = layout_make(&wish);
                if (!is_shown(&layout, PLACE_STAGED)) fail_at(&wish, "is missing", PLACE_STAGED);
            }
}

static double us_of(int ranks) {
    struct timespec from, to;
    enum { ROUNDS = 2000 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < ROUNDS; i++) {
        struct layout_wish wish = wish_of(300 - i % 3, 100, ranks);
        layout_make(&wish);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    return s * 1e6 / ROUNDS;
}

/* What it takes does not grow with the ranks. */
static void test_is_quick(void **state) {
    (void)state;
    us_of(1);
    double few = us_of(1), many = us_of(4096);
    print_message("a layout of 300x100: %.2f us with 1 rank, %.2f us with 4096\n", few, many);
    assert_true(many < 20 * few);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_every_rank_count),
        cmocka_unit_test(test_every_wish),
        cmocka_unit_test(test_cell_by_cell),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ranks_as),
        cmocka_unit_test(test_tab_reaches_every_place),
        cmocka_unit_test(test_zoom_and_view_have_the_middle),
        cmocka_unit_test(test_place_under_the_mouse),
        cmocka_unit_test(test_dialog_fits),
        cmocka_unit_test(test_staged_is_seen_on_small_screens),
        cmocka_unit_test(test_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
