/* What the commands with a screen share: their words on the command line, and how they complain.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_COMMAND_H
#define INDUCTOP_TUI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "tui/chart.h"

enum { COMMAND_FAULT = 125 };

struct command_words {
    const char *argument;                     /* the only word that is no option; NULL: none */
    const char *script, *dump, *size, *theme; /* NULL: not given */
    bool ascii, no_color, help;
    enum chart_ink ink;
    uint64_t refresh_ms;
};

/* Reads --name=value and --name value; `options` names those that the command knows, blanks
 * between. */
int command_parse(int argc, char **argv, const char *options, struct command_words *ret,
                  struct err *err);

/* Says it on stderr, with the hint; returns COMMAND_FAULT. */
int command_complain(const struct err *err);

#endif
