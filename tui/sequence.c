/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/sequence.h"

#include <stdint.h>
#include <string.h>

#include "tui/utf8.h"
#include "engine/base/banned.h"

enum { ESC = 0x1B, BEL = 7, NUMBERS_MAX = 8, MOUSE_SIZE = 6 };

static unsigned char at(const struct sequence *sequence, size_t place) {
    return (unsigned char)sequence->bytes[place];
}

/* ---- numbers of ESC [ ---- */

struct numbers {
    char sign, middle; /* before and behind the numbers, 0: none */
    int values[NUMBERS_MAX], count;
    bool is_odd; /* of no known shape */
};

static struct numbers numbers_of(const struct sequence *sequence) {
    struct numbers numbers = {.count = 0};
    int digits = 0;
    for (size_t i = 2; i + 1 < sequence->size; i++) {
        unsigned char byte = at(sequence, i);
        if (i == 2 && byte >= '<' && byte <= '?')
            numbers.sign = (char)byte;
        else if (byte >= '0' && byte <= '9' && digits < 7 && !numbers.middle) {
            if (digits++ == 0) numbers.values[numbers.count++] = 0;
            numbers.values[numbers.count - 1] = numbers.values[numbers.count - 1] * 10 + byte - '0';
        } else if (byte == ';' && digits > 0 && numbers.count < NUMBERS_MAX && !numbers.middle)
            digits = 0;
        else if (byte == '$' && !numbers.middle)
            numbers.middle = (char)byte;
        else
            numbers.is_odd = true;
        if (numbers.is_odd) break;
    }
    return numbers;
}

static bool is_character(int value) {
    return value > 0 && value < 0x110000 && (value < 0xD800 || value > 0xDFFF);
}

static enum sequence_step judge(const struct sequence *sequence) {
    unsigned char final = at(sequence, sequence->size - 1);
    struct numbers numbers = numbers_of(sequence);
    if (sequence->is_lost || numbers.is_odd) return SEQUENCE_DROP;
    if (numbers.sign == '<')
        return (final == 'M' || final == 'm') && numbers.count == 3 && !numbers.middle
                   ? SEQUENCE_WHOLE
                   : SEQUENCE_DROP;
    if (numbers.sign == '?') {
        bool is_position = final == 'R' && !numbers.middle,
             is_mode = final == 'y' && numbers.middle;
        return (is_position || is_mode) && numbers.count >= 2 ? SEQUENCE_WHOLE : SEQUENCE_DROP;
    }
    if (numbers.sign || numbers.middle || numbers.count > 3) return SEQUENCE_DROP;
    if ((final == '~' && numbers.count == 0) || final == 'm') return SEQUENCE_DROP;
    if (final == '~' && numbers.count == 1 && numbers.values[0] == 200) return SEQUENCE_PASTE;
    if (final == '~' && numbers.count >= 1 && numbers.values[0] == 27)
        return numbers.count == 3 && is_character(numbers.values[2]) ? SEQUENCE_WHOLE
                                                                     : SEQUENCE_DROP;
    if (final == 'u')
        return numbers.count >= 1 && is_character(numbers.values[0]) ? SEQUENCE_WHOLE
                                                                     : SEQUENCE_DROP;
    return SEQUENCE_WHOLE;
}

/* ---- shapes ---- */

static enum sequence_step in_bracket(const struct sequence *sequence) {
    unsigned char third = at(sequence, 2), last = at(sequence, sequence->size - 1);
    if (sequence->size == 2) return SEQUENCE_MORE;
    if (third == '[')
        return sequence->size < 4 ? SEQUENCE_MORE
                                  : SEQUENCE_WHOLE; /* function keys of the Linux console */
    if (third == 'M') return sequence->size < MOUSE_SIZE ? SEQUENCE_MORE : SEQUENCE_WHOLE;
    if (last < 0x20 || last > 0x7E) return SEQUENCE_DROP;
    return last >= 0x40 ? judge(sequence) : SEQUENCE_MORE;
}

static enum sequence_step after_o(const struct sequence *sequence) {
    unsigned char last = at(sequence, sequence->size - 1);
    if (sequence->size == 2) return SEQUENCE_MORE;
    return last >= 0x40 && last <= 0x7E && sequence->size == 3 ? SEQUENCE_WHOLE : SEQUENCE_DROP;
}

static size_t length_of(unsigned char byte) {
    return byte >= 0xF5 || byte < 0xC2 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
}

static enum sequence_step character(const struct sequence *sequence, size_t from) {
    uint32_t point;
    size_t have = sequence->size - from, want = length_of(at(sequence, from));
    if (have > 1 && (at(sequence, sequence->size - 1) & 0xC0) != 0x80) return SEQUENCE_DROP;
    if (have < want) return SEQUENCE_MORE;
    size_t used = utf8_read(sequence->bytes + from, have, &point);
    bool is_control = point >= 0x80 && point < 0xA0;
    return used == have && !is_control && (point != UTF8_REPLACEMENT || have == 3) ? SEQUENCE_WHOLE
                                                                                   : SEQUENCE_DROP;
}

bool is_in_string(const struct sequence *sequence) {
    return sequence->size >= 2 && at(sequence, 0) == ESC &&
           strchr("]PX^_", at(sequence, 1)) != NULL && at(sequence, 1) != 0;
}

enum sequence_step sequence_add(struct sequence *sequence, char byte) {
    if (sequence->size < SEQUENCE_SIZE)
        sequence->bytes[sequence->size++] = byte;
    else {
        sequence->is_lost = true;
        sequence->bytes[SEQUENCE_SIZE - 1] = byte;
    }
    if (sequence->is_after_string && sequence->size == 2 && byte == '\\') return SEQUENCE_DROP;
    if (is_in_string(sequence)) return byte == BEL ? SEQUENCE_DROP : SEQUENCE_MORE;
    if (at(sequence, 0) != ESC) return character(sequence, 0);
    if (sequence->size == 1) return SEQUENCE_MORE;
    if (at(sequence, 1) == '[') return in_bracket(sequence);
    if (at(sequence, 1) == 'O') return after_o(sequence);
    return character(sequence, 1);
}

enum sequence_step sequence_end(struct sequence *sequence) {
    bool is_key = sequence->size == 1 || (sequence->size == 2 && at(sequence, 1) < 0x80);
    return at(sequence, 0) == ESC && is_key ? SEQUENCE_WHOLE : SEQUENCE_DROP;
}

bool is_cut_by(const struct sequence *sequence, char byte) {
    if (is_in_string(sequence)) return (unsigned char)byte < 0x20 && byte != BEL;
    bool is_character = sequence->size > 0 &&
                        (at(sequence, 0) != ESC || (sequence->size > 1 && at(sequence, 1) >= 0x80));
    if (is_character) return ((unsigned char)byte & 0xC0) != 0x80;
    return byte == ESC && sequence->size > 0;
}

bool is_lone_escape(const struct sequence *sequence) {
    return sequence->size == 1 && at(sequence, 0) == ESC;
}
