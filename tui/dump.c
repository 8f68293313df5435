/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/dump.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/banned.h"

/* Pixels of a cell; with this font size most monospaced fonts come out as wide as that by
 * themselves. */
enum { CELL_WIDTH = 9, CELL_HEIGHT = 18, FONT_SIZE = 15, BASE_LINE = 14, MARGIN = 9 };

static bool is_blank(const struct cell *cell) {
    return !strcmp(cell->text, " ");
}

void dump_text(struct buf *out, const struct canvas *canvas) {
    for (int y = 0; y < canvas_height(canvas); y++) {
        const struct cell *row = canvas_row(canvas, y);
        int end = canvas_width(canvas);
        while (end > 0 && is_blank(&row[end - 1])) end--;
        for (int x = 0; x < end; x++) buf_puts(out, row[x].text);
        buf_puts(out, "\n");
    }
}

/* ---- styles ---- */

enum { SIGNS_MAX = 62 };

static char sign_of(unsigned used[SIGNS_MAX], int *count, unsigned style) {
    static const char signs[] = ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    int at = 0;
    while (at < *count && used[at] != style) at++;
    if (at == SIGNS_MAX) return '?';
    if (at == *count) used[(*count)++] = style;
    return signs[at];
}

void dump_styles(struct buf *out, const struct canvas *canvas) {
    unsigned used[SIGNS_MAX] = {STYLE_PLAIN};
    int count = 1;
    for (int y = 0; y < canvas_height(canvas); y++) {
        const struct cell *row = canvas_row(canvas, y);
        for (int x = 0; x < canvas_width(canvas); x++) {
            char sign = sign_of(used, &count, row[x].style);
            buf_add(out, &sign, 1);
        }
        buf_puts(out, "\n");
    }
    for (int i = 0; i < count; i++) {
        char sign = sign_of(used, &count, used[i]);
        if (used[i] < STYLE_COUNT)
            buf_printf(out, "%c %s\n", sign, style_name((enum style)used[i]));
        else
            buf_printf(out, "%c job 0x%X\n", sign, used[i]);
    }
}

/* ---- SVG ---- */

struct ink {
    int32_t foreground, background;
    unsigned attributes;
};

static struct ink ink_of(enum theme theme, unsigned style) {
    struct look look = theme_look(theme, style);
    struct ink ink = {look.foreground.rgb, look.background.rgb, look.attributes};
    if (ink.foreground < 0) ink.foreground = theme_ink(theme);
    if (ink.background < 0) ink.background = theme_ground(theme);
    if (ink.attributes & LOOK_REVERSE) {
        int32_t swapped = ink.foreground;
        ink.foreground = ink.background;
        ink.background = swapped;
    }
    return ink;
}

static void add_escaped(struct buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '&')
            buf_puts(out, "&amp;");
        else if (*text == '<')
            buf_puts(out, "&lt;");
        else if (*text == '>')
            buf_puts(out, "&gt;");
        else
            buf_add(out, text, 1);
    }
}

static void svg_ground(struct buf *out, const struct ink *ink, int x, int y, int columns) {
    buf_printf(out, "<rect x='%d' y='%d' width='%d' height='%d' fill='#%06" PRIX32 "'/>\n",
               MARGIN + x * CELL_WIDTH, MARGIN + y * CELL_HEIGHT, columns * CELL_WIDTH, CELL_HEIGHT,
               (uint32_t)ink->background);
}

static void svg_run(struct buf *out, const struct ink *ink, const struct cell *row, int x, int end,
                    int y) {
    buf_printf(out, "<text x='%d' y='%d' textLength='%d' fill='#%06" PRIX32 "'%s%s%s>",
               MARGIN + x * CELL_WIDTH, MARGIN + y * CELL_HEIGHT + BASE_LINE,
               (end - x) * CELL_WIDTH, (uint32_t)ink->foreground,
               ink->attributes & LOOK_BOLD ? " font-weight='bold'" : "",
               ink->attributes & LOOK_ITALIC ? " font-style='italic'" : "",
               ink->attributes & LOOK_UNDERLINE ? " text-decoration='underline'" : "");
    for (int i = x; i < end; i++) add_escaped(out, is_blank(&row[i]) ? " " : row[i].text);
    buf_puts(out, "</text>\n");
}

static bool is_plain(const struct cell *cell) {
    return !is_blank(cell) && !(cell->text[0] & 0x80);
}

/* Words by themselves: a run that the font draws too wide or narrow is stretched by itself only.
 * Signs beyond ASCII often come from another font, and not all who show pictures stretch: each
 * stands where its cell is. */
static int word_end(const struct cell *row, int x, int end) {
    bool is_sign = x < end && !is_blank(&row[x]) && !is_plain(&row[x]);
    if (is_sign) return x + (row[x].width > 1 ? row[x].width : 1);
    while (x < end && is_plain(&row[x])) x++;
    return x;
}

static void svg_span(struct buf *out, enum theme theme, const struct cell *row, int start, int end,
                     int y) {
    struct ink ink = ink_of(theme, row[start].style);
    if (ink.background != theme_ground(theme)) svg_ground(out, &ink, start, y, end - start);
    for (int x = start; x < end;) {
        int word = word_end(row, x, end);
        if (word > x) svg_run(out, &ink, row, x, word, y);
        x = word > x ? word : x + 1;
    }
}

void dump_svg(struct buf *out, const struct canvas *canvas, enum theme theme) {
    int columns = canvas_width(canvas), rows = canvas_height(canvas);
    int width = columns * CELL_WIDTH + 2 * MARGIN, height = rows * CELL_HEIGHT + 2 * MARGIN;
    buf_printf(out,
               "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
               "xml:space='preserve'\n"
               " font-family='DejaVu Sans Mono, Menlo, Consolas, monospace' font-size='%d'>\n"
               "<rect width='100%%' height='100%%' rx='6' fill='#%06" PRIX32 "'/>\n",
               width, height, width, height, FONT_SIZE, (uint32_t)theme_ground(theme));
    for (int y = 0; y < rows; y++) {
        const struct cell *row = canvas_row(canvas, y);
        for (int start = 0, end; start < columns; start = end) {
            for (end = start + 1; end < columns && row[end].style == row[start].style;) end++;
            svg_span(out, theme, row, start, end, y);
        }
    }
    buf_puts(out, "</svg>\n");
}
