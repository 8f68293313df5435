/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/filter.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "tui/format.h"
#include "engine/base/banned.h"

enum op { OP_WORD, OP_ABOVE, OP_LEAST, OP_BELOW, OP_MOST, OP_SAME, OP_OTHER, OP_PART };

struct term {
    enum op op;
    bool is_not, begins_group;
    const struct table_column *column; /* NULL: any */
    char *text;
    double number;
    bool has_number;
};

struct filter {
    char *text;
    const struct table_column *columns;
    size_t column_count;
    struct term *terms;
    size_t term_count;
};

/* ---- reading ---- */

struct reader {
    const char *at;
    struct filter *filter;
    bool begins_group;
};

static void skip_blanks(struct reader *reader) {
    while (*reader->at == ' ' || *reader->at == '\t') reader->at++;
}

static bool ends_word(char c) {
    return c == 0 || strchr(" \t|<>=!~\"", c) != NULL;
}

/* A quoted text, or what stands before the next blank, bar or operator. The caller frees it. */
static char *read_text(struct reader *reader) {
    const char *start = reader->at;
    if (*start == '"') {
        const char *end = strchr(start + 1, '"');
        size_t size = end ? (size_t)(end - start - 1) : strlen(start + 1);
        reader->at = end ? end + 1 : start + 1 + size;
        return mem_strndup(start + 1, size);
    }
    while (!ends_word(*reader->at)) reader->at++;
    return mem_strndup(start, (size_t)(reader->at - start));
}

/* A value may be a figure with a blank before its unit: "600 MB". */
static char *read_value(struct reader *reader) {
    char *text = read_text(reader);
    struct reader ahead = *reader;
    double number;
    bool has_unit;
    skip_blanks(&ahead);
    if (ahead.at == reader->at || !format_read(text, &number, &has_unit) || has_unit) return text;
    CLEANUP(cleanup_free) char *unit = read_text(&ahead);
    char *both = mem_printf("%s%s", text, unit);
    if (*unit && format_read(both, &number, &has_unit) && has_unit) {
        free(text);
        reader->at = ahead.at;
        return both;
    }
    free(both);
    return text;
}

static enum op read_op(struct reader *reader) {
    static const struct {
        const char *text;
        enum op op;
    } ops[] = {{">=", OP_LEAST}, {"<=", OP_MOST}, {"!=", OP_OTHER}, {"==", OP_SAME},
               {">", OP_ABOVE},  {"<", OP_BELOW}, {"=", OP_SAME},   {"~", OP_PART}};
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        if (has_prefix(reader->at, ops[i].text)) {
            reader->at += strlen(ops[i].text);
            return ops[i].op;
        }
    return OP_WORD;
}

static const struct table_column *column_of(const struct filter *filter, const char *name) {
    for (size_t i = 0; i < filter->column_count; i++)
        if (!strcasecmp(filter->columns[i].name, name)) return &filter->columns[i];
    return NULL;
}

static int no_column(const struct filter *filter, const char *name, struct err *err) {
    const char *names[TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < filter->column_count; i++) names[i] = filter->columns[i].name;
    const char *near = str_nearest(name, names, filter->column_count);
    int code = err_set(err, ERR_UNKNOWN, "filter: there is no column '%.40s'", name);
    if (near)
        err_hint(err, "Did you mean '%s'?", near);
    else
        err_hint(err, "To look for such a text, put it in double quotes.");
    return code;
}

static struct term *add_term(struct reader *reader, struct term term) {
    struct filter *filter = reader->filter;
    term.begins_group = reader->begins_group;
    reader->begins_group = false;
    filter->terms = mem_resize(filter->terms, filter->term_count + 1, sizeof *filter->terms);
    filter->terms[filter->term_count] = term;
    return &filter->terms[filter->term_count++];
}

static int read_comparison(struct reader *reader, const char *name, enum op op, bool is_not,
                           struct err *err) {
    const struct table_column *column = column_of(reader->filter, name);
    bool has_unit;
    if (!column) return no_column(reader->filter, name, err);
    skip_blanks(reader);
    struct term *term = add_term(
        reader,
        (struct term){.op = op, .is_not = is_not, .column = column, .text = read_value(reader)});
    if (!*term->text)
        return err_set(err, ERR_SYNTAX, "filter: nothing to compare '%.40s' with", name);
    term->has_number = column->number && format_read(term->text, &term->number, &has_unit);
    if (term->has_number && !has_unit && column->bare != 0) term->number *= column->bare;
    bool is_order = op == OP_ABOVE || op == OP_LEAST || op == OP_BELOW || op == OP_MOST;
    if (is_order && column->number && !term->has_number)
        return err_set(err, ERR_SYNTAX, "filter: '%.40s' is no figure to compare '%.40s' with",
                       term->text, name);
    return 0;
}

static int read_term(struct reader *reader, struct err *err) {
    bool is_not = false, is_quoted;
    for (; *reader->at == '!'; is_not = !is_not) reader->at++, skip_blanks(reader);
    is_quoted = *reader->at == '"';
    CLEANUP(cleanup_free) char *text = read_text(reader);
    if (!*text) {
        if (!*reader->at || is_quoted) return 0;
        return err_set(err, ERR_SYNTAX, "filter: a name is missing before '%.8s'", reader->at);
    }
    if (!is_quoted && !strcasecmp(text, "and")) return 0;
    if (!is_quoted && !strcasecmp(text, "or")) return reader->begins_group = true, 0;
    struct reader ahead = *reader;
    skip_blanks(&ahead);
    enum op op = read_op(&ahead);
    if (op == OP_WORD || is_quoted) {
        add_term(reader, (struct term){.op = OP_WORD, .is_not = is_not, .text = TAKE(text)});
        return 0;
    }
    reader->at = ahead.at;
    return read_comparison(reader, text, op, is_not, err);
}

int filter_new(const char *text, const struct table_column *columns, size_t count,
               struct filter **ret_filter, struct err *err) {
    struct filter *filter = mem_new(sizeof *filter);
    struct reader reader = {text, filter, true};
    *filter = (struct filter){.text = mem_strdup(text), .columns = columns, .column_count = count};
    for (skip_blanks(&reader); *reader.at; skip_blanks(&reader)) {
        if (*reader.at == '|') {
            reader.begins_group = true;
            reader.at++;
            continue;
        }
        int code = read_term(&reader, err);
        if (code < 0) {
            filter_free(filter);
            return code;
        }
    }
    *ret_filter = filter;
    return 0;
}

struct filter *filter_free(struct filter *filter) {
    if (!filter) return NULL;
    for (size_t i = 0; i < filter->term_count; i++) free(filter->terms[i].text);
    free(filter->terms);
    free(filter->text);
    free(filter);
    return NULL;
}

const char *filter_text(const struct filter *filter) {
    return filter->text;
}

/* ---- matching ---- */

static const char *text_of(const struct table_column *column, const void *rows, size_t row,
                           struct table_cell *cell) {
    *cell = (struct table_cell){.text = ""};
    column->show(rows, row, cell);
    return cell->text;
}

static bool does_any_hold(const struct filter *filter, const char *part, const void *rows,
                          size_t row) {
    struct table_cell cell;
    for (size_t i = 0; i < filter->column_count; i++)
        if (strcasestr(text_of(&filter->columns[i], rows, row, &cell), part)) return true;
    return false;
}

/* -1, 0, 1; what is missing compares with nothing. */
static bool compare(const struct term *term, const void *rows, size_t row, int *ret_order) {
    struct table_cell cell;
    if (!term->has_number) {
        *ret_order = strcasecmp(text_of(term->column, rows, row, &cell), term->text);
        return true;
    }
    double number = term->column->number(rows, row);
    *ret_order = number < term->number ? -1 : number > term->number;
    return !isnan(number);
}

static bool holds(const struct filter *filter, const struct term *term, const void *rows,
                  size_t row) {
    struct table_cell cell;
    int order = 0;
    if (term->op == OP_WORD) return does_any_hold(filter, term->text, rows, row);
    if (term->op == OP_PART)
        return strcasestr(text_of(term->column, rows, row, &cell), term->text) != NULL;
    bool is_known = compare(term, rows, row, &order);
    switch (term->op) {
    case OP_ABOVE: return is_known && order > 0;
    case OP_LEAST: return is_known && order >= 0;
    case OP_BELOW: return is_known && order < 0;
    case OP_MOST: return is_known && order <= 0;
    case OP_SAME: return is_known && order == 0;
    default: return !is_known || order != 0;
    }
}

bool is_match(const struct filter *filter, const void *rows, size_t row) {
    bool passes = filter->term_count == 0;
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct term *term = &filter->terms[i];
        if (term->begins_group && passes) return true;
        if (term->begins_group) passes = true;
        if (passes && holds(filter, term, rows, row) == term->is_not) passes = false;
    }
    return passes;
}
