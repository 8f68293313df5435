/* Where everything goes: a pure function from a screen's size and what is to be seen to rectangles.
 *
 * Whatever the size and the number of ranks: places lie on the screen, do not overlap, and are
 * shown with at least one cell or not at all. The place that has the focus is always among those
 * shown. Small screens get fewer places, down to the header alone in one row. No state, any thread;
 * far below a millisecond. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_LAYOUT_H
#define INDUCTOP_TUI_LAYOUT_H

#include <stdbool.h>

#include "tui/canvas.h"

enum place {
    PLACE_HEADER,
    PLACE_SETTINGS,
    PLACE_CHART,
    PLACE_SPEEDUP,
    PLACE_STAGED, /* one row: what is staged, what an apply will cost, how the last one went */
    PLACE_STRIP,  /* all ranks at once as a heat strip; only with many */
    PLACE_RANKS,
    PLACE_FINDINGS,
    PLACE_OUTPUT,
    PLACE_VIEW,   /* a view on a digit, the middle of the screen by itself */
    PLACE_DETAIL, /* more about the row of the view's cursor */
    PLACE_FOOTER,
    PLACE_COUNT
};

/* How ranks are drawn, by their number and the room. */
enum ranks_as { RANKS_AS_CARDS, RANKS_AS_ROWS, RANKS_AS_STRIP };

enum { LAYOUT_CARD_HEIGHT = 5, LAYOUT_STRIP_FROM = 17, LAYOUT_DIVIDERS_MAX = 3 };

struct layout_wish {
    int width, height;
    int rank_count, setting_count, speedup_count; /* rows that the panels have */
    unsigned hidden;                              /* 1 << place: switched off */
    enum place focus;                             /* of the overview; PLACE_COUNT: none */
    enum place zoom;                              /* this place alone; PLACE_COUNT: none */
    bool has_view, has_detail; /* a view instead of the overview, with more about its row */
    int view_rows;             /* that the view's table has */
    bool has_staged;           /* the staged row stays in sight in views and zooms too */
};

struct layout {
    struct rect places[PLACE_COUNT]; /* width 0: not shown */
    struct rect dividers[LAYOUT_DIVIDERS_MAX];
    int divider_count; /* upright lines between places side by side */
    enum ranks_as ranks_as;
};

struct layout layout_make(const struct layout_wish *wish);

bool is_shown(const struct layout *layout, enum place place);

/* The place under a point; PLACE_COUNT: none. */
enum place layout_at(const struct layout *layout, int x, int y);

/* The next place that can have the focus, forwards (1) or backwards (-1), in the overview. */
enum place layout_next(const struct layout_wish *wish, int direction);

/* A dialog of the size wished, or what fits, in the middle of the screen. */
struct rect layout_dialog(int width, int height, int wish_width, int wish_height);

const char *place_name(enum place place);

#endif
