/* Themes: what the style numbers of a canvas look like.
 *
 * A style is a row of theme.def (STYLE_PLAIN is 0), or the colours that a job gave its output,
 * packed by style_of_job(). Read-only, any thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_THEME_H
#define INDUCTOP_TUI_THEME_H

#include <stdbool.h>
#include <stdint.h>

enum style {
#define COLOUR(symbol, ansi, index, rgb)
#define STYLE(symbol, help, dark, light, contrast, mono) STYLE_##symbol,
#include "tui/theme.def"
#undef COLOUR
#undef STYLE
    STYLE_COUNT
};

enum theme { THEME_DARK, THEME_LIGHT, THEME_CONTRAST, THEME_MONO, THEME_COUNT };

enum look_attribute {
    LOOK_BOLD = 1,
    LOOK_DIM = 2,
    LOOK_ITALIC = 4,
    LOOK_UNDERLINE = 8,
    LOOK_REVERSE = 16
};

/* A colour for terminals of 16 and of 256 colours and for pictures; -1: the terminal's own. */
struct colour {
    int ansi, index;
    int32_t rgb;
};

struct look {
    struct colour foreground, background;
    unsigned attributes; /* of look_attribute */
};

/* What a job asked for by its escape sequences. */
struct job_colours {
    int foreground, background; /* 0 to 15, -1: none */
    unsigned attributes;
};

/* A style number for it, never that of a row. */
unsigned style_of_job(struct job_colours colours);
struct job_colours style_to_job(unsigned style);
bool is_style_of_job(unsigned style);

/* Unknown numbers look plain. In THEME_MONO a job's colours are left out, its attributes stay. */
struct look theme_look(enum theme theme, unsigned style);

/* What stands in for the terminal's own colours in pictures, as 0xRRGGBB. */
int32_t theme_ground(enum theme theme);
int32_t theme_ink(enum theme theme);

const char *theme_name(enum theme theme); /* "dark", "light", "high-contrast", "mono" */
int theme_find(const char *name);         /* -1: unknown */

/* Dark or light by the variable COLORFGBG ("15;0"), which some terminals set; `value` may be NULL:
 * dark. */
enum theme theme_guess(const char *value);

const char *style_name(enum style style);
const char *style_help(enum style style);

#endif
