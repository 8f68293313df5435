/* Speedup over eager of every variant that was measured, with its interval, and over what else it
 * was compared with.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

enum { ROWS_MAX = 64 };

/* A row: a variant over eager, or over other settings. */
struct row {
    const struct snapshot_variant *variant;
    const struct snapshot_speedup *speedup;
    bool is_versus, is_second; /* second: of the variant of the row above */
};

static bool is_measured(const struct snapshot_variant *variant) {
    return variant->speedup.verdict && !variant->is_eager;
}

static unsigned style_of(const struct snapshot_speedup *speedup) {
    if (!speedup->has_ratio) return STYLE_DIM;
    return strcmp(speedup->verdict, "faster") == 0   ? STYLE_GOOD
           : strcmp(speedup->verdict, "slower") == 0 ? STYLE_BAD
                                                     : STYLE_PLAIN;
}

/* "measuring" stays when the interval was too wide to the end. */
static const char *verdict_of(const struct snapshot_speedup *speedup, bool is_measuring) {
    if (strcmp(speedup->verdict, "measuring") != 0) return speedup->verdict;
    return is_measuring ? "so far" : "unsure";
}

static bool is_measuring(const struct view *view) {
    const struct snapshot_switch *pending =
        view->group ? snapshot_pending(view->snapshot, view->group->key) : NULL;
    return pending && strcmp(pending->by, "baseline") == 0;
}

/* "regional", or "regional over whole"; below the row of regional " over whole". */
static void put_label(char *ret, size_t size, const struct view *view, const struct row *what) {
    const struct snapshot_variant *other =
        what->is_versus ? snapshot_variant(view->snapshot, what->speedup->against) : NULL;
    const char *label = what->variant->label ? what->variant->label : "-";
    snprintf(ret, size, "%.60s%s%.60s", what->is_second ? "" : label,
             what->is_versus ? " over " : "",
             !what->is_versus         ? ""
             : other && other->label ? other->label
                                     : "other settings");
}

static void put_tail(char *ret, size_t size, const struct snapshot_speedup *speedup, bool is_wide,
                     bool is_measuring) {
    bool is_tie = strcmp(speedup->verdict, "tie") == 0 && speedup->within >= 0;
    if (is_wide && is_tie)
        snprintf(ret, size, "tie within %.1f %%", 100 * speedup->within);
    else
        snprintf(ret, size, "%s %lld pairs", is_wide ? verdict_of(speedup, is_measuring) : "",
                 (long long)speedup->pairs);
}

static void draw_row(const struct view *view, const struct row *what,
                     const struct interval_scale *scale, struct area row) {
    bool is_current = view->group && view->group->has_variant &&
                      view->group->variant == what->variant->variant;
    const struct snapshot_speedup *speedup = what->speedup;
    int width = row.at.width, label = width >= 60 ? 26 : width >= 44 ? 18 : 14;
    char name[128], tail[48];
    put_label(name, sizeof name, view, what);
    put_tail(tail, sizeof tail, speedup, width >= 44, is_measuring(view));
    int tail_width = width >= 44 ? 16 : width >= 30 ? 9 : 0;
    area_text(row, 0, 0, STYLE_CURSOR_AWAY, is_current && !what->is_second ? "▸" : " ");
    area_fit(area_part(row, (struct rect){1, 0, label - 1, 1}), ALIGN_LEFT,
             is_current ? STYLE_STRONG : STYLE_PLAIN, name);
    area_fit(area_part(row, (struct rect){label + 1, 0, 4, 1}), ALIGN_RIGHT, style_of(speedup),
             speedup->has_ratio ? format_ratio(speedup->ratio).text : "-");
    int bar = width - label - 6 - tail_width - 1;
    if (speedup->has_ratio && bar > 3) {
        struct interval interval = {speedup->low, speedup->ratio, speedup->high};
        interval_draw(&interval, scale, area_part(row, (struct rect){label + 6, 0, bar, 1}));
    }
    area_fit(area_part(row, (struct rect){width - tail_width, 0, tail_width, 1}), ALIGN_RIGHT,
             STYLE_DIM, tail);
}

/* Newest first: what was just measured is what one looks for. */
static size_t collect(const struct view *view, struct row *ret) {
    size_t count = 0;
    for (size_t i = view->snapshot->variant_count; i-- > 0 && count + 2 <= ROWS_MAX;) {
        const struct snapshot_variant *variant = &view->snapshot->variants[i];
        bool has_both = is_measured(variant) && variant->versus.verdict;
        if (is_measured(variant))
            ret[count++] = (struct row){variant, &variant->speedup, false, false};
        if (variant->versus.verdict)
            ret[count++] = (struct row){variant, &variant->versus, true, has_both};
    }
    return count;
}

static struct interval_scale scale_of(const struct row *rows, size_t count) {
    struct interval intervals[ROWS_MAX];
    size_t with_ratio = 0;
    for (size_t i = 0; i < count; i++) {
        const struct snapshot_speedup *speedup = rows[i].speedup;
        if (speedup->has_ratio)
            intervals[with_ratio++] =
                (struct interval){speedup->low, speedup->ratio, speedup->high};
    }
    return interval_scale_of(intervals, with_ratio, 1);
}

/* What runs now and could be measured, but was not; NULL: nothing, or a tape, where nobody can. */
static const struct snapshot_variant *unmeasured(const struct view *view) {
    if (view->is_tape || !view->group || !view->group->has_variant) return NULL;
    const struct snapshot_variant *now = snapshot_variant(view->snapshot, view->group->variant);
    return now && !now->is_eager && !now->speedup.verdict ? now : NULL;
}

static void draw_unmeasured(const struct snapshot_variant *variant, struct area row) {
    char text[96];
    snprintf(text, sizeof text, "%.60s", variant->label ? variant->label : "");
    area_text(row, 0, 0, STYLE_CURSOR_AWAY, "▸");
    int x = 1 + area_text(row, 1, 0, STYLE_STRONG, text);
    area_text(row, x, 0, STYLE_DIM, "  not measured: b measures it");
}

/* When what runs now will have gained back its compiling; "": it gains nothing, or nobody knows. */
static void put_break_even(char *ret, size_t size, const struct view *view) {
    const struct snapshot_variant *now =
        view->group && view->group->has_variant
            ? snapshot_variant(view->snapshot, view->group->variant)
            : NULL;
    ret[0] = 0;
    if (!now || isnan(now->break_even)) return;
    if ((double)now->steps >= now->break_even)
        snprintf(ret, size, "compiling has paid");
    else
        snprintf(ret, size, "pays after %s steps", format_count(ceil(now->break_even)).text);
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    char even[64];
    struct row rows[ROWS_MAX];
    size_t count = collect(view, rows);
    (void)state;
    put_break_even(even, sizeof even, view);
    struct area body = view_title(area, has_focus, "Speedup over eager, 95 %", even);
    if (count == 0) {
        area_text(body, 1, 0, STYLE_DIM,
                  view->is_tape ? "not measured" : "not measured yet: b measures it");
        return;
    }
    const struct snapshot_variant *now = unmeasured(view);
    if (now) {
        draw_unmeasured(now, area_part(body, (struct rect){0, 0, body.at.width - 1, 1}));
        body = area_shrink(body, 0, 1, 0, 0);
    }
    struct interval_scale scale = scale_of(rows, count);
    for (int i = 0; i < (int)count && i < body.at.height; i++)
        draw_row(view, &rows[i], &scale,
                 area_part(body, (struct rect){0, i, body.at.width - 1, 1}));
}

static int rows(const struct view *view) {
    struct row found[ROWS_MAX];
    int count = (int)collect(view, found);
    count += count > 0 && unmeasured(view);
    return count ? count : 1;
}

const struct panel_class panel_speedup = {
    .name = "speedup",
    .title = "Speedup",
    .help = "speedup over eager, or over other settings, with its 95 % interval",
    .place = PLACE_SPEEDUP,
    .draw = draw,
    .rows = rows,
};
