/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/ascii.h"

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

/* 0xC0 to 0x17F, the letters without their marks. */
static const char latin[] = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTs"
                            "aaaaaaaceeeeiiiidnooooo/ouuuuyty"
                            "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGg"
                            "GgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlL"
                            "lLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSs"
                            "SsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

static const struct {
    uint32_t point;
    char ascii;
} signs[] = {
    {0xA0, ' '},   {0xA9, 'c'},    {0xAB, '<'},    {0xAC, '!'},   {0xAE, 'R'},   {0xB0, 'o'},
    {0xB1, '~'},   {0xB2, '2'},    {0xB3, '3'},    {0xB5, 'u'},   {0xB7, '.'},   {0xBB, '>'},
    {0x3BC, 'u'},  {0x2010, '-'},  {0x2011, '-'},  {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'},
    {0x2015, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x201C, '"'}, {0x201D, '"'}, {0x2022, '*'},
    {0x2026, '~'}, {0x2190, '<'},  {0x2191, '^'},  {0x2192, '>'}, {0x2193, 'v'}, {0x21B5, '<'},
    {0x2212, '-'}, {0x221E, '8'},  {0x2248, '~'},  {0x2260, '!'}, {0x2264, '<'}, {0x2265, '>'},
    {0x25A0, '#'}, {0x25A1, '-'},  {0x25AA, '#'},  {0x25B2, '^'}, {0x25B4, '^'}, {0x25B6, '>'},
    {0x25B8, '>'}, {0x25BA, '>'},  {0x25BC, 'v'},  {0x25BE, 'v'}, {0x25C0, '<'}, {0x25C2, '<'},
    {0x25C6, '*'}, {0x25CB, 'o'},  {0x25CF, '*'},  {0x2605, '*'}, {0x2713, '+'}, {0x2714, '+'},
    {0x2717, 'x'}, {0x2718, 'x'},
};

static bool is_one_of(const uint8_t *list, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == value) return true;
    return false;
}

/* Lines, whole or dashed, by their place in the block; all else of it are corners and crossings. */
static char box(uint32_t place) {
    static const uint8_t across[] = {0x00, 0x01, 0x04, 0x05, 0x08, 0x09, 0x4C, 0x4D,
                                     0x50, 0x74, 0x76, 0x78, 0x7A, 0x7C, 0x7E};
    static const uint8_t upright[] = {0x02, 0x03, 0x06, 0x07, 0x0A, 0x0B, 0x4E, 0x4F,
                                      0x51, 0x75, 0x77, 0x79, 0x7B, 0x7D, 0x7F};
    if (is_one_of(across, ARRAY_SIZE(across), place)) return '-';
    if (is_one_of(upright, ARRAY_SIZE(upright), place)) return '|';
    return place == 0x71 ? '/' : place == 0x72 ? '\\' : place == 0x73 ? 'X' : '+';
}

static char block(uint32_t point) {
    static const char eighths[] = "__..-==#"; /* 0x2581 to 0x2588 */
    static const char shades[] = ".:%";       /* 0x2591 to 0x2593 */
    if (point >= 0x2581 && point <= 0x2588) return eighths[point - 0x2581];
    if (point >= 0x2591 && point <= 0x2593) return shades[point - 0x2591];
    if (point == 0x2580 || point == 0x2594) return '\'';
    return point == 0x258F || point == 0x2595 ? '|' : '#';
}

static char braille(uint32_t point) {
    static const char by_count[] = " .::||###";
    return by_count[__builtin_popcount(point & 0xFF)];
}

char ascii_for(uint32_t point) {
    if (point >= 0x20 && point < 0x7F) return (char)point;
    if (point >= 0xC0 && point < 0x180) return latin[point - 0xC0];
    if (point >= 0x2500 && point < 0x2580) return box(point - 0x2500);
    if (point >= 0x2580 && point < 0x25A0) return block(point);
    if (point >= 0x2800 && point < 0x2900) return braille(point);
    if (point >= 0xFF01 && point < 0xFF5F) return (char)(point - 0xFF01 + '!');
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (signs[i].point == point) return signs[i].ascii;
    return '?';
}

_Static_assert(sizeof latin == 0x180 - 0xC0 + 1, "one letter for each of 0xC0 to 0x17F");
