/* The terminal as a screen: shows a canvas. The only file that includes curses.
 *
 * Curses works out the bytes (into memory, never into the terminal); tty.h writes them without
 * waiting. While the terminal has not read what it was sent, newer frames replace each other and
 * the newest is shown: term_draw() never waits. The caller watches term_fd() for reading, and for
 * writing while term_wants_write(). Curses does not read: term_read() gives bytes for tui/keys.h.
 * Its signal handlers are taken out again at once. Belongs to who made it. One thread, one at a
 * time. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TERM_H
#define INDUCTOP_TUI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "tui/canvas.h"
#include "tui/theme.h"

struct term_options {
    const char *path; /* of the terminal; NULL: /dev/tty */
    bool ascii;       /* never anything but ASCII */
    bool no_color;    /* as if NO_COLOR were set */
    int theme;        /* enum theme; -1: guessed */
    bool no_mouse;
};

struct term;

/* Takes the terminal over: alternate screen, raw keys, pastes in brackets, mouse. Fails with a hint
 * at --headless when there is no terminal or it cannot place its cursor. Sets the locale for
 * characters (LC_CTYPE). */
int term_open(const struct term_options *options, struct term **ret_term, struct err *err);

/* Gives it back as it was. Accepts NULL. */
struct term *term_close(struct term *term);

int term_fd(const struct term *term);
void term_size(const struct term *term, int *ret_width, int *ret_height);

/* Bytes; 0: none now; negative: the terminal is gone. */
int term_read(struct term *term, char *ret_bytes, size_t size, struct err *err);

/* Shows the canvas, now or when the terminal is ready for it. The canvas is copied. */
int term_draw(struct term *term, const struct canvas *canvas, struct err *err);

bool term_wants_write(const struct term *term);

/* Writes on, when the descriptor takes bytes again. */
int term_flush(struct term *term, struct err *err);

/* The window has another size (SIGWINCH): the next drawing paints all. */
void term_resized(struct term *term);

/* The next drawing paints all. */
void term_repaint(struct term *term);

/* The terminal as it was before, and back again; in between nothing is shown. */
void term_suspend(struct term *term);
int term_resume(struct term *term, struct err *err);

/* Should what is drawn be ASCII? May change when the terminal answers; then everything has to be
 * drawn anew. */
bool is_term_ascii(const struct term *term);

enum theme term_theme(const struct term *term);
void term_set_theme(struct term *term, enum theme theme);

/* To the terminal's clipboard; false: this one has none that is known. */
bool term_copy(struct term *term, const char *text);

/* While keys go to the job the terminal sends no reports. */
void term_set_reports(struct term *term, bool is_on);

/* Answers that came in as keys: of the private mode `number`, of the cursor's place. Returns true
 * when is_term_ascii() changed. */
bool term_mode_answer(struct term *term, int number, int value);
bool term_position_answer(struct term *term, int x);

struct term_counts {
    uint64_t bytes, frames, replaced; /* replaced: frames that a newer one took the place of */
    bool is_synchronised;             /* the terminal shows frames whole (mode 2026) */
};

struct term_counts term_counts(const struct term *term);

#endif
