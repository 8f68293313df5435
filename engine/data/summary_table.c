/* The summary as a table for people.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/metrics.h"
#include "engine/base/banned.h"

enum { TEXT_SIZE = 64, RANKS_SHOWN = 12, SWITCHES_SHOWN = 24, WIDTH_LEAST = 48, SWITCH_FIXED = 40 };

/* ---- what a cell says ---- */

struct cell {
    const struct store *store;
    size_t rank, use;
};

static void print_rank(const struct cell *cell, char *ret) {
    snprintf(ret, TEXT_SIZE, "%d", store_rank(cell->store, cell->rank)->rank);
}

static const struct store_use *use_in(const struct cell *cell) {
    return store_use(cell->store, cell->rank, cell->use);
}

static void print_steps(const struct cell *cell, char *ret) {
    metric_print(METRIC_STEPS, (double)use_in(cell)->steps, ret);
}

static void print_median(const struct cell *cell, char *ret) {
    metric_print(METRIC_STEP_MS, store_use_median_ms(cell->store, cell->rank, cell->use), ret);
}

/* Never a ratio without its interval. */
static void print_speedup(const struct cell *cell, char *ret) {
    const struct store_speedup *speedup = &use_in(cell)->speedup;
    char ratio[METRIC_TEXT_SIZE], low[METRIC_TEXT_SIZE], high[METRIC_TEXT_SIZE];
    metric_print(METRIC_SPEEDUP, speedup->has_ratio ? speedup->ratio : NAN, ratio);
    metric_print(METRIC_SPEEDUP, speedup->low, low);
    metric_print(METRIC_SPEEDUP, speedup->high, high);
    if (speedup->has_ratio)
        snprintf(ret, TEXT_SIZE, " %.12s (%.12s-%.12s)", ratio, low, high);
    else
        snprintf(ret, TEXT_SIZE, " -");
}

static void print_compile(const struct cell *cell, char *ret) {
    const struct store_use *use = use_in(cell);
    metric_print(METRIC_COMPILE_S, use->compiles ? use->compile_s : NAN, ret);
}

static void print_recompiles(const struct cell *cell, char *ret) {
    metric_print(METRIC_RECOMPILES, (double)use_in(cell)->recompiles, ret);
}

static void print_breaks(const struct cell *cell, char *ret) {
    metric_print(METRIC_BREAKS, (double)use_in(cell)->breaks, ret);
}

static void print_peak(const struct cell *cell, char *ret) {
    const struct store_use *use = use_in(cell);
    metric_print(METRIC_RSS_PEAK, use->has_peak_rss ? (double)use->peak_rss : NAN, ret);
}

static void print_torch_peak(const struct cell *cell, char *ret) {
    metric_print(METRIC_TORCH_PEAK, memory_peak(&use_in(cell)->peaks), ret);
}

static void print_memory_over_eager(const struct cell *cell, char *ret) {
    metric_print(METRIC_MEMORY_OVER_EAGER,
                 store_use_memory_over_eager(cell->store, cell->rank, cell->use), ret);
}

static const struct column {
    const char *title;
    int width; /* negative: to the left, as printf has it */
    int need;  /* the lowest go first when there is no room; 0: never */
    void (*print)(const struct cell *cell, char *ret);
} columns[] = {
    {"rank", 4, 0, print_rank},        {"steps", 6, 0, print_steps},
    {"ms/step", 7, 0, print_median},   {" over eager, 95 %", -18, 7, print_speedup},
    {"compile", 8, 6, print_compile},  {"recomp", 6, 4, print_recompiles},
    {"breaks", 6, 3, print_breaks},    {"peak", 7, 5, print_peak},
    {"torch", 7, 2, print_torch_peak}, {"of eager", 8, 1, print_memory_over_eager},
};

static int room_of(const struct column *column) {
    return 1 + abs(column->width);
}

/* Columns with a need above the result fit, those with 0 always stay. */
static int least_need(int width) {
    int used = 0, need = 0;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) used += room_of(&columns[i]);
    while (used > width && need < (int)ARRAY_SIZE(columns)) {
        need++;
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
            if (columns[i].need == need) used -= room_of(&columns[i]);
    }
    return need;
}

static bool is_shown(const struct column *column, int need) {
    return column->need == 0 || column->need > need;
}

/* ---- lines ---- */

/* Bytes of `text` that are `width` characters or less. */
static size_t clip(const char *text, int width) {
    size_t i = 0;
    for (int count = 0; text[i]; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80 && ++count > width) break;
    }
    return i;
}

static int characters(const char *text) {
    int count = 0;
    for (size_t i = 0; text[i]; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Control characters, those of two bytes too (U+0080 to U+009F), would reach the terminal. */
static char *cleaned(const char *name) {
    char *copy = mem_strdup(name);
    size_t size = 0;
    for (size_t i = 0; name[i]; i++) {
        unsigned char c = (unsigned char)name[i], next = (unsigned char)name[i + 1];
        bool is_pair = c == 0xc2 && next >= 0x80 && next < 0xa0;
        copy[size++] = is_pair || c < ' ' || c == 0x7f ? '?' : name[i];
        i += is_pair;
    }
    copy[size] = 0;
    return copy;
}

/* A name that came from the job, at most `width` wide; padded to it on request. */
static void add_name(struct buf *buf, const char *name, int width, bool padded) {
    CLEANUP(cleanup_free) char *clean = cleaned(name);
    int count = characters(clean);
    bool is_cut = count > width;
    size_t size = clip(clean, is_cut ? width - 3 : width);
    buf_printf(buf, "%.*s%s%*s", (int)size, clean, is_cut ? "..." : "",
               padded && !is_cut ? width - count : 0, "");
}

/* Ends a line without the blanks at its end. */
static void end_line(struct buf *buf) {
    while (buf->size && buf->data[buf->size - 1] == ' ') buf->size--;
    buf_puts(buf, "\n");
}

static void add_head(struct buf *buf, int need) {
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        if (is_shown(&columns[i], need))
            buf_printf(buf, " %*s", columns[i].width, columns[i].title);
    end_line(buf);
}

static void add_row(struct buf *buf, const struct cell *cell, int need) {
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        char text[TEXT_SIZE];
        if (!is_shown(&columns[i], need)) continue;
        columns[i].print(cell, text);
        buf_printf(buf, " %*s", columns[i].width, text);
    }
    end_line(buf);
}

/* ---- the ranks: by group, in it by variant, in it by number ---- */

struct page {
    const struct store *store;
    struct buf *buf;
    int width, need;
    size_t *order; /* processes by rank number */
    size_t count;
};

static bool find_use(const struct page *page, size_t rank, uint32_t variant, struct cell *ret) {
    for (size_t j = 0; j < store_rank(page->store, rank)->use_count; j++)
        if (store_use(page->store, rank, j)->variant == variant) {
            *ret = (struct cell){page->store, rank, j};
            return true;
        }
    return false;
}

static void add_rest(const struct page *page, size_t more, double least, double most) {
    char low[METRIC_TEXT_SIZE], high[METRIC_TEXT_SIZE];
    if (!more) return;
    buf_printf(page->buf, "  ... and %zu more, median ms %s to %s\n", more,
               metric_print(METRIC_STEP_MS, least, low), metric_print(METRIC_STEP_MS, most, high));
}

static void add_variant(const struct page *page, const char *group, uint32_t variant) {
    size_t rows = 0;
    double least = NAN, most = NAN;
    add_name(page->buf, store_variant_label(page->store, variant), page->width, false);
    end_line(page->buf);
    for (size_t i = 0; i < page->count; i++) {
        struct cell cell;
        size_t rank = page->order[i];
        if (strcmp(store_rank(page->store, rank)->group, group) != 0) continue;
        if (!find_use(page, rank, variant, &cell)) continue;
        if (rows++ < RANKS_SHOWN) {
            add_row(page->buf, &cell, page->need);
            continue;
        }
        double median = store_use_median_ms(page->store, rank, cell.use);
        least = fmin(least, median);
        most = fmax(most, median);
    }
    add_rest(page, rows > RANKS_SHOWN ? rows - RANKS_SHOWN : 0, least, most);
}

/* Whether an earlier rank of the group, or an earlier use of this one, has the variant too. */
static bool is_seen(const struct page *page, size_t i, size_t use, uint32_t variant) {
    size_t rank = page->order[i];
    struct cell cell;
    if (find_use(page, rank, variant, &cell) && cell.use < use) return true;
    for (size_t k = 0; k < i; k++) {
        bool is_same = strcmp(store_rank(page->store, page->order[k])->group,
                              store_rank(page->store, rank)->group) == 0;
        if (is_same && find_use(page, page->order[k], variant, &cell)) return true;
    }
    return false;
}

static void add_group(const struct page *page, size_t first) {
    const char *group = store_rank(page->store, page->order[first])->group;
    for (size_t i = first; i < page->count; i++) {
        const struct store_rank *rank = store_rank(page->store, page->order[i]);
        if (strcmp(rank->group, group) != 0) continue;
        for (size_t j = 0; j < rank->use_count; j++) {
            uint32_t variant = store_use(page->store, page->order[i], j)->variant;
            if (!is_seen(page, i, j, variant)) add_variant(page, group, variant);
        }
    }
}

static bool is_first_of_group(const struct page *page, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(store_rank(page->store, page->order[k])->group,
                   store_rank(page->store, page->order[i])->group) == 0)
            return false;
    return true;
}

static void add_ranks(const struct page *page) {
    size_t groups = 0;
    for (size_t i = 0; i < page->count; i++) groups += is_first_of_group(page, i);
    if (!page->count) {
        buf_puts(page->buf, "no rank was seen\n");
        return;
    }
    add_head(page->buf, page->need);
    for (size_t i = 0; i < page->count; i++) {
        if (!is_first_of_group(page, i)) continue;
        if (groups > 1) {
            buf_puts(page->buf, "group ");
            add_name(page->buf, store_rank(page->store, page->order[i])->group, page->width - 6,
                     false);
            end_line(page->buf);
        }
        add_group(page, i);
    }
}

/* ---- switches and losses ---- */

static void settings_text(json_t *settings, struct buf *ret) {
    const char *key;
    json_t *value;
    if (!json_object_size(settings)) buf_puts(ret, settings ? "as written" : "-");
    json_object_foreach(settings, key, value) {
        const char *text = json_string_value(value);
        buf_printf(ret, "%s%s=%s", ret->size ? " " : "", key, text ? text : "");
    }
}

static void add_switch(const struct page *page, size_t i) {
    const struct switch_facts *facts = store_switch(page->store, i);
    struct buf text = BUF_INIT;
    char at[TEXT_SIZE] = "-";
    if (facts->has_at) snprintf(at, sizeof at, "%lld", (long long)facts->at);
    settings_text(facts->to, &text);
    buf_printf(page->buf, " %6lld  %-9.9s", (long long)facts->id, facts->by);
    add_name(page->buf, buf_text(&text), page->width - SWITCH_FIXED, true);
    buf_printf(page->buf, " %8s  %s\n", at,
               switch_status_name(store_switch_status(page->store, i)));
    buf_done(&text);
}

static void add_switches(const struct page *page) {
    size_t count = 0, before = 0;
    for (size_t i = 0; i < store_switch_count(page->store); i++)
        count += !store_switch(page->store, i)->is_tried_again;
    if (!count) return;
    buf_printf(page->buf, "\n %6s  %-9s%-*s %8s  %s\n", "switch", "by", page->width - SWITCH_FIXED,
               "to", "at step", "status");
    size_t left_out = count > SWITCHES_SHOWN ? count - SWITCHES_SHOWN : 0;
    if (left_out) buf_printf(page->buf, "  ... %zu before\n", left_out);
    for (size_t i = 0; i < store_switch_count(page->store); i++)
        if (!store_switch(page->store, i)->is_tried_again && before++ >= left_out)
            add_switch(page, i);
}

/* What was found, and what to do about it, on lines of the table's width. */
static void add_sentence(const struct page *page, const char *head, const char *text) {
    CLEANUP(cleanup_free) char *clean = cleaned(text);
    int indent = characters(head), room = page->width - indent - 1;
    buf_puts(page->buf, head);
    for (const char *at = clean; *at;) {
        size_t size = clip(at, room);
        if (at[size])
            for (size_t back = size; back > 0; back--)
                if (at[back] == ' ') {
                    size = back;
                    break;
                }
        buf_printf(page->buf, "%.*s\n", (int)size, at);
        at += size;
        while (*at == ' ') at++;
        if (*at) buf_printf(page->buf, "%*s", indent, "");
    }
}

static void add_findings(const struct page *page) {
    json_t *findings = store_findings(page->store), *finding;
    size_t i;
    if (json_array_size(findings)) buf_puts(page->buf, "\n");
    json_array_foreach(findings, i, finding) {
        const char *text = json_string_value(json_object_get(finding, "text"));
        const char *action = json_string_value(json_object_get(finding, "action"));
        add_sentence(page, "found:  ", text ? text : "");
        if (action) add_sentence(page, "     -> ", action);
    }
    json_decref(findings);
}

static void add_drops(const struct page *page) {
    static const char *const names[STORE_LOSS_COUNT] = {[LOSS_STEPS] = "step records",
                                                        [LOSS_EVENTS] = "events",
                                                        [LOSS_BAD] =
                                                            "events that could not be read"};
    bool is_any = false;
    buf_puts(page->buf, "\ndropped:");
    for (int i = 0; i < STORE_LOSS_COUNT; i++) {
        uint64_t lost = store_dropped_total(page->store, (enum store_loss)i);
        if (lost)
            buf_printf(page->buf, "%s %llu %s", is_any ? "," : "", (unsigned long long)lost,
                       names[i]);
        is_any |= lost > 0;
    }
    buf_puts(page->buf, is_any ? "\n" : " nothing\n");
}

static int by_number(const void *a, const void *b, void *store) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int number = store_rank(store, x)->rank, other = store_rank(store, y)->rank;
    return number != other ? (number > other) - (number < other) : (x > y) - (x < y);
}

void summary_table(const struct store *store, struct buf *buf, int width) {
    if (width < WIDTH_LEAST) width = WIDTH_LEAST;
    CLEANUP(cleanup_free) size_t *order = mem_array(store_rank_count(store), sizeof order[0]);
    struct page page = {store, buf, width, least_need(width), order, 0};
    for (size_t i = 0; i < store_rank_count(store); i++)
        if (store_rank_is_shown(store, i)) order[page.count++] = i;
    qsort_r(order, page.count, sizeof order[0], by_number, (void *)store);
    add_ranks(&page);
    add_switches(&page);
    add_findings(&page);
    add_drops(&page);
}
