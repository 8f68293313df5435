/* The job's output cut into runs that can be drawn.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine/base/attr.h"
#include "tui/text_inside.h"
#include "engine/base/banned.h"

/* ---- colours ---- */

static int distance(int32_t a, int32_t b) {
    int red = (a >> 16 & 255) - (b >> 16 & 255), green = (a >> 8 & 255) - (b >> 8 & 255),
        blue = (a & 255) - (b & 255);
    return red * red * 3 + green * green * 4 + blue * blue * 2;
}

static int nearest_of_16(int32_t rgb) {
    int best = 0, least = -1;
    for (int i = 0; i < 16; i++) {
        int32_t other =
            theme_look(THEME_DARK, style_of_job((struct job_colours){i, -1, 0})).foreground.rgb;
        int far = distance(rgb, other);
        if (least < 0 || far < least) best = i, least = far;
    }
    return best;
}

/* The cube and the greys of 256 colours. */
static int colour_of_256(int index) {
    if (index < 16) return index;
    if (index >= 232) return nearest_of_16((8 + (index - 232) * 10) * 0x010101);
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    index -= 16;
    return nearest_of_16(levels[index / 36 % 6] << 16 | levels[index / 6 % 6] << 8 |
                         levels[index % 6]);
}

static int part(const struct escape_sequence *sequence, int place) {
    int number = escape_number(sequence, place, 0);
    return number > 255 ? 255 : number;
}

/* 38 and 48: ";5;INDEX" or ";2;R;G;B", in the form with colons an empty place before R. Returns the
 * places used. */
static int wide_colour(const struct escape_sequence *sequence, int place, int *ret_colour) {
    int kind = escape_number(sequence, place + 1, 0);
    if (kind == 5) return *ret_colour = colour_of_256(part(sequence, place + 2)), 3;
    if (kind != 2) return 1;
    int red = place + 2;
    if (red + 3 < sequence->count && sequence->numbers[red] == ESCAPE_MISSING) red++;
    *ret_colour = nearest_of_16(part(sequence, red) << 16 | part(sequence, red + 1) << 8 |
                                part(sequence, red + 2));
    return red + 3 - place;
}

static const struct {
    int number;
    unsigned set, clear;
} attributes[] = {
    {1, LOOK_BOLD, 0},
    {2, LOOK_DIM, 0},
    {3, LOOK_ITALIC, 0},
    {4, LOOK_UNDERLINE, 0},
    {7, LOOK_REVERSE, 0},
    {21, LOOK_UNDERLINE, 0},
    {22, 0, LOOK_BOLD | LOOK_DIM},
    {23, 0, LOOK_ITALIC},
    {24, 0, LOOK_UNDERLINE},
    {27, 0, LOOK_REVERSE},
};

static int colour(struct job_colours *colours, const struct escape_sequence *sequence, int place) {
    int number = escape_number(sequence, place, 0), *plane = number % 100 / 10 == 4 || number >= 100
                                                                 ? &colours->background
                                                                 : &colours->foreground;
    if (number >= 30 && number < 50 && number % 10 < 8)
        *plane = number % 10;
    else if ((number >= 90 && number < 98) || (number >= 100 && number < 108))
        *plane = number % 10 + 8;
    else if (number == 39 || number == 49)
        *plane = -1;
    else if (number == 38 || number == 48)
        return wide_colour(sequence, place, plane);
    return 1;
}

static void set_colours(struct text *text, const struct escape_sequence *sequence) {
    struct job_colours *colours = &text->colours;
    int count = sequence->count ? sequence->count : 1;
    for (int i = 0; i < count;) {
        int number = escape_number(sequence, i, 0);
        if (number == 0) *colours = (struct job_colours){-1, -1, 0};
        for (size_t a = 0; a < ARRAY_SIZE(attributes); a++)
            if (attributes[a].number == number)
                colours->attributes =
                    (colours->attributes & ~attributes[a].clear) | attributes[a].set;
        i += colour(colours, sequence, i);
    }
    bool is_plain = colours->foreground < 0 && colours->background < 0 && colours->attributes == 0;
    text->style = is_plain ? STYLE_OUTPUT : style_of_job(*colours);
}

/* ---- moves ---- */

static void up(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, text->cursor.x, text->cursor.y - escape_number(sequence, 0, 1));
}

static void down(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, text->cursor.x, text->cursor.y + escape_number(sequence, 0, 1));
}

static void right(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, text->cursor.x + escape_number(sequence, 0, 1), text->cursor.y);
}

static void left(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, text->cursor.x - escape_number(sequence, 0, 1), text->cursor.y);
}

static void next_line(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, 0, text->cursor.y + escape_number(sequence, 0, 1));
}

static void previous_line(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, 0, text->cursor.y - escape_number(sequence, 0, 1));
}

static void to_column(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, escape_number(sequence, 0, 1) - 1, text->cursor.y);
}

static void to_row(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, text->cursor.x, escape_number(sequence, 0, 1) - 1);
}

static void to_place(struct text *text, const struct escape_sequence *sequence) {
    text_move(text, escape_number(sequence, 1, 1) - 1, escape_number(sequence, 0, 1) - 1);
}

static void save(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    text->saved = text->cursor;
}

static void restore(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    text_move(text, text->saved.x, text->saved.y);
}

static void index_down(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    text_down(text);
}

static void new_line(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    text->cursor.x = 0;
    text_down(text);
}

static void index_up(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    if (text->is_full && text->cursor.y == text->top)
        text_scroll(text, text->top, -1);
    else
        text_move(text, text->cursor.x, text->cursor.y - 1);
}

/* ---- erasing and shifting ---- */

static void erase_line(struct text *text, const struct escape_sequence *sequence) {
    struct line *line = text_line(text, text->cursor.y);
    int how = escape_number(sequence, 0, 0);
    if (how == 0)
        line_cut(line, text->cursor.x);
    else if (how == 1)
        line_blank(line, 0, text->cursor.x + 1, STYLE_OUTPUT);
    else if (how == 2)
        line_cut(line, 0);
}

static void erase_screen(struct text *text, const struct escape_sequence *sequence) {
    int how = escape_number(sequence, 0, 0), y = text->cursor.y;
    if (how == 2 || how == 3)
        text_clear(text);
    else if (how == 1) {
        text_erase(text, 0, y);
        line_blank(text_line(text, y), 0, text->cursor.x + 1, STYLE_OUTPUT);
    } else if (how == 0) {
        line_cut(text_line(text, y), text->cursor.x);
        text_erase(text, y + 1, text->rows);
        if (!text->is_full) text_forget_below(text, y);
    }
}

static int most_columns(const struct text *text) {
    return text->is_full ? text->columns : TEXT_COLUMNS_MAX;
}

static void insert_blanks(struct text *text, const struct escape_sequence *sequence) {
    line_insert(text_line(text, text->cursor.y), text->cursor.x, escape_number(sequence, 0, 1),
                most_columns(text));
}

static void remove_cells(struct text *text, const struct escape_sequence *sequence) {
    line_remove(text_line(text, text->cursor.y), text->cursor.x, escape_number(sequence, 0, 1));
}

static void blank_cells(struct text *text, const struct escape_sequence *sequence) {
    int x = text->cursor.x;
    line_blank(text_line(text, text->cursor.y), x, x + escape_number(sequence, 0, 1), STYLE_OUTPUT);
}

static void insert_lines(struct text *text, const struct escape_sequence *sequence) {
    if (text->cursor.y >= text->top)
        text_scroll(text, text->cursor.y, -escape_number(sequence, 0, 1));
}

static void remove_lines(struct text *text, const struct escape_sequence *sequence) {
    if (text->cursor.y >= text->top)
        text_scroll(text, text->cursor.y, escape_number(sequence, 0, 1));
}

static void scroll_up(struct text *text, const struct escape_sequence *sequence) {
    text_scroll(text, text->top, escape_number(sequence, 0, 1));
}

static void scroll_down(struct text *text, const struct escape_sequence *sequence) {
    text_scroll(text, text->top, -escape_number(sequence, 0, 1));
}

/* ---- modes ---- */

static void set_region(struct text *text, const struct escape_sequence *sequence) {
    int top = escape_number(sequence, 0, 1) - 1,
        bottom = escape_number(sequence, 1, text->rows) - 1;
    if (!text->is_full || top >= bottom || bottom >= text->rows) return;
    text->top = top;
    text->bottom = bottom;
    text_move(text, 0, 0);
}

static void set_modes(struct text *text, const struct escape_sequence *sequence, bool is_on) {
    for (int i = 0; i < sequence->count; i++) {
        int mode = escape_number(sequence, i, 0);
        if (mode == 1049 || mode == 1047 || mode == 47)
            text_set_full(text, is_on);
        else if (mode == 25)
            text->is_cursor_hidden = !is_on;
    }
}

static void modes_on(struct text *text, const struct escape_sequence *sequence) {
    set_modes(text, sequence, true);
}

static void modes_off(struct text *text, const struct escape_sequence *sequence) {
    set_modes(text, sequence, false);
}

static void reset(struct text *text, ATTR_UNUSED const struct escape_sequence *sequence) {
    text_set_full(text, false);
    text->is_cursor_hidden = false;
    text->colours = (struct job_colours){-1, -1, 0};
    text->style = STYLE_OUTPUT;
}

static const struct {
    bool has_bracket;
    char sign, final;
    void (*run)(struct text *text, const struct escape_sequence *sequence);
} runs[] = {
    {true, 0, 'm', set_colours},   {true, 0, 'A', up},
    {true, 0, 'B', down},          {true, 0, 'C', right},
    {true, 0, 'D', left},          {true, 0, 'E', next_line},
    {true, 0, 'F', previous_line}, {true, 0, 'G', to_column},
    {true, 0, '`', to_column},     {true, 0, 'd', to_row},
    {true, 0, 'H', to_place},      {true, 0, 'f', to_place},
    {true, 0, 's', save},          {true, 0, 'u', restore},
    {true, 0, 'K', erase_line},    {true, 0, 'J', erase_screen},
    {true, 0, '@', insert_blanks}, {true, 0, 'P', remove_cells},
    {true, 0, 'X', blank_cells},   {true, 0, 'L', insert_lines},
    {true, 0, 'M', remove_lines},  {true, 0, 'S', scroll_up},
    {true, 0, 'T', scroll_down},   {true, 0, 'r', set_region},
    {true, '?', 'h', modes_on},    {true, '?', 'l', modes_off},
    {false, 0, '7', save},         {false, 0, '8', restore},
    {false, 0, 'D', index_down},   {false, 0, 'E', new_line},
    {false, 0, 'M', index_up},     {false, 0, 'c', reset},
};

void text_run(struct text *text, const struct escape_sequence *sequence) {
    for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
        if (runs[i].has_bracket == sequence->has_bracket && runs[i].sign == sequence->sign &&
            runs[i].final == sequence->final) {
            runs[i].run(text, sequence);
            return;
        }
}
