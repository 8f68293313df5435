/* The tables as JSON: what `inductop --print-tables [NAME]` and `inductop --print-schema` print.
 * Docs, the agent's settings.json and tests in other languages read this.
 *
 *     {"settings": [{"key", "type", "effect", "toggle", "label", "path", "needs", "cannot",
 *                    "risk", "help", "values": [{"value", "needs", "help"}],
 *                    "names": [...]}],                               names: only at options.*
 *      "options":  [{"name", "flag", "type", "group", "default", "choices", "min", "max",
 *                    "unit", "argument", "help"}],
 *      "kinds":    [{"name", "since", "rate", "help",
 *                    "fields": [{"name", "type", "unit", "required", "help", "choices"}]}],
 *      "why":      [{"bit", "name", "text"}],
 *      "frames":   [{"name", "id", "text"}],
 *      "errors":   [{"name", "text"}]}
 *
 * One named table is printed as an object with that one member.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_TABLES_H
#define INDUCTOP_CLI_TABLES_H

#include <stdio.h>

/* Prints the table named `which`, all of them when it is NULL. Returns the exit code: 0; 1 when it
 * could not be written, 2 when there is no such table, with a line on stderr. */
int tables_print(FILE *out, const char *which);

/* Prints the JSON schema (draft 2020-12) of the event stream, made from wire/kinds.def. Returns as
 * tables_print. */
int tables_print_schema(FILE *out);

#endif
