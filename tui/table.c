/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/table_inside.h"
#include "engine/base/banned.h"

struct table *table_new(const struct table_column *columns, size_t count) {
    assert(count > 0 && count <= TABLE_COLUMNS_MAX);
    struct table *table = mem_new(sizeof *table);
    *table = (struct table){.columns = columns,
                            .column_count = count,
                            .sort_column = TABLE_UNSORTED,
                            .page = 1,
                            .empty = ""};
    filter_new("", columns, count, &table->filter, NULL);
    return table;
}

struct table *table_free(struct table *table) {
    if (!table) return NULL;
    filter_free(table->filter);
    free(table->order);
    free(table->tags);
    free(table);
    return NULL;
}

void table_set_title(struct table *table, const char *title) {
    table->title = title;
}

void table_set_empty(struct table *table, const char *empty) {
    table->empty = empty;
}

void table_set_tail(struct table *table, bool tail) {
    table->has_tail = tail;
}

void table_set_follow(struct table *table, bool follow) {
    table->is_following = follow;
}

bool is_table_following(const struct table *table) {
    return table->is_following;
}

uint64_t table_id(const struct table *table, size_t row) {
    return table->source.id ? table->source.id(table->source.rows, row) : row;
}

/* ---- order ---- */

struct key {
    double number;
    char *text;
    uint32_t row;
};

struct sorting {
    bool descending;
};

/* What is missing comes last in either direction; what is equal stays in the source's order. */
static int compare_keys(const void *left, const void *right, void *context) {
    const struct key *a = left, *b = right;
    const struct sorting *sorting = context;
    int order = 0;
    bool a_missing = a->text ? !*a->text : isnan(a->number),
         b_missing = b->text ? !*b->text : isnan(b->number);
    if (a_missing || b_missing)
        order = a_missing - b_missing;
    else {
        order = a->text ? strverscmp(a->text, b->text)
                        : (a->number > b->number) - (a->number < b->number);
        if (sorting->descending) order = order > 0 ? -1 : order < 0;
    }
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static struct key key_of(const struct table *table, const struct table_column *column,
                         uint32_t row) {
    struct key key = {.row = row};
    if (column->number) {
        key.number = column->number(table->source.rows, row);
        return key;
    }
    struct table_cell cell = {.text = ""};
    column->show(table->source.rows, row, &cell);
    key.text = mem_strdup(cell.text);
    return key;
}

static void sort(struct table *table) {
    if (table->sort_column == TABLE_UNSORTED || table->count < 2) return;
    const struct table_column *column = &table->columns[table->sort_column];
    struct sorting sorting = {table->descending};
    struct key *keys = mem_array(table->count, sizeof *keys);
    for (size_t i = 0; i < table->count; i++) keys[i] = key_of(table, column, table->order[i]);
    qsort_r(keys, table->count, sizeof *keys, compare_keys, &sorting);
    for (size_t i = 0; i < table->count; i++) {
        table->order[i] = keys[i].row;
        free(keys[i].text);
    }
    free(keys);
}

static void filter(struct table *table) {
    if (table->room < table->source.count) {
        table->room = table->source.count + table->source.count / 2;
        table->order = mem_resize(table->order, table->room, sizeof *table->order);
    }
    table->count = 0;
    for (size_t row = 0; row < table->source.count; row++)
        if (is_match(table->filter, table->source.rows, row))
            table->order[table->count++] = (uint32_t)row;
}

static void put_cursor(struct table *table, size_t place) {
    if (table->count == 0) {
        table->cursor = 0;
        return;
    }
    table->cursor = place < table->count ? place : table->count - 1;
    table->cursor_id = table_id(table, table->order[table->cursor]);
    table->is_away = false;
}

static bool find_id(const struct table *table, uint64_t id, size_t *ret_place) {
    for (size_t i = 0; i < table->count; i++)
        if (table_id(table, table->order[i]) == id) return *ret_place = i, true;
    return false;
}

/* The cursor at the top stays there, since what comes first is what one watches; else it goes with
 * its row. While the row is away it is remembered. */
static void keep_cursor(struct table *table, bool was_first, bool was_last) {
    size_t place;
    if (table->has_tail && was_last)
        put_cursor(table, table->count ? table->count - 1 : 0);
    else if (was_first && !table->is_following)
        put_cursor(table, 0);
    else if (find_id(table, table->cursor_id, &place))
        put_cursor(table, place);
    else {
        table->is_away = true;
        if (table->cursor >= table->count) table->cursor = table->count ? table->count - 1 : 0;
    }
}

static void arrange(struct table *table) {
    bool was_first = table->cursor == 0 && !table->is_away,
         was_last = table->cursor + 1 >= table->count && !table->is_away;
    filter(table);
    sort(table);
    keep_cursor(table, was_first, was_last);
}

void table_update(struct table *table, const struct table_source *source) {
    table->source = *source;
    arrange(table);
}

void table_sort(struct table *table, int column, bool descending) {
    assert(column >= TABLE_UNSORTED && column < (int)table->column_count);
    table->sort_column = column;
    table->descending = descending;
    arrange(table);
}

void table_sort_next(struct table *table, int direction) {
    int count = (int)table->column_count + 1,
        at = (table->sort_column + 1 + direction + count) % count - 1;
    table_sort(table, at, at != TABLE_UNSORTED && table->columns[at].descending);
}

void table_invert(struct table *table) {
    if (table->sort_column != TABLE_UNSORTED)
        table_sort(table, table->sort_column, !table->descending);
}

int table_sort_column(const struct table *table) {
    return table->sort_column;
}

bool is_table_descending(const struct table *table) {
    return table->descending;
}

int table_set_filter(struct table *table, const char *text, struct err *err) {
    struct filter *wanted;
    int code = filter_new(text, table->columns, table->column_count, &wanted, err);
    if (code < 0) return code;
    filter_free(table->filter);
    table->filter = wanted;
    arrange(table);
    return 0;
}

const char *table_filter(const struct table *table) {
    return filter_text(table->filter);
}

/* ---- columns ---- */

static int column_of(const struct table *table, const char *name, size_t size) {
    for (size_t i = 0; i < table->column_count; i++)
        if (strncmp(table->columns[i].name, name, size) == 0 && !table->columns[i].name[size])
            return (int)i;
    return -1;
}

int table_set_columns(struct table *table, const char *names, struct err *err) {
    uint32_t shown = 0;
    for (const char *at = names; *(at += strspn(at, " ,"));) {
        size_t size = strcspn(at, " ,");
        int column = column_of(table, at, size);
        if (column < 0)
            return err_set(err, ERR_UNKNOWN, "column '%.*s' is not known", (int)size, at);
        shown |= 1u << column;
        at += size;
    }
    table->hidden = shown ? ~shown : 0;
    return 0;
}

void table_columns(const struct table *table, bool shown_only, struct buf *ret) {
    bool is_first = true;
    for (size_t i = 0; i < table->column_count; i++) {
        if (shown_only && table->hidden >> i & 1) continue;
        buf_printf(ret, "%s%s", is_first ? "" : " ", table->columns[i].name);
        is_first = false;
    }
}

/* ---- cursor and tags ---- */

void table_move(struct table *table, enum table_move move) {
    size_t page = table->page > 1 ? (size_t)table->page - 1 : 1,
           last = table->count ? table->count - 1 : 0, at = table->cursor;
    switch (move) {
    case TABLE_UP: at -= at > 0; break;
    case TABLE_DOWN: at++; break;
    case TABLE_PAGE_UP: at -= at < page ? at : page; break;
    case TABLE_PAGE_DOWN: at += page; break;
    case TABLE_HOME: at = 0; break;
    case TABLE_END: at = last; break;
    }
    put_cursor(table, at);
}

bool table_cursor(const struct table *table, size_t *ret_row) {
    if (table->count == 0) return false;
    *ret_row = table->order[table->cursor];
    return true;
}

uint64_t table_cursor_id(const struct table *table) {
    return table->count ? table_id(table, table->order[table->cursor]) : table->cursor_id;
}

void table_go(struct table *table, uint64_t id) {
    size_t place;
    if (find_id(table, id, &place)) put_cursor(table, place);
}

static bool find_tag(const struct table *table, uint64_t id, size_t *ret_place) {
    for (size_t i = 0; i < table->tag_count; i++)
        if (table->tags[i] == id) return *ret_place = i, true;
    return false;
}

void table_tag(struct table *table) {
    size_t place;
    if (table->count == 0) return;
    uint64_t id = table_id(table, table->order[table->cursor]);
    if (find_tag(table, id, &place))
        table->tags[place] = table->tags[--table->tag_count];
    else {
        table->tags = mem_resize(table->tags, table->tag_count + 1, sizeof *table->tags);
        table->tags[table->tag_count++] = id;
    }
    table_move(table, TABLE_DOWN);
}

void table_untag(struct table *table) {
    table->tag_count = 0;
}

bool is_tagged(const struct table *table, uint64_t id) {
    size_t place;
    return find_tag(table, id, &place);
}

size_t table_tag_count(const struct table *table) {
    return table->tag_count;
}

bool is_column_left_out(const struct table *table, size_t i) {
    const struct table_column *column = &table->columns[i];
    const struct table_source *source = &table->source;
    if (table->hidden >> i & 1) return true;
    for (size_t row = 0; column->if_told && row < source->count; row++)
        if (!isnan(column->number(source->rows, row))) return false;
    return column->if_told;
}

void table_row_text(const struct table *table, struct buf *ret) {
    if (table->count == 0) return;
    size_t row = table->order[table->cursor], before = ret->size;
    for (size_t i = 0; i < table->column_count; i++) {
        struct table_cell cell = {.text = ""};
        if (is_column_left_out(table, i)) continue;
        table->columns[i].show(table->source.rows, row, &cell);
        if (!cell.text[0]) continue;
        buf_printf(ret, "%s%s", ret->size > before ? "  " : "", cell.text);
        if (cell.runs_on) return;
    }
}

size_t table_count(const struct table *table) {
    return table->count;
}
