/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/escape.h"

#include <string.h>

#include "tui/utf8.h"
#include "engine/base/banned.h"

enum state {
    PLAIN,
    ESCAPE,     /* after ESC */
    SIGN,       /* after ESC and a sign: one final follows */
    BRACKET,    /* after ESC [ */
    STRING,     /* title and the like, up to BEL or ESC \ */
    STRING_ESC, /* ESC inside of it */
    BROKEN      /* a sequence that is not understood, up to its final */
};

enum { BEL = 7, CAN = 0x18, SUB = 0x1A, ESC = 0x1B, DEL = 0x7F };

void escape_init(struct escape *escape, const struct escape_calls *calls, void *context) {
    *escape = (struct escape){.calls = calls, .context = context, .state = PLAIN};
}

int escape_number(const struct escape_sequence *sequence, int place, int otherwise) {
    int number = place < sequence->count ? sequence->numbers[place] : ESCAPE_MISSING;
    return number == ESCAPE_MISSING || number == 0 ? otherwise : number;
}

static void clear_sequence(struct escape *escape, bool has_bracket) {
    escape->sequence = (struct escape_sequence){.has_bracket = has_bracket};
}

/* ---- characters ---- */

static void say(struct escape *escape, uint32_t point) {
    escape->calls->character(escape->context, point);
}

static void flush_broken(struct escape *escape) {
    for (size_t i = 0; i < escape->have; i++) say(escape, UTF8_REPLACEMENT);
    escape->have = escape->want = 0;
}

static size_t length_of(unsigned char byte) {
    return byte >= 0xC2 && byte < 0xE0   ? 2
           : byte >= 0xE0 && byte < 0xF0 ? 3
           : byte >= 0xF0 && byte < 0xF5 ? 4
                                         : 1;
}

static void high_byte(struct escape *escape, unsigned char byte) {
    bool is_start = (byte & 0xC0) != 0x80;
    if (is_start || escape->have == 0) {
        flush_broken(escape);
        escape->want = length_of(byte);
    }
    escape->bytes[escape->have++] = (char)byte;
    if (escape->have < escape->want) return;
    uint32_t point;
    if (utf8_read(escape->bytes, escape->have, &point) == escape->have)
        escape->have = 0, say(escape, point);
    else
        flush_broken(escape);
}

/* ---- sequences ---- */

static void finish(struct escape *escape, unsigned char byte) {
    escape->sequence.final = (char)byte;
    escape->state = PLAIN;
    escape->calls->sequence(escape->context, &escape->sequence);
}

static void after_esc(struct escape *escape, unsigned char byte) {
    clear_sequence(escape, byte == '[');
    if (byte == '[')
        escape->state = BRACKET;
    else if (strchr("]PX^_", byte))
        escape->state = STRING;
    else if (byte >= 0x20 && byte < 0x30)
        escape->sequence.sign = (char)byte, escape->state = SIGN;
    else
        finish(escape, byte);
}

static void digit(struct escape *escape, int value) {
    struct escape_sequence *sequence = &escape->sequence;
    if (sequence->count == 0) sequence->numbers[sequence->count++] = ESCAPE_MISSING;
    int *number = &sequence->numbers[sequence->count - 1];
    *number = (*number == ESCAPE_MISSING ? 0 : *number) * 10 + value;
    if (*number > ESCAPE_NUMBER_MAX) *number = ESCAPE_NUMBER_MAX;
}

static void next_number(struct escape *escape) {
    struct escape_sequence *sequence = &escape->sequence;
    if (sequence->count == 0) sequence->numbers[sequence->count++] = ESCAPE_MISSING;
    if (sequence->count < ESCAPE_NUMBERS_MAX)
        sequence->numbers[sequence->count++] = ESCAPE_MISSING;
    else
        escape->state = BROKEN;
}

static void in_bracket(struct escape *escape, unsigned char byte) {
    if (byte >= '0' && byte <= '9')
        digit(escape, byte - '0');
    else if (byte == ';' || byte == ':')
        next_number(escape);
    else if (byte >= '<' && byte <= '?' && escape->sequence.count == 0)
        escape->sequence.sign = (char)byte;
    else if (byte >= 0x40 && byte < DEL)
        finish(escape, byte);
    else
        escape->state = BROKEN;
}

static void in_string(struct escape *escape, unsigned char byte) {
    if (byte == BEL)
        escape->state = PLAIN;
    else if (byte == ESC)
        escape->state = STRING_ESC;
    else if (escape->state == STRING_ESC) {
        escape->state = PLAIN;
        if (byte != '\\') after_esc(escape, byte);
    }
}

static void in_sequence(struct escape *escape, unsigned char byte) {
    switch (escape->state) {
    case ESCAPE: after_esc(escape, byte); break;
    case SIGN:
        if (byte >= 0x30 && byte < DEL)
            finish(escape, byte);
        else if (byte >= 0x80)
            escape->state = PLAIN;
        break;
    case BRACKET: in_bracket(escape, byte); break;
    case STRING:
    case STRING_ESC: in_string(escape, byte); break;
    default: /* BROKEN */
        if (byte >= 0x40 && byte < DEL) escape->state = PLAIN;
        break;
    }
}

static void feed_byte(struct escape *escape, unsigned char byte) {
    bool is_in_string = escape->state == STRING || escape->state == STRING_ESC;
    if (byte == CAN || byte == SUB)
        escape->state = PLAIN;
    else if (is_in_string)
        in_string(escape, byte);
    else if (byte == ESC)
        escape->state = ESCAPE;
    else if (byte < 0x20)
        escape->calls->control(escape->context, byte); /* inside a sequence too, as terminals do */
    else if (escape->state != PLAIN)
        in_sequence(escape, byte);
    else if (byte < 0x7F)
        say(escape, byte);
}

void escape_feed(struct escape *escape, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x80 && escape->state == PLAIN) {
            high_byte(escape, byte);
            continue;
        }
        if (escape->have) flush_broken(escape);
        feed_byte(escape, byte);
    }
}
