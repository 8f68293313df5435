/* Keys from a text, for tests and pictures: what a person would do, without a person.
 *
 *     d A Tab Enter F1 ^L     keys by their names, blanks between
 *     "ms > 40"               text that is typed, \" and \\ in it
 *     step:120 time:12.5      the tape goes to a step, to a time
 *     size:120x40             the screen has another size
 *     # ...                   a comment to the end of the line
 *
 * After every word the tape tells what there is to tell and the screen is drawn. The time does not
 * run by itself. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_SCRIPT_H
#define INDUCTOP_TUI_SCRIPT_H

#include "engine/base/err.h"
#include "engine/feed.h"
#include "tui/app.h"
#include "tui/canvas.h"

struct script_screen {
    struct app *app;
    struct feed *feed;
    struct canvas *canvas;
    bool has_left; /* a key ended the screen: what follows is not run */
};

/* Tells all that the tape has up to where it stands, and draws. */
void script_settle(struct script_screen *screen);

/* Stops at the first word that is none, naming it. */
int script_run(struct script_screen *screen, const char *text, struct err *err);

#endif
