/* The manual page, made from the tables: what `inductop --print-man` prints, and the build installs as inductop(1).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_MANUAL_H
#define INDUCTOP_CLI_MANUAL_H

#include <stddef.h>
#include <stdio.h>

#include "engine/cli/main.h"

/* `lists`: tables of commands, `counts` their lengths; those without a help text are left out. */
void manual_print(FILE *out, const struct cli_command *const *lists, const size_t *counts, size_t list_count);

#endif
