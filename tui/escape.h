/* Takes a stream of a program's output apart: characters, controls and escape sequences, whatever
 * the pieces it comes in.
 *
 * Nothing is trusted: sequences have bounded numbers, strings (titles, clipboards, queries) are
 * thrown away without being kept, and bytes that are no UTF-8 become U+FFFD. No memory besides the
 * struct. One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_ESCAPE_H
#define INDUCTOP_TUI_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ESCAPE_NUMBERS_MAX = 16, ESCAPE_NUMBER_MAX = 9999, ESCAPE_MISSING = -1 };

/* One that has ended: ESC [ private numbers final, or ESC sign final with has_bracket false. */
struct escape_sequence {
    bool has_bracket;
    char sign; /* '?', '>', '(' ... before the numbers or the final; 0: none */
    char final;
    int numbers[ESCAPE_NUMBERS_MAX]; /* ESCAPE_MISSING where nothing stands */
    int count;
};

struct escape_calls {
    void (*character)(void *context, uint32_t point); /* no control of ASCII */
    void (*control)(void *context, unsigned char byte);
    void (*sequence)(void *context, const struct escape_sequence *sequence);
};

struct escape {
    const struct escape_calls *calls;
    void *context;
    int state;
    struct escape_sequence sequence;
    char bytes[4]; /* of a character that has not come whole */
    size_t have, want;
};

void escape_init(struct escape *escape, const struct escape_calls *calls, void *context);
void escape_feed(struct escape *escape, const char *bytes, size_t size);

/* A number of a sequence; `otherwise` where none stands, or 0 where 0 means the same as nothing. */
int escape_number(const struct escape_sequence *sequence, int place, int otherwise);

#endif
