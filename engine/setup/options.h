/* Options: inductop's own, as a table, and a parsed command line.
 *
 * The texts in a struct options are the caller's argv (or the table's defaults) and live as long as
 * they do; only the lists are allocated: options_init ... options_done. Pure, no locking, nothing
 * is printed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_OPTIONS_H
#define INDUCTOP_SETUP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"

enum option_id {
#define OPTION(symbol, name, flag, type, group, def, choices, min, max, unit, argument, help)      \
    OPTION_##symbol,
#include "engine/setup/options.def"
#undef OPTION
    OPTION_ID_COUNT
};

enum option_type {
    OPTION_TYPE_FLAG,
    OPTION_TYPE_CHOICE,
    OPTION_TYPE_COUNT,
    OPTION_TYPE_TEXT,
    OPTION_TYPE_WORD,
    OPTION_TYPE_LIST
};

struct option_row {
    const char *name; /* without the dashes */
    char flag;        /* one letter, 0 without one */
    enum option_type type;
    const char *group;
    const char *def;     /* as it would be written, NULL: not given */
    const char *choices; /* separated by '|' */
    uint64_t min, max;
    const char *unit;
    const char *argument; /* "" for a flag */
    const char *help;
};

struct option_value {
    bool is_given;
    const char *text;  /* last one given, or the default; NULL */
    uint64_t number;   /* of a COUNT; of a CHOICE the place among the choices */
    const char **list; /* of a LIST */
    size_t count, room;
};

struct options {
    struct option_value values[OPTION_ID_COUNT];
};

const struct option_row *option_get(enum option_id id);
const char *
option_type_name(enum option_type type); /* "flag", "choice", "count", "text", "word", "list" */

void options_init(struct options *options); /* all at their defaults */
void options_done(struct options *options);

/* Reads argv from 1 on, as env, nice and timeout do: up to "--", which is skipped, or to the first
 * word that is no option. `ret_first` is the place behind that: argc when nothing follows. Reads
 * --name, --name=value, --name value, -x, -xvalue, -x value, and flags in a bunch, -qh. A later
 * value replaces the one before, except in a list. `ret` (initialised) and `ret_first` are
 * untouched on failure. */
int options_parse(int argc, char **argv, struct options *ret, int *ret_first, struct err *err);

/* Was it on the command line? */
bool is_option_given(const struct options *options, enum option_id id);

const char *option_text(const struct options *options, enum option_id id);
uint64_t option_number(const struct options *options, enum option_id id);
const char *const *option_list(const struct options *options, enum option_id id, size_t *ret_count);

/* Adds the list of options as the help shows it: groups, one option a line, defaults and ranges. */
void options_print(struct buf *buf);

#endif
