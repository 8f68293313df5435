/* What every message must look like: lower case, one line, no full stop; hints are sentences.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TESTS_GRAMMAR_H
#define INDUCTOP_TESTS_GRAMMAR_H

#include <ctype.h>
#include <string.h>

#include "engine/base/err.h"

/* Fails the test when the message does not hold `part` or breaks the rules. */
static inline void check_message(const struct err *err, const char *part) {
    const char *message = err->message;
    size_t size = strlen(message);
    if (!strstr(message, part)) fail_msg("'%s' does not say '%s'", message, part);
    if (!size || isupper((unsigned char)message[0]) || message[size - 1] == '.')
        fail_msg("not in the form of a message: '%s'", message);
    if (strpbrk(message, "\n\t\"")) fail_msg("not one plain line: '%s'", message);
    size_t quotes = 0;
    for (const char *at = message; *at; at++) quotes += *at == '\'';
    if (quotes % 2) fail_msg("quotes do not match: '%s'", message);
    const char *hint = err->hint;
    size = strlen(hint);
    if (size && (!isupper((unsigned char)hint[0]) || !strchr(".?", hint[size - 1])))
        fail_msg("hint is no sentence: '%s'", hint);
}

/* And the hint holds `part`; NULL: there is none. */
static inline void check_hint(const struct err *err, const char *part) {
    if (!part && err->hint[0]) fail_msg("no hint expected: '%s'", err->hint);
    if (part && !strstr(err->hint, part)) fail_msg("hint '%s' does not say '%s'", err->hint, part);
}

#endif
