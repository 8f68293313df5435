/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/layout.h"

#include "engine/base/attr.h"
#include "engine/base/banned.h"

enum {
    BESIDE_WIDTH = 76, /* from here the chart stands beside the settings */
    WIDE_WIDTH = 150,  /* from here three panels stand side by side above, two below */
    SETTINGS_WIDTH = 43,
    SETTINGS_WIDTH_MOST = 60,
    SPEEDUP_WIDTH = 48,
    UPPER_MOST = 16, /* rows of settings and chart, however tall the screen */
    TINY = 8,        /* rows under which what is staged may have no band of its own */
    TALL = 30,       /* rows from which a narrow screen gets a chart, and few ranks get cards */
    CARD_WIDTH = 60,
    CARD_RANKS_MOST = 4,
    STRIP_LABELS = 8,
    TITLE = 1
};

/* A band of the overview across the whole width. `order` says who gets what it wants first, `stays`
 * who is left out last. */
struct band {
    enum place place;
    int least, want, most, weight, order, stays;
    int height;
    bool is_out;
};

enum { BANDS_MAX = 8, NO_LIMIT = CANVAS_SIDE_MAX };

struct bands {
    struct band rows[BANDS_MAX];
    int count;
};

static int least_of(int a, int b) {
    return a < b ? a : b;
}

static int most_of(int a, int b) {
    return a > b ? a : b;
}

static bool is_hidden(const struct layout_wish *wish, enum place place) {
    return (wish->hidden >> place & 1) != 0;
}

static void add_band(struct bands *bands, struct band band) {
    if (band.want < band.least) band.want = band.least;
    if (band.most < band.want) band.most = band.want;
    bands->rows[bands->count++] = band;
}

/* ---- which bands there are and what they want ---- */

/* Settings, chart and speedup share the upper band; on a narrow screen one of them has it. */
static enum place upper_place(const struct layout_wish *wish) {
    bool is_beside = wish->width >= BESIDE_WIDTH;
    if (!is_beside && (wish->focus == PLACE_CHART || wish->focus == PLACE_SPEEDUP))
        return wish->focus;
    static const enum place order[] = {PLACE_SETTINGS, PLACE_CHART, PLACE_SPEEDUP};
    for (size_t i = 0; i < ARRAY_SIZE(order); i++)
        if (!is_hidden(wish, order[i])) return order[i];
    return PLACE_COUNT;
}

static void add_upper(struct bands *bands, const struct layout_wish *wish, int height) {
    enum place place = upper_place(wish);
    bool is_beside = wish->width >= BESIDE_WIDTH;
    if (place == PLACE_COUNT) return;
    int want = least_of(TITLE + wish->setting_count, most_of(8, height / 2));
    int most = is_beside ? most_of(want, least_of(height * 2 / 5, UPPER_MOST)) : want;
    add_band(bands, (struct band){place, 4, most_of(want, 6), most, 3, 0, 5});
    if (!is_beside && height >= TALL && place == PLACE_SETTINGS && !is_hidden(wish, PLACE_CHART))
        add_band(bands, (struct band){PLACE_CHART, 5, 8, height / 4, 2, 5, 0});
}

static int card_rows(const struct layout_wish *wish) {
    int in_row = most_of(1, wish->width / CARD_WIDTH);
    return (wish->rank_count + in_row - 1) / in_row;
}

static enum ranks_as ranks_as(const struct layout_wish *wish, int height) {
    if (wish->rank_count >= LAYOUT_STRIP_FROM) return RANKS_AS_STRIP;
    bool is_few =
        wish->rank_count > 0 && wish->rank_count <= CARD_RANKS_MOST && wish->width >= CARD_WIDTH;
    return is_few && height >= TALL + card_rows(wish) * LAYOUT_CARD_HEIGHT ? RANKS_AS_CARDS
                                                                           : RANKS_AS_ROWS;
}

static void add_ranks(struct bands *bands, const struct layout_wish *wish, int height) {
    int count = most_of(1, wish->rank_count);
    enum ranks_as as = ranks_as(wish, height);
    if (as == RANKS_AS_STRIP && !is_hidden(wish, PLACE_STRIP)) {
        int in_row = most_of(1, wish->width - STRIP_LABELS), rows = (count + in_row - 1) / in_row;
        int most = TITLE + least_of(rows, most_of(1, height / 8));
        add_band(bands, (struct band){PLACE_STRIP, TITLE + 1, most, most, 1, 1, 3});
    }
    if (is_hidden(wish, PLACE_RANKS)) return;
    int rows = as == RANKS_AS_CARDS ? card_rows(wish) * LAYOUT_CARD_HEIGHT : count;
    int enough = as == RANKS_AS_CARDS   ? rows
                 : as == RANKS_AS_STRIP ? most_of(3, height / 6)
                                        : most_of(4, height * 2 / 5);
    int want = TITLE + least_of(rows, enough);
    add_band(bands, (struct band){PLACE_RANKS, TITLE + 1, want, TITLE + rows, 3, 2, 6});
}

static bool is_lower_shared(const struct layout_wish *wish) {
    return wish->width >= WIDE_WIDTH && !is_hidden(wish, PLACE_FINDINGS) &&
           !is_hidden(wish, PLACE_OUTPUT);
}

static void add_lower(struct bands *bands, const struct layout_wish *wish) {
    if (is_lower_shared(wish)) {
        add_band(bands, (struct band){PLACE_FINDINGS, TITLE + 1, 6, NO_LIMIT, 4, 3, 2});
        return;
    }
    if (!is_hidden(wish, PLACE_FINDINGS))
        add_band(bands, (struct band){PLACE_FINDINGS, TITLE + 1, 4, NO_LIMIT, 2, 3, 2});
    if (!is_hidden(wish, PLACE_OUTPUT))
        add_band(bands, (struct band){PLACE_OUTPUT, TITLE + 1, 3, NO_LIMIT, 2, 4, 1});
}

/* ---- how many rows each gets ---- */

static bool has_focus(const struct band *band, const struct layout_wish *wish) {
    if (band->place == wish->focus) return true;
    bool is_beside = wish->width >= BESIDE_WIDTH;
    if (band->order == 0)
        return is_beside && (wish->focus == PLACE_CHART || wish->focus == PLACE_SPEEDUP);
    return band->place == PLACE_FINDINGS && wish->focus == PLACE_OUTPUT && is_lower_shared(wish);
}

static int sum_of_least(const struct bands *bands, int *ret_count) {
    int sum = 0, count = 0;
    for (int i = 0; i < bands->count; i++)
        if (!bands->rows[i].is_out) sum += bands->rows[i].least, count++;
    *ret_count = count;
    return sum;
}

/* Leaves out what matters least until the rest fits, but never the last. */
static void leave_out(struct bands *bands, const struct layout_wish *wish, int height) {
    for (int count; sum_of_least(bands, &count) > height && count > 1;) {
        struct band *weakest = NULL;
        for (int i = 0; i < bands->count; i++) {
            struct band *band = &bands->rows[i];
            if (band->is_out || has_focus(band, wish)) continue;
            if (!weakest || band->stays < weakest->stays) weakest = band;
        }
        weakest->is_out = true;
    }
}

static int grow(struct band *band, int to, int left) {
    int more = band->is_out ? 0 : least_of(left, most_of(0, to - band->height));
    band->height += more;
    return left - more;
}

/* The band that has the least of the rows beyond its wish, by weight. */
static struct band *neediest(struct bands *bands) {
    struct band *best = NULL;
    for (int i = 0; i < bands->count; i++) {
        struct band *band = &bands->rows[i];
        if (band->is_out || band->height >= band->most) continue;
        if (!best ||
            (band->height - band->want) * best->weight < (best->height - best->want) * band->weight)
            best = band;
    }
    return best;
}

static void share(struct bands *bands, int height) {
    int left = height;
    struct band *last = NULL, *band;
    for (int i = 0; i < bands->count; i++) {
        left = grow(&bands->rows[i], bands->rows[i].least, left);
        if (!bands->rows[i].is_out) last = &bands->rows[i];
    }
    for (int order = 0; order < BANDS_MAX; order++)
        for (int i = 0; i < bands->count; i++)
            if (bands->rows[i].order == order)
                left = grow(&bands->rows[i], bands->rows[i].want, left);
    while (left > 0 && (band = neediest(bands))) band->height++, left--;
    if (last) last->height += left;
}

/* ---- rectangles ---- */

static void divide(struct layout *layout, int x, int y, int height) {
    layout->dividers[layout->divider_count++] = (struct rect){x, y, 1, height};
}

/* Chart above speedup, or side by side; one alone when the other is off or there is no room for
 * both. */
static void place_charts(struct layout *layout, const struct layout_wish *wish, struct rect at) {
    bool has_chart = !is_hidden(wish, PLACE_CHART), has_speedup = !is_hidden(wish, PLACE_SPEEDUP);
    int below = most_of(3, least_of(TITLE + wish->speedup_count, at.height / 3));
    if (has_chart && has_speedup && wish->width >= WIDE_WIDTH) {
        int width = least_of(SPEEDUP_WIDTH, at.width / 2);
        layout->places[PLACE_CHART] = (struct rect){at.x, at.y, at.width - width - 1, at.height};
        divide(layout, at.x + at.width - width - 1, at.y, at.height);
        layout->places[PLACE_SPEEDUP] =
            (struct rect){at.x + at.width - width, at.y, width, at.height};
    } else if (has_chart && has_speedup && at.height >= below + 4) {
        layout->places[PLACE_CHART] = (struct rect){at.x, at.y, at.width, at.height - below};
        layout->places[PLACE_SPEEDUP] =
            (struct rect){at.x, at.y + at.height - below, at.width, below};
    } else {
        bool is_speedup = has_speedup && (!has_chart || wish->focus == PLACE_SPEEDUP);
        layout->places[is_speedup ? PLACE_SPEEDUP : PLACE_CHART] = at;
    }
}

static void place_upper(struct layout *layout, const struct layout_wish *wish, struct rect at) {
    bool has_charts = !is_hidden(wish, PLACE_CHART) || !is_hidden(wish, PLACE_SPEEDUP);
    enum place place = upper_place(wish);
    if (wish->width < BESIDE_WIDTH || (place == PLACE_SETTINGS && !has_charts)) {
        layout->places[place] = at;
        return;
    }
    if (place == PLACE_SETTINGS) {
        int width =
            least_of(SETTINGS_WIDTH + (wish->width - BESIDE_WIDTH) / 4, SETTINGS_WIDTH_MOST);
        layout->places[PLACE_SETTINGS] = (struct rect){0, at.y, width, at.height};
        divide(layout, width, at.y, at.height);
        at.x = width + 1;
        at.width -= at.x;
    }
    place_charts(layout, wish, at);
}

static void place_lower(struct layout *layout, const struct layout_wish *wish, struct rect at) {
    if (!is_lower_shared(wish)) {
        layout->places[PLACE_FINDINGS] = at;
        return;
    }
    int half = at.width / 2;
    layout->places[PLACE_FINDINGS] = (struct rect){0, at.y, half, at.height};
    divide(layout, half, at.y, at.height);
    layout->places[PLACE_OUTPUT] = (struct rect){half + 1, at.y, at.width - half - 1, at.height};
}

static void overview(struct layout *layout, const struct layout_wish *wish, struct rect body) {
    struct bands bands = {0};
    add_upper(&bands, wish, body.height);
    if (!is_hidden(wish, PLACE_STAGED))
        add_band(&bands, (struct band){PLACE_STAGED, 1, 1, 1, 1, 6, wish->has_staged ? 7 : 4});
    add_ranks(&bands, wish, body.height);
    add_lower(&bands, wish);
    leave_out(&bands, wish, body.height);
    share(&bands, body.height);
    layout->ranks_as = ranks_as(wish, body.height);
    for (int i = 0, y = body.y; i < bands.count; i++) {
        struct band *band = &bands.rows[i];
        struct rect at = {0, y, body.width, band->height};
        if (band->is_out || band->height == 0) continue;
        if (band->order == 0)
            place_upper(layout, wish, at);
        else if (band->place == PLACE_FINDINGS)
            place_lower(layout, wish, at);
        else
            layout->places[band->place] = at;
        y += band->height;
    }
}

/* A view and, beside or under it, more about its row: a third of the room, or what a short table leaves. */
static void view(struct layout *layout, const struct layout_wish *wish, struct rect body) {
    struct rect *detail = &layout->places[PLACE_DETAIL];
    if (wish->has_detail && body.width >= WIDE_WIDTH && body.height >= 3) {
        int width = body.width * 2 / 5;
        *detail = (struct rect){body.width - width, body.y, width, body.height};
        divide(layout, body.width - width - 1, body.y, body.height);
        body.width -= width + 1;
    } else if (wish->has_detail && body.height >= 12) {
        int left = least_of(body.height - (TITLE + 1 + wish->view_rows), body.height * 2 / 3);
        int height = most_of(5, most_of(left, body.height / 3));
        *detail = (struct rect){0, body.y + body.height - height, body.width, height};
        body.height -= height;
    }
    layout->places[PLACE_VIEW] = body;
}

static bool can_have_focus(enum place place) {
    return place == PLACE_SETTINGS || place == PLACE_CHART || place == PLACE_SPEEDUP ||
           place == PLACE_RANKS || place == PLACE_FINDINGS || place == PLACE_OUTPUT;
}

static bool can_zoom(enum place place) {
    return can_have_focus(place) || place == PLACE_STRIP || place == PLACE_DETAIL;
}

struct layout layout_make(const struct layout_wish *wish) {
    struct layout layout = {.ranks_as = RANKS_AS_ROWS};
    struct layout_wish ours = *wish;
    ours.width = most_of(1, least_of(wish->width, CANVAS_SIDE_MAX));
    ours.height = most_of(1, least_of(wish->height, CANVAS_SIDE_MAX));
    if (!can_have_focus(ours.focus))
        ours.focus = PLACE_COUNT;
    else
        ours.hidden &= ~(1u << ours.focus);
    struct rect body = {0, 1, ours.width, ours.height - (ours.height >= 3 ? 2 : 1)};
    layout.places[PLACE_HEADER] = (struct rect){0, 0, ours.width, 1};
    if (ours.height >= 3)
        layout.places[PLACE_FOOTER] = (struct rect){0, ours.height - 1, ours.width, 1};
    if (body.height < 1) return layout;
    bool is_whole = ours.has_view || can_zoom(ours.zoom);
    bool is_tiny = body.height >= 3 && body.height < TINY;
    if (ours.has_staged && (is_tiny || (is_whole && body.height >= 4))) {
        layout.places[PLACE_STAGED] = (struct rect){0, body.y + --body.height, ours.width, 1};
        ours.hidden |= 1u << PLACE_STAGED;
    }
    if (can_zoom(ours.zoom))
        layout.places[ours.zoom] = body;
    else if (ours.has_view)
        view(&layout, &ours, body);
    else
        overview(&layout, &ours, body);
    return layout;
}

/* ---- questions ---- */

bool is_shown(const struct layout *layout, enum place place) {
    return layout->places[place].width > 0;
}

enum place layout_at(const struct layout *layout, int x, int y) {
    for (int i = 0; i < PLACE_COUNT; i++)
        if (is_inside(layout->places[i], x, y)) return (enum place)i;
    return PLACE_COUNT;
}

enum place layout_next(const struct layout_wish *wish, int direction) {
    int at = wish->focus < PLACE_COUNT ? (int)wish->focus : direction > 0 ? -1 : PLACE_COUNT;
    for (int i = 0; i < PLACE_COUNT; i++) {
        at = (at + direction + PLACE_COUNT) % PLACE_COUNT;
        if (can_have_focus((enum place)at) && !is_hidden(wish, (enum place)at))
            return (enum place)at;
    }
    return wish->focus;
}

struct rect layout_dialog(int width, int height, int wish_width, int wish_height) {
    int w = most_of(1, least_of(wish_width, width)), h = most_of(1, least_of(wish_height, height));
    return (struct rect){most_of(0, (width - w) / 2), most_of(0, (height - h) / 2), w, h};
}

const char *place_name(enum place place) {
    static const char *const names[] = {"header", "settings", "chart",  "speedup",
                                        "staged", "strip",    "ranks",  "findings",
                                        "output", "view",     "detail", "footer"};
    _Static_assert(ARRAY_SIZE(names) == PLACE_COUNT, "a name for each place");
    return place < PLACE_COUNT ? names[place] : "none";
}
