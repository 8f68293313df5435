/* A sample screen from made-up data: to look at what the parts of tui/ draw, in a dump or on a real
 * terminal.
 *
 *   screen_demo [COLSxROWS] [--ranks N] [--ascii] [--blocks] [--theme NAME] [--svg] [--styles]
 * [--focus PLACE] [--zoom] [--live]
 *
 * --live takes the terminal: Tab and arrows move, / filters, z zooms, T changes the theme, + adds
 * steps, q leaves. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "tui/chart.h"
#include "tui/dump.h"
#include "tui/format.h"
#include "tui/keymap.h"
#include "tui/layout.h"
#include "tui/pieces.h"
#include "tui/table.h"
#include "tui/term.h"
#include "tui/text.h"
#include "tui/tty.h"
#include "engine/base/banned.h"

enum { STEPS_MAX = 600, RANKS_MAX = 4096, FIRST_STEP = 13 };

static const double ms = 1e6, s = 1e9, mb = 1024.0 * 1024;

/* ---- made-up data ---- */

struct setting_row {
    const char *name, *now, *next, *na;
};

static const struct setting_row settings[] = {
    {"scope", "whole", "", ""},
    {"backend", "inductor", "", ""},
    {"mode", "default", "", ""},
    {"fullgraph", "off", "", ""},
    {"dynamic", "auto", "on", ""},
    {"cudagraphs", "", "", "no CUDA device"},
    {"shape_padding", "", "", "no effect on CPU"},
};

struct rank_row {
    int rank, step, recompiles, breaks;
    double step_ns, ratio, compile_ns, memory, peak;
    const char *state;
};

struct event_row {
    int step;
    const char *ranks, *what, *text, *cost;
    unsigned style;
};

static const struct event_row events[] = {
    {-1, "", "!",
     "recompiles on the last batch of every epoch, 12.4 s so far: drop_last=True, or dynamic on "
     "(d)",
     "", STYLE_WARN},
    {412, "0,1", "recompile", "Net.forward train.py:41   size of x[0]: 32, now 8", "4.1 s",
     STYLE_PLAIN},
    {398, "0,1", "switch 3", "mode default to reduce-overhead: applied", "60 us",
     STYLE_MARK_SWITCH},
    {310, "1", "break", "train.py:57 print(loss): call to a builtin", "", STYLE_PLAIN},
    {204, "0,1", "recompile", "Net.forward train.py:41   size of x[0]: 32, now 8", "4.2 s",
     STYLE_PLAIN},
    {101, "0,1", "switch 2", "scope regional to whole: applied", "1.2 us", STYLE_MARK_SWITCH},
    {14, "0,1", "compile", "Net.forward train.py:41   first", "13.4 s", STYLE_MARK_COMPILE},
};

struct speedup_row {
    const char *label;
    struct interval interval;
    int pairs;
};

static const struct speedup_row speedups[] = {
    {"whole", {1.32, 1.34, 1.36}, 16},
    {"regional", {1.25, 1.29, 1.33}, 12},
    {"whole dynamic=on", {0.97, 0.99, 1.01}, 8},
};

struct demo {
    struct canvas *canvas;
    struct layout_wish wish;
    struct layout layout;
    struct table *settings, *ranks, *events;
    struct text *output;
    struct rank_row rank_rows[RANKS_MAX];
    double step_ns[STEPS_MAX], rank_ns[RANKS_MAX];
    uint16_t step_styles[STEPS_MAX];
    size_t step_count;
    enum chart_ink ink;
    bool has_filter_field;
    char field[64], problem[128];
};

static uint32_t seed = 4;

static double noise(double part) {
    seed = seed * 1664525 + 1013904223;
    return 1 + part * ((double)(seed >> 8) / (1 << 24) - 0.5);
}

static void add_step(struct demo *demo) {
    size_t i = demo->step_count;
    if (i == STEPS_MAX) return;
    double step = (i < 88 ? 38 : 31.6) * ms * noise(0.05);
    bool is_compile = i == 1 || i == 191 || i == 399;
    demo->step_ns[i] = is_compile ? 4.1 * s : i > 297 && i < 301 ? NAN : step;
    demo->step_styles[i] = is_compile ? STYLE_CHART_UNCLEAN
                           : i < 88   ? STYLE_CHART_OTHER
                                      : STYLE_CHART;
    demo->step_count++;
}

static void make_ranks(struct demo *demo, int count) {
    static const char *const states[] = {"training", "training", "training", "compiling", "lost"};
    for (int i = 0; i < count; i++) {
        bool is_odd = count > 8 && i % 97 == 41, is_lost = count > 8 && i == 200;
        double step = 31.9 * ms * noise(0.03) * (is_odd ? 1.7 : 1);
        demo->rank_rows[i] = (struct rank_row){
            i,
            412 - (is_lost ? 90 : 0),
            2,
            1,
            is_lost ? NAN : step,
            is_lost ? NAN : 1.34 * noise(0.02),
            13.4 * s * noise(0.05),
            612 * mb * noise(0.02),
            801 * mb * noise(0.02),
            states[is_lost           ? 4
                   : is_odd && i % 2 ? 3
                                     : 0],
        };
        demo->rank_ns[i] = demo->rank_rows[i].step_ns;
    }
}

static void make_output(struct demo *demo) {
    char line[128];
    for (int i = 0; i < 40; i++) {
        snprintf(line, sizeof line, "[rank0] \x1b[32mepoch %d\x1b[0m loss %.2f lr 3.0e-04\r\n",
                 i / 10, 2.9 - i * 0.02);
        text_feed(demo->output, line, strlen(line));
    }
    static const char bar[] =
        "epoch 4:  10%|\xe2\x96\x88         | 12/120\repoch 4:  "
        "47%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8b     | 56/120";
    text_feed(demo->output, bar, sizeof bar - 1);
}

/* ---- columns ---- */

static void put(struct table_cell *cell, const char *text, unsigned style) {
    snprintf(cell->text, sizeof cell->text, "%s", text);
    cell->style = style;
}

#define SHOW(function, type, expression, look)                                                     \
    static void function(const void *rows, size_t i, struct table_cell *cell) {                    \
        const struct type *row = &((const struct type *)rows)[i];                                  \
        put(cell, expression, look);                                                               \
    }
#define NUMBER(function, type, expression)                                                         \
    static double function(const void *rows, size_t i) {                                           \
        return ((const struct type *)rows)[i].expression;                                          \
    }

SHOW(show_name, setting_row, row->name, STYLE_PLAIN)
SHOW(show_next, setting_row, row->next, STYLE_STAGED)

static void show_now(const void *rows, size_t i, struct table_cell *cell) {
    const struct setting_row *row = &((const struct setting_row *)rows)[i];
    put(cell, row->now, STYLE_SETTING);
    if (*row->na) {
        snprintf(cell->text, sizeof cell->text, "n/a: %s", row->na);
        cell->style = STYLE_MISSING;
        cell->runs_on = true;
    }
}

static const struct table_column setting_columns[] = {
    {"setting", "Settings", "the setting", 15, 0, ALIGN_LEFT, false, 0, 0, show_name, NULL},
    {"now", "now", "in force", 14, 1, ALIGN_LEFT, false, 0, 0, show_now, NULL},
    {"next", "next", "staged", 8, 0, ALIGN_LEFT, false, 1, 0, show_next, NULL},
};

static void show_rank(const void *rows, size_t i, struct table_cell *cell) {
    snprintf(cell->text, sizeof cell->text, "%d", ((const struct rank_row *)rows)[i].rank);
}

static void show_speedup(const void *rows, size_t i, struct table_cell *cell) {
    double ratio = ((const struct rank_row *)rows)[i].ratio;
    put(cell, format_speedup(ratio, ratio - 0.02, ratio + 0.02, cell->ascii).text,
        isnan(ratio)   ? STYLE_MISSING
        : ratio > 1.01 ? STYLE_GOOD
                       : STYLE_PLAIN);
}

SHOW(show_step, rank_row, format_count(row->step).text, STYLE_PLAIN)
SHOW(show_ms, rank_row, format_ms(row->step_ns).text,
     isnan(row->step_ns)      ? STYLE_MISSING
     : row->step_ns > 40 * ms ? STYLE_WARN
                              : STYLE_PLAIN)
SHOW(show_compile, rank_row, format_duration(row->compile_ns).text, STYLE_PLAIN)
SHOW(show_recompiles, rank_row, format_count(row->recompiles).text, STYLE_PLAIN)
SHOW(show_breaks, rank_row, format_count(row->breaks).text, STYLE_PLAIN)
SHOW(show_memory, rank_row, format_bytes(row->memory).text, STYLE_PLAIN)
SHOW(show_peak, rank_row, format_bytes(row->peak).text, STYLE_PLAIN)
SHOW(show_state, rank_row, row->state,
     !strcmp(row->state, "lost")        ? STYLE_BAD
     : !strcmp(row->state, "compiling") ? STYLE_NOTE
                                        : STYLE_GOOD)
NUMBER(rank_number, rank_row, rank)
NUMBER(step_number, rank_row, step)
NUMBER(ms_number, rank_row, step_ns)
NUMBER(ratio_number, rank_row, ratio)
NUMBER(compile_number, rank_row, compile_ns)
NUMBER(recompiles_number, rank_row, recompiles)
NUMBER(breaks_number, rank_row, breaks)
NUMBER(memory_number, rank_row, memory)
NUMBER(peak_number, rank_row, peak)

static const struct table_column rank_columns[] = {
    {"rank", "Rank", "rank in its group", 4, 0, ALIGN_LEFT, false, 0, 0, show_rank, rank_number},
    {"step", "step", "steps done", 6, 0, ALIGN_RIGHT, true, 6, 0, show_step, step_number},
    {"ms", "ms", "median time of a clean step", 7, 0, ALIGN_RIGHT, true, 1, 1e6, show_ms,
     ms_number},
    {"speedup", "over eager", "time of eager over time now, 95 %", 12, 0, ALIGN_RIGHT, true, 2, 0,
     show_speedup, ratio_number},
    {"compile", "compile", "wall time in compilations", 8, 0, ALIGN_RIGHT, true, 3, 1e9,
     show_compile, compile_number},
    {"recompiles", "recomp", "compilations because a guard failed", 7, 0, ALIGN_RIGHT, true, 4, 0,
     show_recompiles, recompiles_number},
    {"breaks", "breaks", "places where the graph breaks", 7, 0, ALIGN_RIGHT, true, 5, 0,
     show_breaks, breaks_number},
    {"memory", "memory", "resident memory", 7, 0, ALIGN_RIGHT, true, 7, 0, show_memory,
     memory_number},
    {"peak", "peak", "largest resident memory", 7, 0, ALIGN_RIGHT, true, 8, 0, show_peak,
     peak_number},
    {"state", "state", "what it does", 9, 1, ALIGN_LEFT, false, 0, 0, show_state, NULL},
};

static void show_event_step(const void *rows, size_t i, struct table_cell *cell) {
    const struct event_row *row = &((const struct event_row *)rows)[i];
    cell->style = row->style;
    cell->runs_on = row->step < 0;
    if (row->step >= 0)
        snprintf(cell->text, sizeof cell->text, "%d", row->step);
    else
        snprintf(cell->text, sizeof cell->text, "! %s", row->text);
}

SHOW(show_event_ranks, event_row, row->ranks, STYLE_DIM)
SHOW(show_event_what, event_row, row->step >= 0 ? row->what : "finding", row->style)
SHOW(show_event_text, event_row, row->text, row->step >= 0 ? STYLE_PLAIN : row->style)
SHOW(show_event_cost, event_row, row->cost, STYLE_PLAIN)

static const struct table_column event_columns[] = {
    {"step", "step", "", 5, 0, ALIGN_RIGHT, true, 0, 0, show_event_step, NULL},
    {"ranks", "ranks", "", 5, 0, ALIGN_LEFT, false, 3, 0, show_event_ranks, NULL},
    {"what", "what", "", 9, 0, ALIGN_LEFT, false, 2, 0, show_event_what, NULL},
    {"text", "text", "", 20, 1, ALIGN_LEFT, false, 0, 0, show_event_text, NULL},
    {"cost", "cost", "", 7, 0, ALIGN_RIGHT, true, 1, 0, show_event_cost, NULL},
};

/* ---- panels ---- */

static bool has_focus(const struct demo *demo, enum place place) {
    return demo->wish.focus == place;
}

static struct area title(const struct demo *demo, struct area area, enum place place,
                         const char *text) {
    unsigned style = has_focus(demo, place) ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    area_fill(area_part(area, (struct rect){0, 0, area.at.width, 1}), style, " ");
    area_fit(area_part(area, (struct rect){1, 0, area.at.width - 1, 1}), ALIGN_LEFT, style, text);
    return area_shrink(area, 0, 1, 0, 0);
}

static void draw_header(const struct demo *demo, struct area area) {
    char ranks[32];
    snprintf(ranks, sizeof ranks, "ranks %d/%d", demo->wish.rank_count, demo->wish.rank_count);
    const struct piece pieces[] = {
        {" inductop", STYLE_HEADER_NAME, 3, false},
        {"train.py", STYLE_HEADER, 2, false},
        {"torchrun", STYLE_HEADER, 6, false},
        {ranks, STYLE_HEADER, 0, false},
        {"torch 2.13 cpu", STYLE_HEADER, 7, false},
        {"step 412", STYLE_HEADER, 1, false},
        {format_rate(31.24).text, STYLE_HEADER, 4, false},
        {"1.34x eager", STYLE_HEADER, 5, false},
        {" live ", STYLE_HEADER_LIVE, 0, true},
    };
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_HEADER, area);
}

static void draw_chart(const struct demo *demo, struct area area) {
    const struct chart_mark marks[] = {{1, CHART_MARK_COMPILE},
                                       {88, CHART_MARK_SWITCH},
                                       {191, CHART_MARK_COMPILE},
                                       {385, CHART_MARK_SWITCH},
                                       {399, CHART_MARK_COMPILE}};
    struct chart chart = {demo->step_ns, demo->step_count,  demo->step_styles, FIRST_STEP, ms,
                          marks,         ARRAY_SIZE(marks), demo->ink};
    unsigned style = has_focus(demo, PLACE_CHART) ? STYLE_TITLE_FOCUS : STYLE_TITLE;
    const struct piece pieces[] = {{" Step time, ms", style, 0, false},
                                   {"▲ switch  ● compile ", style, 1, true}};
    pieces_draw(pieces, ARRAY_SIZE(pieces), " ", style, area);
    chart_draw(&chart, area_shrink(area, 0, 1, 1, 0));
}

static void draw_speedup(const struct demo *demo, struct area area) {
    struct interval intervals[ARRAY_SIZE(speedups)];
    struct area body = title(demo, area, PLACE_SPEEDUP, "Speedup over eager, 95 %");
    for (size_t i = 0; i < ARRAY_SIZE(speedups); i++) intervals[i] = speedups[i].interval;
    struct interval_scale scale = interval_scale_of(intervals, ARRAY_SIZE(intervals), 1);
    int label = body.at.width > 40 ? 17 : 10, pairs_width = body.at.width > 45 ? 10 : 0,
        width = body.at.width - label - 8 - pairs_width;
    for (int i = 0; i < (int)ARRAY_SIZE(speedups) && i < body.at.height; i++) {
        char pairs[16];
        snprintf(pairs, sizeof pairs, "%2d pairs", speedups[i].pairs);
        area_fit(area_part(body, (struct rect){1, i, label - 1, 1}), ALIGN_LEFT, STYLE_PLAIN,
                 speedups[i].label);
        area_fit(area_part(body, (struct rect){label, i, 5, 1}), ALIGN_RIGHT, STYLE_STRONG,
                 format_ratio(speedups[i].interval.middle).text);
        interval_draw(&intervals[i], &scale,
                      area_part(body, (struct rect){label + 7, i, width, 1}));
        area_fit(area_part(body, (struct rect){body.at.width - pairs_width, i, pairs_width - 1, 1}),
                 ALIGN_RIGHT, STYLE_DIM, pairs);
    }
}

static void draw_staged(const struct demo *demo, struct area area) {
    if (demo->has_filter_field) {
        area_fill(area, STYLE_FIELD, " ");
        int x = area_text(area, 1, 0, STYLE_FIELD, "filter: ");
        x += area_text(area, 1 + x, 0, STYLE_FIELD, demo->field);
        area_cursor(area, 1 + x, 0);
        area_text(area, x + 3, 0, STYLE_FIELD, demo->problem);
        return;
    }
    const struct piece pieces[] = {
        {" 1 change staged: dynamic auto to on", STYLE_STAGED, 0, false},
        {"new variant, compiles (about 8 s)", STYLE_PLAIN, 1, false},
        {"A apply  x forget  u undo ", STYLE_DIM, 2, true},
    };
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_PLAIN, area);
}

static void draw_strip(const struct demo *demo, struct area area) {
    struct area body = title(
        demo, area, PLACE_STRIP,
        "Step time of every rank against the median: ▂ as most  ▄ 5 %  ▆ 15 %  █ 50 % slower");
    strip_draw(demo->rank_ns, (size_t)demo->wish.rank_count, area_shrink(body, 1, 0, 0, 0));
}

static void draw_cards(const struct demo *demo, struct area area) {
    int columns = area.at.width / 60 > 0 ? area.at.width / 60 : 1, width = area.at.width / columns;
    struct area body = title(demo, area, PLACE_RANKS, "Ranks");
    for (int i = 0; i < demo->wish.rank_count; i++) {
        const struct rank_row *row = &demo->rank_rows[i];
        struct area card =
            area_part(body, (struct rect){i % columns * width, i / columns * LAYOUT_CARD_HEIGHT,
                                          width, LAYOUT_CARD_HEIGHT});
        const struct part parts[] = {
            {1.2, STYLE_NOTE}, {11, STYLE_GOOD}, {17, STYLE_INTERVAL}, {2.7, STYLE_WARN}};
        area_printf(card, 1, 0, STYLE_STRONG, "rank %d", row->rank);
        area_printf(card, 9, 0, STYLE_GOOD, "%s", row->state);
        area_printf(card, 20, 0, STYLE_PLAIN, "%s ms   %s over eager", format_ms(row->step_ns).text,
                    format_speedup(row->ratio, row->ratio - .02, row->ratio + .02,
                                   is_canvas_ascii(area.canvas))
                        .text);
        parts_draw(parts, ARRAY_SIZE(parts), area_part(card, (struct rect){1, 1, width - 3, 1}));
        area_text(card, 1, 2, STYLE_DIM,
                  "data 1.2   forward 11.0   backward 17.0   optimizer 2.7 ms");
        area_printf(card, 1, 3, STYLE_PLAIN, "compile %s   %d recompiles   %d breaks   %s, peak %s",
                    format_duration(row->compile_ns).text, row->recompiles, row->breaks,
                    format_bytes(row->memory).text, format_bytes(row->peak).text);
    }
}

static void draw_output(const struct demo *demo, struct area area) {
    struct area body = title(demo, area, PLACE_OUTPUT, "Output");
    uint64_t end = text_end(demo->output),
             rows = (uint64_t)(body.at.height > 0 ? body.at.height : 0);
    uint64_t first = end - text_first(demo->output) > rows ? end - rows : text_first(demo->output);
    for (uint64_t i = first; i < end; i++)
        text_draw(demo->output, i, 0,
                  area_part(body, (struct rect){1, (int)(i - first), body.at.width - 1, 1}));
}

static void draw_footer(const struct demo *demo, struct area area) {
    struct footer_entry entries[FOOTER_ENTRIES_MAX];
    unsigned scopes = keymap_scopes(demo->has_filter_field               ? KEY_SCOPE_FIELD
                                    : demo->wish.focus == PLACE_SETTINGS ? KEY_SCOPE_SETTINGS
                                                                         : KEY_SCOPE_TABLE);
    size_t count = footer_make(entries, scopes, area.at.width - 2);
    area_fill(area, STYLE_PLAIN, " ");
    for (size_t i = 0; i < count; i++) {
        int x = 1 + entries[i].x, width = utf8_columns(entries[i].keys);
        area_text(area, x, 0, STYLE_KEY, entries[i].keys);
        area_text(area, x + width + 1, 0, STYLE_KEY_LABEL, entries[i].label);
    }
}

static void draw_place(struct demo *demo, enum place place, struct area area) {
    switch (place) {
    case PLACE_HEADER: draw_header(demo, area); break;
    case PLACE_SETTINGS: table_draw(demo->settings, area, has_focus(demo, place)); break;
    case PLACE_CHART: draw_chart(demo, area); break;
    case PLACE_SPEEDUP: draw_speedup(demo, area); break;
    case PLACE_STAGED: draw_staged(demo, area); break;
    case PLACE_STRIP: draw_strip(demo, area); break;
    case PLACE_RANKS:
        if (demo->layout.ranks_as == RANKS_AS_CARDS)
            draw_cards(demo, area);
        else
            table_draw(demo->ranks, area, has_focus(demo, place));
        break;
    case PLACE_FINDINGS: table_draw(demo->events, area, has_focus(demo, place)); break;
    case PLACE_OUTPUT: draw_output(demo, area); break;
    case PLACE_FOOTER: draw_footer(demo, area); break;
    default: break;
    }
}

static void draw(struct demo *demo) {
    canvas_clear(demo->canvas);
    demo->layout = layout_make(&demo->wish);
    struct area all = canvas_area(demo->canvas);
    for (int i = 0; i < PLACE_COUNT; i++)
        if (is_shown(&demo->layout, (enum place)i))
            draw_place(demo, (enum place)i, area_part(all, demo->layout.places[i]));
    for (int i = 0; i < demo->layout.divider_count; i++)
        area_vertical(area_part(all, demo->layout.dividers[i]), STYLE_BORDER);
}

/* ---- live ---- */

struct live {
    struct demo *demo;
    struct term *term;
    bool is_over;
};

static volatile sig_atomic_t was_resized, was_continued;

static void on_winch(int number) {
    if (number == SIGWINCH)
        was_resized = 1;
    else
        was_continued = 1;
}

static struct table *table_with_focus(struct demo *demo) {
    return demo->wish.focus == PLACE_SETTINGS   ? demo->settings
           : demo->wish.focus == PLACE_FINDINGS ? demo->events
                                                : demo->ranks;
}

static void edit_filter(struct demo *demo, const struct key *key) {
    size_t size = strlen(demo->field);
    struct err err = {.message = ""};
    if (key->kind == KEY_KIND_CHARACTER && size + 5 < sizeof demo->field)
        demo->field[size + utf8_write(demo->field + size, (uint32_t)key->code)] = 0;
    else if (key->kind == KEY_KIND_SYMBOL && key->code == KEY_SYMBOL_BACKSPACE && size > 0)
        demo->field[size - 1] = 0;
    else if (key->kind == KEY_KIND_SYMBOL &&
             (key->code == KEY_SYMBOL_ENTER || key->code == KEY_SYMBOL_ESCAPE))
        demo->has_filter_field = false;
    table_set_filter(table_with_focus(demo), demo->field, &err);
    snprintf(demo->problem, sizeof demo->problem, "%.120s", err.message);
}

static void run_action(struct live *live, enum action_id action) {
    struct demo *demo = live->demo;
    struct table *table = table_with_focus(demo);
    switch (action) {
    case ACTION_QUIT:
    case ACTION_INTERRUPT: live->is_over = true; break;
    case ACTION_UP: table_move(table, TABLE_UP); break;
    case ACTION_DOWN: table_move(table, TABLE_DOWN); break;
    case ACTION_PAGE_UP: table_move(table, TABLE_PAGE_UP); break;
    case ACTION_PAGE_DOWN: table_move(table, TABLE_PAGE_DOWN); break;
    case ACTION_HOME: table_move(table, TABLE_HOME); break;
    case ACTION_END: table_move(table, TABLE_END); break;
    case ACTION_SORT_NEXT: table_sort_next(table, 1); break;
    case ACTION_INVERT: table_invert(table); break;
    case ACTION_TAG: table_tag(table); break;
    case ACTION_NEXT_PANEL: demo->wish.focus = layout_next(&demo->wish, 1); break;
    case ACTION_PREVIOUS_PANEL: demo->wish.focus = layout_next(&demo->wish, -1); break;
    case ACTION_ZOOM:
        demo->wish.zoom = demo->wish.zoom == PLACE_COUNT ? demo->wish.focus : PLACE_COUNT;
        break;
    case ACTION_FILTER: demo->has_filter_field = true; break;
    case ACTION_THEME:
        term_set_theme(live->term, (enum theme)((term_theme(live->term) + 1) % THEME_COUNT));
        break;
    case ACTION_REDRAW: term_repaint(live->term); break;
    case ACTION_FASTER:
        for (int i = 0; i < 20; i++) add_step(demo);
        break;
    case ACTION_SUSPEND:
        term_suspend(live->term);
        raise(SIGSTOP);
        break;
    default: break;
    }
}

static void on_click(struct demo *demo, const struct key *key) {
    enum place place = layout_at(&demo->layout, key->x, key->y);
    struct rect at = place < PLACE_COUNT ? demo->layout.places[place] : (struct rect){0, 0, 0, 0};
    if (key->code != KEY_MOUSE_PRESS || place <= PLACE_HEADER || place >= PLACE_VIEW ||
        place == PLACE_STAGED || place == PLACE_STRIP)
        return;
    demo->wish.focus = place;
    table_click(table_with_focus(demo), key->x - at.x, key->y - at.y);
}

static void on_key(void *context, const struct key *key) {
    struct live *live = context;
    if (key->kind == KEY_KIND_MODE)
        term_mode_answer(live->term, key->code, key->value);
    else if (key->kind == KEY_KIND_POSITION)
        canvas_set_ascii(live->demo->canvas,
                         !term_position_answer(live->term, key->x) && is_term_ascii(live->term));
    else if (key->kind == KEY_KIND_MOUSE)
        on_click(live->demo, key);
    else if (live->demo->has_filter_field)
        edit_filter(live->demo, key);
    else {
        const struct binding *binding =
            keymap_find(key, keymap_scopes(KEY_SCOPE_TABLE) | 1u << KEY_SCOPE_REPLAY);
        if (binding) run_action(live, binding->action);
    }
}

static void resize(struct demo *demo, struct term *term) {
    term_resized(term);
    term_size(term, &demo->wish.width, &demo->wish.height);
    canvas_resize(demo->canvas, demo->wish.width, demo->wish.height);
}

static int wait_ms(const struct keys *keys) {
    uint64_t deadline = keys_deadline_ns(keys), now = clock_now_ns();
    return deadline == 0 ? 1000 : deadline <= now ? 0 : (int)((deadline - now) / 1000000 + 1);
}

static int run_live(struct demo *demo, const struct term_options *options) {
    struct err err = {0};
    struct keys *keys;
    struct live live = {.demo = demo};
    char bytes[4096];
    if (term_open(options, &live.term, &err) < 0)
        return fprintf(stderr, "screen_demo: %s\n%s\n", err.message, err.hint), 1;
    tty_guard();
    struct sigaction action = {.sa_handler = on_winch}; /* without SA_RESTART: poll() comes back */
    sigaction(SIGWINCH, &action, NULL);
    sigaction(SIGCONT, &action, NULL);
    keys_new(getenv("TERM"), on_key, &live, &keys, NULL);
    canvas_set_ascii(demo->canvas, is_term_ascii(live.term));
    resize(demo, live.term);
    while (!live.is_over) {
        if (was_continued) was_continued = 0, term_resume(live.term, NULL), was_resized = 1;
        if (was_resized) was_resized = 0, resize(demo, live.term);
        draw(demo);
        if (term_draw(live.term, demo->canvas, &err) < 0) break;
        struct pollfd ready = {.fd = term_fd(live.term),
                               .events =
                                   (short)(POLLIN | (term_wants_write(live.term) ? POLLOUT : 0))};
        poll(&ready, 1, wait_ms(keys));
        int count = ready.revents & (POLLIN | POLLHUP)
                        ? term_read(live.term, bytes, sizeof bytes, &err)
                        : 0;
        if (count < 0) break;
        keys_feed(keys, bytes, (size_t)count, clock_now_ns());
        keys_tick(keys, clock_now_ns());
        if (ready.revents & POLLOUT) term_flush(live.term, NULL);
    }
    struct term_counts counts = term_counts(live.term);
    keys_free(keys);
    term_close(live.term);
    fprintf(stderr, "%" PRIu64 " frames, %" PRIu64 " bytes, %" PRIu64 " replaced%s\n",
            counts.frames, counts.bytes, counts.replaced,
            counts.is_synchronised ? ", synchronised" : "");
    return 0;
}

/* ---- */

static struct demo *demo_new(int ranks) {
    static struct demo demo;
    demo.wish.rank_count = ranks;
    demo.settings = table_new(setting_columns, ARRAY_SIZE(setting_columns));
    demo.ranks = table_new(rank_columns, ARRAY_SIZE(rank_columns));
    demo.events = table_new(event_columns, ARRAY_SIZE(event_columns));
    demo.output = text_new(80, 24);
    table_set_title(demo.events, "Findings and events");
    make_ranks(&demo, ranks);
    make_output(&demo);
    for (int i = 0; i < 400; i++) add_step(&demo);
    table_update(demo.settings, &(struct table_source){settings, ARRAY_SIZE(settings), NULL});
    table_update(demo.ranks, &(struct table_source){demo.rank_rows, (size_t)ranks, NULL});
    table_update(demo.events, &(struct table_source){events, ARRAY_SIZE(events), NULL});
    return &demo;
}

static void dump(struct demo *demo, const char *how, enum theme theme) {
    struct buf out = BUF_INIT;
    draw(demo);
    if (!strcmp(how, "--svg"))
        dump_svg(&out, demo->canvas, theme);
    else
        dump_text(&out, demo->canvas);
    if (!strcmp(how, "--styles")) dump_styles(&out, demo->canvas);
    fputs(buf_text(&out), stdout);
    buf_done(&out);
}

int main(int argc, char **argv) {
    int width = 80, height = 24, ranks = 2;
    bool ascii = false, is_live = false, has_zoom = false;
    struct term_options options = {.theme = -1};
    enum chart_ink ink = CHART_BRAILLE;
    enum place focus = PLACE_SETTINGS;
    const char *how = "";
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "%dx%d", &width, &height) == 2) continue;
        if (!strcmp(argv[i], "--ranks") && i + 1 < argc)
            ranks = (int)strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--theme") && i + 1 < argc)
            options.theme = theme_find(argv[++i]);
        else if (!strcmp(argv[i], "--focus") && i + 1 < argc) {
            i++;
            for (int p = 0; p < PLACE_COUNT; p++)
                if (!strcmp(place_name((enum place)p), argv[i])) focus = (enum place)p;
        } else if (!strcmp(argv[i], "--ascii"))
            ascii = options.ascii = true;
        else if (!strcmp(argv[i], "--blocks"))
            ink = CHART_BLOCKS;
        else if (!strcmp(argv[i], "--zoom"))
            has_zoom = true;
        else if (!strcmp(argv[i], "--live"))
            is_live = true;
        else
            how = argv[i];
    }
    if (ranks < 0 || ranks > RANKS_MAX) ranks = RANKS_MAX;
    struct demo *demo = demo_new(ranks);
    demo->ink = ink;
    demo->wish = (struct layout_wish){width,
                                      height,
                                      ranks,
                                      ARRAY_SIZE(settings),
                                      ARRAY_SIZE(speedups),
                                      .focus = focus,
                                      .zoom = has_zoom ? focus : PLACE_COUNT};
    demo->canvas = canvas_new(width, height);
    canvas_set_ascii(demo->canvas, ascii);
    if (is_live) return run_live(demo, &options);
    dump(demo, how, options.theme < 0 ? THEME_DARK : (enum theme)options.theme);
    return 0;
}
