/* A canvas as text and as a picture, without a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_DUMP_H
#define INDUCTOP_TUI_DUMP_H

#include "engine/base/buf.h"
#include "tui/canvas.h"
#include "tui/theme.h"

/* One line a row, blanks at the end left out, each with a line feed. Added to `out`. */
void dump_text(struct buf *out, const struct canvas *canvas);

/* One line a row: for every column a sign that stands for its style, then a legend of the styles
 * used. For tests of colours. */
void dump_styles(struct buf *out, const struct canvas *canvas);

/* A standalone SVG with the theme's colours in a monospaced font. Added to `out`. */
void dump_svg(struct buf *out, const struct canvas *canvas, enum theme theme);

#endif
