/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/theme.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

enum colour_id {
#define COLOUR(symbol, ansi, index, rgb) COLOUR_##symbol,
#define STYLE(symbol, help, dark, light, contrast, mono)
#include "tui/theme.def"
#undef COLOUR
#undef STYLE
    COLOUR_COUNT,
    COLOUR_NONE = COLOUR_COUNT
};

static const struct colour colours[] = {
#define COLOUR(symbol, ansi, index, rgb) {ansi, index, rgb},
#define STYLE(symbol, help, dark, light, contrast, mono)
#include "tui/theme.def"
#undef COLOUR
#undef STYLE
    {-1, -1, -1},
};

struct row {
    enum colour_id foreground, background;
    unsigned attributes;
};

enum { BOLD = LOOK_BOLD, DIM = LOOK_DIM, UNDERLINE = LOOK_UNDERLINE, REVERSE = LOOK_REVERSE };

static const struct {
    const char *name, *help;
    struct row rows[THEME_COUNT];
} styles[] = {
#define COLOUR(symbol, ansi, index, rgb)
#define LOOK(foreground, background, attributes)                                                   \
    { COLOUR_##foreground, COLOUR_##background, attributes }
#define STYLE(symbol, help, dark, light, contrast, mono)                                           \
    {#symbol, help, {dark, light, contrast, mono}},
#include "tui/theme.def"
#undef COLOUR
#undef LOOK
#undef STYLE
};

/* The sixteen colours of a job's output as most terminals show them. */
static const int32_t ansi_rgb[] = {0x000000, 0xCD3131, 0x0DBC79, 0xC7A700, 0x2472C8, 0xBC3FBC,
                                   0x11A8CD, 0xCCCCCC, 0x767676, 0xF14C4C, 0x23D18B, 0xF5F543,
                                   0x3B8EEA, 0xD670D6, 0x29B8DB, 0xFFFFFF};

static const struct {
    const char *name;
    int32_t ground, ink;
} themes[] = {
    [THEME_DARK] = {"dark", 0x121212, 0xD8D8D8},
    [THEME_LIGHT] = {"light", 0xFFFFFF, 0x1C1C1C},
    [THEME_CONTRAST] = {"high-contrast", 0x000000, 0xFFFFFF},
    [THEME_MONO] = {"mono", 0x121212, 0xD8D8D8},
};

/* Bit 15 marks it; then five bits each for foreground + 1, background + 1 and the attributes. */
enum { JOB_BIT = 0x8000, FIVE = 31 };

unsigned style_of_job(struct job_colours job) {
    return JOB_BIT | (unsigned)((job.foreground + 1) & FIVE) << 10 |
           (unsigned)((job.background + 1) & FIVE) << 5 | (job.attributes & FIVE);
}

struct job_colours style_to_job(unsigned style) {
    return (struct job_colours){(int)(style >> 10 & FIVE) - 1, (int)(style >> 5 & FIVE) - 1,
                                style & FIVE};
}

bool is_style_of_job(unsigned style) {
    return (style & JOB_BIT) != 0;
}

static struct colour ansi_colour(int number) {
    if (number < 0 || number > 15) return colours[COLOUR_NONE];
    return (struct colour){number, number, ansi_rgb[number]};
}

static struct look job_look(enum theme theme, unsigned style) {
    struct job_colours job = style_to_job(style);
    if (theme == THEME_MONO) job.foreground = job.background = -1;
    return (struct look){ansi_colour(job.foreground), ansi_colour(job.background), job.attributes};
}

struct look theme_look(enum theme theme, unsigned style) {
    if (is_style_of_job(style)) return job_look(theme, style);
    if (style >= STYLE_COUNT) style = STYLE_PLAIN;
    const struct row *row = &styles[style].rows[theme];
    return (struct look){colours[row->foreground], colours[row->background], row->attributes};
}

int32_t theme_ground(enum theme theme) {
    return themes[theme].ground;
}

int32_t theme_ink(enum theme theme) {
    return themes[theme].ink;
}

const char *theme_name(enum theme theme) {
    return themes[theme].name;
}

int theme_find(const char *name) {
    for (int i = 0; i < THEME_COUNT; i++)
        if (!strcmp(themes[i].name, name)) return i;
    return -1;
}

enum theme theme_guess(const char *value) {
    const char *ground = value ? strrchr(value, ';') : NULL;
    if (!ground || ground[1] < '0' || ground[1] > '9') return THEME_DARK;
    long number = strtol(ground + 1, NULL, 10);
    return number == 7 || number >= 9 ? THEME_LIGHT : THEME_DARK;
}

const char *style_name(enum style style) {
    return styles[style].name;
}

const char *style_help(enum style style) {
    return styles[style].help;
}
