/* A line of pieces, of which the less important ones leave when there is no room: header, status
 * lines, footer. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_PIECES_H
#define INDUCTOP_TUI_PIECES_H

#include "tui/canvas.h"

struct piece {
    const char *text; /* NULL or empty: left out */
    unsigned style;
    int leaves;    /* 0: stays to the last; else the largest leaves first */
    bool is_right; /* stands at the right end */
};

enum { PIECES_MAX = 32 };

/* In the first row of the area, `between` in `style` between neighbours. When even those that stay
 * are too long the last ones are cut. Returns how many are shown. */
int pieces_draw(const struct piece *pieces, size_t count, const char *between, unsigned style,
                struct area area);

#endif
