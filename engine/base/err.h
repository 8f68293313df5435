/* The error value: who fails writes the whole message, who calls decides what to do with it.
 *
 * A function that can fail returns 0, or the negative code that err_set() returns, and takes `struct err *err` as its last
 * parameter, which may be NULL. `err` is untouched on success. Messages: lower case, no full stop, names in single quotes,
 * the kind of thing named, the reason last. Hints are full sentences. No memory to free.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_ERR_H
#define INDUCTOP_BASE_ERR_H

#include "engine/base/attr.h"

enum err_code {
#define ERR(symbol, name, text) ERR_##symbol,
#include "engine/base/err.def"
#undef ERR
    ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    char message[512]; /* one line, complete enough to show as it is */
    char hint[256];    /* empty, or a sentence that says what to do */
};

/* Writes the message; returns -code. */
int err_set(struct err *err, enum err_code code, const char *format, ...) ATTR_PRINTF(3, 4);

/* As err_set(ERR_SYSTEM), with ": " and the text of `number` (an errno) behind the message. */
int err_set_errno(struct err *err, int number, const char *format, ...) ATTR_PRINTF(3, 4);

/* Puts "context: " in front of the message. Returns the code that is in `err` (-ERR_INVALID without one). */
int err_wrap(struct err *err, const char *format, ...) ATTR_PRINTF(2, 3);

/* Sets the hint; may be called right after err_set(). */
void err_hint(struct err *err, const char *format, ...) ATTR_PRINTF(2, 3);

/* Name and default text of a code, never NULL. */
const char *err_name(enum err_code code);
const char *err_text(enum err_code code);

#endif
