/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

struct range {
    uint32_t first, last;
};

static const struct range zero[] = {
#define ZERO(first, last) {first, last},
#define WIDE(first, last)
#include "tui/width.def"
#undef ZERO
#undef WIDE
};

static const struct range wide[] = {
#define ZERO(first, last)
#define WIDE(first, last) {first, last},
#include "tui/width.def"
#undef ZERO
#undef WIDE
};

static bool is_in(const struct range *ranges, size_t count, uint32_t point) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && point >= ranges[low].first;
}

/* Length, smallest value and the bits of the first byte for the four forms. */
static size_t form_of(unsigned char byte, uint32_t *ret_bits, uint32_t *ret_least) {
    if (byte >= 0xC2 && byte < 0xE0) return *ret_bits = byte & 0x1F, *ret_least = 0x80, 2;
    if (byte >= 0xE0 && byte < 0xF0) return *ret_bits = byte & 0x0F, *ret_least = 0x800, 3;
    if (byte >= 0xF0 && byte < 0xF5) return *ret_bits = byte & 0x07, *ret_least = 0x10000, 4;
    return 0;
}

static bool is_character(uint32_t point) {
    return point < 0xD800 || (point > 0xDFFF && point <= 0x10FFFF);
}

size_t utf8_read(const char *text, size_t size, uint32_t *ret_point) {
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80) return *ret_point = bytes[0], 1;
    *ret_point = UTF8_REPLACEMENT;
    uint32_t point = 0, least = 0;
    size_t length = form_of(bytes[0], &point, &least);
    if (length == 0 || length > size) return 1;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 1;
        point = point << 6 | (bytes[i] & 0x3F);
    }
    if (point < least || !is_character(point)) return 1;
    *ret_point = point;
    return length;
}

size_t utf8_write(char ret_bytes[4], uint32_t point) {
    if (!is_character(point)) point = UTF8_REPLACEMENT;
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length; i-- > 1; point >>= 6) ret_bytes[i] = (char)(0x80 | (point & 0x3F));
    ret_bytes[0] = (char)(first[length] | point);
    return length;
}

/* Cf as a whole would take away more than harm: marks of Arabic numbers and the like stay as
 * combining ones. */
static bool is_format_mark(uint32_t point) {
    return (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x206F) || (point >= 0xFE00 && point <= 0xFE0F) ||
           point == 0xFEFF || (point >= 0xFFF9 && point <= 0xFFFB) ||
           (point >= 0x1F3FB && point <= 0x1F3FF) || (point >= 0xE0000 && point <= 0xE0FFF) ||
           point == 0x061C || point == 0x180E;
}

uint32_t utf8_drawn(uint32_t point) {
    if (point == '\t' || point == '\n') return ' ';
    if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return 0;
    if (point < 0x300) return point == 0xAD ? '-' : point;
    if (is_format_mark(point)) return 0;
    if (point >= 0x1F1E6 && point <= 0x1F1FF) return 'A' + (point - 0x1F1E6);
    return point;
}

int utf8_width(uint32_t point) {
    if (point < 0x300) return 1;
    if (is_in(zero, ARRAY_SIZE(zero), point)) return 0;
    return is_in(wide, ARRAY_SIZE(wide), point) ? 2 : 1;
}

static size_t take_plain(const char *text, struct glyph *ret_glyph) {
    uint32_t point = utf8_drawn((unsigned char)text[0]);
    ret_glyph->text[0] = (char)point;
    ret_glyph->width = point != 0;
    return 1;
}

size_t utf8_glyph(const char *text, size_t size, struct glyph *ret_glyph) {
    memset(ret_glyph, 0, sizeof *ret_glyph);
    if ((unsigned char)text[0] < 0x80 && (size == 1 || (unsigned char)text[1] < 0xC0))
        return take_plain(text, ret_glyph);
    uint32_t point;
    size_t used = utf8_read(text, size, &point), filled;
    point = utf8_drawn(point);
    if (point == 0 || utf8_width(point) == 0) return used;
    filled = utf8_write(ret_glyph->text, point);
    ret_glyph->width = (uint8_t)utf8_width(point);
    for (int marks = 0; used < size;) {
        size_t length = utf8_read(text + used, size - used, &point);
        uint32_t drawn = utf8_drawn(point);
        if (point < 0x300 || (drawn != 0 && utf8_width(drawn) != 0)) break;
        used += length;
        if (drawn == 0 || marks == UTF8_MARKS_MAX || filled + length >= UTF8_GLYPH_SIZE) continue;
        filled += utf8_write(ret_glyph->text + filled, drawn);
        marks++;
    }
    return used;
}

int utf8_columns(const char *text) {
    struct glyph glyph;
    int columns = 0;
    for (size_t left = strlen(text), used; left > 0; text += used, left -= used) {
        used = utf8_glyph(text, left, &glyph);
        columns += glyph.width;
    }
    return columns;
}
