/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/setup/nearest.h"

#include "engine/base/banned.h"

enum { HELP_COLUMN = 30 };

static const struct option_row table[OPTION_ID_COUNT] = {
#define OPTION(symbol, name, flag, type, group, def, choices, min, max, unit, argument, help)      \
    [OPTION_##symbol] = {name, flag, OPTION_TYPE_##type, group, def, choices, min,                 \
                         max,  unit, argument,           help},
#include "engine/setup/options.def"
#undef OPTION
};

const struct option_row *option_get(enum option_id id) {
    return &table[id];
}

const char *option_type_name(enum option_type type) {
    static const char *const names[] = {"flag", "choice", "count", "text", "word", "list"};
    return names[type];
}

static int find(const char *name, size_t size) {
    for (int i = 0; i < OPTION_ID_COUNT; i++)
        if (strlen(table[i].name) == size && memcmp(table[i].name, name, size) == 0) return i;
    return -1;
}

static int find_flag(char flag) {
    for (int i = 0; i < OPTION_ID_COUNT; i++)
        if (flag && table[i].flag == flag) return i;
    return -1;
}

/* ---- values ---- */

static int set_choice(const struct option_row *row, struct option_value *value, const char *text,
                      struct err *err) {
    uint64_t at = 0;
    size_t size = strlen(text);
    for (const char *choice = row->choices; choice; at++) {
        size_t length = strcspn(choice, "|");
        if (length == size && memcmp(choice, text, size) == 0) {
            value->number = at;
            return 0;
        }
        choice = choice[length] ? choice + length + 1 : NULL;
    }
    return err_set(err, ERR_USAGE, "value '%s' of option '--%s' is not one of %s", text, row->name,
                   row->choices);
}

static int set_count(const struct option_row *row, struct option_value *value, const char *text,
                     struct err *err) {
    uint64_t number;
    if (str_to_u64(text, &number) && number >= row->min && number <= row->max) {
        value->number = number;
        return 0;
    }
    return err_set(err, ERR_USAGE,
                   "value '%s' of option '--%s' is no number from %" PRIu64 " to %" PRIu64, text,
                   row->name, row->min, row->max);
}

static int check_word(const struct option_row *row, const char *text, struct err *err) {
    size_t size = strlen(text);
    bool is_word = size >= row->min && size <= row->max && *text != '.' && *text != '-';
    for (const char *at = text; *at; at++)
        is_word &= isalnum((unsigned char)*at) || strchr("._-", *at);
    if (is_word) return 0;
    int code = err_set(err, ERR_USAGE, "value '%s' of option '--%s' is no name", text, row->name);
    err_hint(err,
             "Use up to %" PRIu64
             " letters, digits, '.', '_' and '-', and begin with a letter or digit.",
             row->max);
    return code;
}

static void add_to_list(struct option_value *value, const char *text) {
    if (value->count == value->room) {
        value->room = value->room ? 2 * value->room : 8;
        value->list = mem_resize(value->list, value->room, sizeof value->list[0]);
    }
    value->list[value->count++] = text;
}

static int set_value(const struct option_row *row, struct option_value *value, const char *text,
                     struct err *err) {
    int rc = 0;
    switch (row->type) {
    case OPTION_TYPE_FLAG: break;
    case OPTION_TYPE_CHOICE: rc = set_choice(row, value, text, err); break;
    case OPTION_TYPE_COUNT: rc = set_count(row, value, text, err); break;
    case OPTION_TYPE_WORD: rc = check_word(row, text, err); break;
    case OPTION_TYPE_TEXT:
    case OPTION_TYPE_LIST:
        if (!*text) rc = err_set(err, ERR_USAGE, "option '--%s' has an empty value", row->name);
        break;
    }
    if (rc < 0) return rc;
    if (row->type == OPTION_TYPE_LIST) add_to_list(value, text);
    value->text = text;
    value->is_given = true;
    return 0;
}

/* ---- the command line ---- */

struct reader {
    int argc, at;
    char **argv;
    struct options *options;
};

static int refuse_unknown(const char *word, const char *name, struct err *err) {
    const char *names[OPTION_ID_COUNT];
    for (int i = 0; i < OPTION_ID_COUNT; i++) names[i] = table[i].name;
    int code = err_set(err, ERR_USAGE, "option '%s' is not known", word);
    size_t places[NEAREST_MAX];
    if (nearest_find(name, names, OPTION_ID_COUNT, places))
        err_hint(err, "Did you mean '--%s'?", names[places[0]]);
    else
        err_hint(err, "The options are listed by 'inductop --help'.");
    return code;
}

/* The next word of the command line, for an option whose value is not in its own word. */
static int take_next(struct reader *reader, int id, struct err *err) {
    const struct option_row *row = &table[id];
    const char *next = reader->at < reader->argc ? reader->argv[reader->at] : NULL;
    if (!next || strcmp(next, "--") == 0)
        return err_set(err, ERR_USAGE, "option '--%s' needs a value: %s", row->name, row->argument);
    reader->at++;
    return set_value(row, &reader->options->values[id], next, err);
}

static int read_long(struct reader *reader, const char *word, struct err *err) {
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    int id = find(name, size);
    if (id < 0) {
        CLEANUP(cleanup_free) char *bare = mem_strndup(name, size);
        CLEANUP(cleanup_free) char *shown = mem_printf("--%s", bare);
        return refuse_unknown(shown, bare, err);
    }
    bool is_flag = table[id].type == OPTION_TYPE_FLAG;
    if (is_flag && equals)
        return err_set(err, ERR_USAGE, "option '--%s' takes no value", table[id].name);
    if (is_flag) return set_value(&table[id], &reader->options->values[id], "", err);
    if (equals) return set_value(&table[id], &reader->options->values[id], equals + 1, err);
    return take_next(reader, id, err);
}

static int read_short(struct reader *reader, const char *word, struct err *err) {
    for (const char *letter = word + 1; *letter; letter++) {
        int id = find_flag(*letter), rc;
        if (id < 0) return refuse_unknown(word, word + 1, err);
        struct option_value *value = &reader->options->values[id];
        if (table[id].type != OPTION_TYPE_FLAG)
            return letter[1] ? set_value(&table[id], value, letter + 1, err)
                             : take_next(reader, id, err);
        if ((rc = set_value(&table[id], value, "", err)) < 0) return rc;
    }
    return 0;
}

static int read_all(struct reader *reader, struct err *err) {
    while (reader->at < reader->argc) {
        const char *word = reader->argv[reader->at];
        if (word[0] != '-' || !word[1]) return 0;
        reader->at++;
        if (strcmp(word, "--") == 0) return 0;
        int rc = word[1] == '-' ? read_long(reader, word, err) : read_short(reader, word, err);
        if (rc < 0) return rc;
    }
    return 0;
}

void options_init(struct options *options) {
    memset(options, 0, sizeof *options);
    for (int i = 0; i < OPTION_ID_COUNT; i++) {
        if (table[i].def) (void)set_value(&table[i], &options->values[i], table[i].def, NULL);
        options->values[i].is_given = false;
    }
}

void options_done(struct options *options) {
    for (int i = 0; i < OPTION_ID_COUNT; i++) free(options->values[i].list);
    memset(options, 0, sizeof *options);
}

int options_parse(int argc, char **argv, struct options *ret, int *ret_first, struct err *err) {
    CLEANUP(options_done) struct options options;
    options_init(&options);
    struct reader reader = {
        .argc = argc, .at = argc > 0 ? 1 : 0, .argv = argv, .options = &options};
    int rc = read_all(&reader, err);
    if (rc < 0) return rc;
    options_done(ret);
    *ret = options;
    memset(&options, 0, sizeof options);
    *ret_first = reader.at;
    return 0;
}

bool is_option_given(const struct options *options, enum option_id id) {
    return options->values[id].is_given;
}

const char *option_text(const struct options *options, enum option_id id) {
    return options->values[id].text;
}

uint64_t option_number(const struct options *options, enum option_id id) {
    return options->values[id].number;
}

const char *const *option_list(const struct options *options, enum option_id id,
                               size_t *ret_count) {
    *ret_count = options->values[id].count;
    return options->values[id].list;
}

/* ---- the help ---- */

static void print_row(struct buf *buf, const struct option_row *row) {
    CLEANUP(buf_done) struct buf left = BUF_INIT;
    if (row->flag)
        buf_printf(&left, "  -%c, --%s", row->flag, row->name);
    else
        buf_printf(&left, "      --%s", row->name);
    if (*row->argument) buf_printf(&left, " %s", row->argument);
    if (left.size + 2 > HELP_COLUMN) {
        buf_printf(buf, "%s\n", buf_text(&left));
        buf_clear(&left);
    }
    buf_printf(buf, "%-*s%s", HELP_COLUMN, buf_text(&left), row->help);
    if (row->type == OPTION_TYPE_COUNT)
        buf_printf(buf, ", %" PRIu64 " to %" PRIu64, row->min, row->max);
    if (row->def) buf_printf(buf, " (default %s)", row->def);
    buf_puts(buf, "\n");
}

void options_print(struct buf *buf) {
    const char *group = "";
    for (int i = 0; i < OPTION_ID_COUNT; i++) {
        if (strcmp(group, table[i].group) != 0) {
            group = table[i].group;
            buf_printf(buf, "%s%s\n", i ? "\n" : "", group);
        }
        print_row(buf, &table[i]);
    }
}
