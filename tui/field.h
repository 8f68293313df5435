/* A line that takes text. A plain value. Pure; one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FIELD_H
#define INDUCTOP_TUI_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/keymap.h"
#include "tui/keys.h"

enum { FIELD_SIZE = 512 };

struct field {
    char text[FIELD_SIZE]; /* UTF-8 without controls */
    size_t size, at;       /* bytes; the cursor, between characters */
};

void field_set(struct field *field, const char *text);

/* Columns before the cursor. */
int field_columns(const struct field *field);

/* Characters and pastes go in, what the text has no room for is left out. False: not a key for it.
 */
bool field_take(struct field *field, const struct key *key);

/* Moves and erases: ACTION_LEFT to ACTION_END, ACTION_ERASE and the like. False: another action. */
bool field_edit(struct field *field, enum action_id action);

/* The word before the cursor, from the last of `breaks` on. Its bytes; `ret_at` is where it
 * begins. */
size_t field_word(const struct field *field, const char *breaks, size_t *ret_at);

/* Puts `text` in place of the bytes from `at` to the cursor. */
void field_replace(struct field *field, size_t at, const char *text);

#endif
