/* UTF-8 and how many columns its characters take.
 *
 * What is drawn is decided here once, for every text that reaches a cell, so that our idea of a
 * line's length and the terminal's are one: controls, joiners, variation selectors, skin tones and
 * marks of writing direction are never drawn, letters of flags are drawn as plain letters, and
 * marks that combine stay with the character before them. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_UTF8_H
#define INDUCTOP_TUI_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum {
    UTF8_REPLACEMENT = 0xFFFD,
    UTF8_GLYPH_SIZE =
        13, /* bytes of one glyph at most, with its NUL: a character and what combines with it */
    UTF8_MARKS_MAX = 3 /* marks on one character; more are left out */
};

/* Reads one character of text[0..size), size > 0; returns its bytes, 1 to 4. A byte that begins no
 * valid character counts by itself and gives UTF8_REPLACEMENT. */
size_t utf8_read(const char *text, size_t size, uint32_t *ret_point);

/* Writes a character; returns its bytes. What is no character (a surrogate, above 0x10FFFF) is
 * written as UTF8_REPLACEMENT. */
size_t utf8_write(char ret_bytes[4], uint32_t point);

/* The character that is drawn for this one; 0 when nothing is. A tab and a line feed are drawn as a
 * blank. */
uint32_t utf8_drawn(uint32_t point);

/* Columns of a character that utf8_drawn() returned: 0 (combines), 1 or 2. */
int utf8_width(uint32_t point);

/* One glyph as it stands in a cell: NUL-terminated, its unused bytes zero. */
struct glyph {
    char text[UTF8_GLYPH_SIZE];
    uint8_t width; /* 1 or 2; 0: nothing is drawn for these bytes */
};

/* Takes the next glyph off text[0..size), size > 0; returns the bytes it used, at least 1. */
size_t utf8_glyph(const char *text, size_t size, struct glyph *ret_glyph);

/* Columns that the text takes when it is drawn. */
int utf8_columns(const char *text);

#endif
