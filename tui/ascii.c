/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/ascii.h"

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
    {0xA0, ' '},   {0xA9, 'c'},   {0xAB, '<'},   {0xAC, '!'},   {0xAE, 'R'},   {0xB0, 'o'},   {0xB1, '~'},   {0xB2, '2'},   {0xB3, '3'},
    {0xB5, 'u'},   {0xB7, '.'},   {0xBB, '>'},   {0x3BC, 'u'},  {0x2010, '-'}, {0x2011, '-'}, {0x2012, '-'}, {0x2013, '-'}, {0x2014, '-'},
    {0x2015, '-'}, {0x2018, '\''}, {0x2019, '\''}, {0x201C, '"'}, {0x201D, '"'}, {0x2022, '*'}, {0x2026, '~'}, {0x2190, '<'}, {0x2191, '^'},
    {0x2192, '>'}, {0x2193, 'v'}, {0x21B5, '<'}, {0x2212, '-'}, {0x221E, '8'}, {0x2248, '~'}, {0x2260, '!'}, {0x2264, '<'}, {0x2265, '>'},
    {0x25A0, '#'}, {0x25A1, '-'}, {0x25AA, '#'}, {0x25B2, '^'}, {0x25B4, '^'}, {0x25B6, '>'}, {0x25B8, '>'}, {0x25BA, '>'}, {0x25BC, 'v'},
    {0x25BE, 'v'}, {0x25C0, '<'}, {0x25C2, '<'}, {0x25C6, '*'}, {0x25CB, 'o'}, {0x25CF, '*'}, {0x2605, '*'}, {0x2713, '+'}, {0x2714, '+'},
    {0x2717, 'x'}, {0x2718, 'x'},
};

/* Light, heavy and double lines with their dashes; all else of the block is a corner or a crossing. */
static char box(uint32_t point) {
    switch (point) {
    case 0x2500: case 0x2501: case 0x2504: case 0x2505: case 0x2508: case 0x2509: case 0x254C: case 0x254D: case 0x2550:
    case 0x2574: case 0x2576: case 0x2578: case 0x257A: case 0x257C: case 0x257E: return '-';
    case 0x2502: case 0x2503: case 0x2506: case 0x2507: case 0x250A: case 0x250B: case 0x254E: case 0x254F: case 0x2551:
    case 0x2575: case 0x2577: case 0x2579: case 0x257B: case 0x257D: case 0x257F: return '|';
    case 0x2571: return '/';
    case 0x2572: return '\\';
    case 0x2573: return 'X';
    default: return '+';
    }
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
    if (point >= 0x2500 && point < 0x2580) return box(point);
    if (point >= 0x2580 && point < 0x25A0) return block(point);
    if (point >= 0x2800 && point < 0x2900) return braille(point);
    if (point >= 0xFF01 && point < 0xFF5F) return (char)(point - 0xFF01 + '!');
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (signs[i].point == point) return signs[i].ascii;
    return '?';
}

_Static_assert(sizeof latin == 0x180 - 0xC0 + 1, "one letter for each of 0xC0 to 0x17F");
