/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/term.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/charset.h"
#include "tui/clipboard.h"
#include "tui/tty.h"
#include "engine/base/banned.h"

enum { PAIRS_MAX = 250, WIDE_MAX = UTF8_MARKS_MAX + 2, MODE_SYNCHRONISED = 2026 };

struct pair {
    int foreground, background;
};

struct term {
    struct tty *tty;
    SCREEN *screen;
    FILE *sink_in, *sink_out; /* of `sink`, where curses writes to */
    int sink;
    char enter[TTY_LEAVE_MAX], leave[TTY_LEAVE_MAX];
    bool has_mouse, is_suspended, is_synchronised, paints_all;
    enum charset charset;
    enum theme theme;
    int colours; /* 0: none */
    struct pair pairs[PAIRS_MAX];
    int pair_count;
    struct canvas *shown, *next; /* on the screen; to be shown when the terminal has read */
    bool has_next;
    struct term_counts counts;
};

/* ---- what the terminal can do ---- */

static const char *capability(const char *name) {
    const char *text = tigetstr(name);
    return text && text != (char *)-1 ? text : "";
}

static void start_colours(struct term *term, const struct term_options *options) {
    const char *no_color = getenv("NO_COLOR");
    bool is_off = options->no_color || (no_color && *no_color);
    if (!is_off && has_colors() && start_color() == OK && use_default_colors() == OK && COLORS >= 8)
        term->colours = COLORS;
    int theme = options->theme >= 0 ? options->theme : (int)theme_guess(getenv("COLORFGBG"));
    term->theme = term->colours ? (enum theme)theme : THEME_MONO;
}

/* Mouse and pastes have no capabilities of their own; terminals without them ignore these. */
static void prepare_strings(struct term *term, bool has_modes) {
    const char *reports = !has_modes        ? ""
                          : term->has_mouse ? "\033[?1000h\033[?1006h\033[?2004h"
                                            : "\033[?2004h";
    const char *questions = !has_modes                     ? ""
                            : term->charset == CHARSET_ASK ? "\033[?2026$p\033[H\303\251\033[?6n"
                                                           : "\033[?2026$p";
    snprintf(term->enter, sizeof term->enter, "%s%s%s%s%s%s%s", capability("smcup"),
             capability("smkx"), capability("sgr0"), capability("rmir"), capability("smam"),
             reports, questions);
    snprintf(term->leave, sizeof term->leave, "%s%s%s%s%s%s",
             has_modes ? "\033[?2026l\033[?2004l\033[?1006l\033[?1000l" : "", capability("sgr0"),
             term->colours ? capability("op") : "", capability("rmkx"), capability("cnorm"),
             capability("rmcup"));
    if (!*capability("rmcup")) snprintf(term->leave + strlen(term->leave), 32, "\r\n");
}

/* ---- curses writes into memory ---- */

static int open_sink(struct term *term, struct err *err) {
    term->sink = memfd_create("screen", MFD_CLOEXEC);
    if (term->sink < 0) return err_set_errno(err, errno, "could not make a buffer for the screen");
    term->sink_out = fdopen(dup(term->sink), "w");
    term->sink_in = fdopen(dup(term->sink), "r");
    return term->sink_out && term->sink_in
               ? 0
               : err_set_errno(err, errno, "could not make a buffer for the screen");
}

/* Hands out what curses wrote since the last time. */
static void drain(struct term *term, struct buf *out) {
    char bytes[4096];
    fflush(term->sink_out);
    lseek(term->sink, 0, SEEK_SET);
    for (ssize_t count; (count = read(term->sink, bytes, sizeof bytes)) > 0;)
        buf_add(out, bytes, (size_t)count);
    if (ftruncate(term->sink, 0) == 0) lseek(term->sink, 0, SEEK_SET);
}

static SCREEN *start_curses(struct term *term, const char *type) {
    static const int signals[] = {SIGTSTP, SIGINT, SIGTERM, SIGWINCH, SIGQUIT};
    struct sigaction before[ARRAY_SIZE(signals)];
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) sigaction(signals[i], NULL, &before[i]);
    SCREEN *screen = newterm(type, term->sink_out, term->sink_in);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) sigaction(signals[i], &before[i], NULL);
    return screen;
}

/* What curses says at its first drawing is thrown away: it would set a scrolling region of the size
 * that it guessed. What of it is needed stands in our own string. */
static void silence_start(struct term *term) {
    CLEANUP(buf_done) struct buf ignored = BUF_INIT;
    nonl();
    leaveok(stdscr, FALSE);
    idcok(stdscr, FALSE);
    refresh();
    drain(term, &ignored);
}

static int no_use(const char *type, struct err *err) {
    int code = err_set(
        err, ERR_INVALID,
        "terminal '%.60s' shows no screen: it is not known here, or cannot place its cursor", type);
    err_hint(err,
             "Set TERM to what the terminal is, for example xterm-256color, or use --headless.");
    return code;
}

static int set_up(struct term *term, const struct term_options *options, struct err *err) {
    const char *type = getenv("TERM");
    if (!type || !*type) return no_use("", err);
    if (open_sink(term, err) < 0) return -ERR_SYSTEM;
    term->charset = charset_guess(type);
    if (options->ascii) term->charset = CHARSET_ASCII;
    term->screen = start_curses(term, type);
    if (!term->screen) return no_use(type, err);
    set_term(term->screen);
    typeahead(-1); /* its input is a file of ours: no need to look for keys there */
    if (!*capability("cup")) return no_use(type, err);
    term->has_mouse = !options->no_mouse;
    start_colours(term, options);
    prepare_strings(term, is_like_xterm(type));
    silence_start(term);
    return 0;
}

static int enter(struct term *term, struct err *err) {
    term->paints_all = true;
    return tty_enter(term->tty, term->enter, term->leave, err);
}

int term_open(const struct term_options *options, struct term **ret_term, struct err *err) {
    struct term *term = mem_new(sizeof *term);
    term->sink = -1;
    term->shown = canvas_new(1, 1);
    term->next = canvas_new(1, 1);
    int code = tty_open(options->path, &term->tty, err);
    if (code == 0) code = set_up(term, options, err);
    if (code == 0) code = enter(term, err);
    if (code < 0) {
        term_close(term);
        return code;
    }
    term_resized(term);
    *ret_term = term;
    return 0;
}

struct term *term_close(struct term *term) {
    if (!term) return NULL;
    tty_close(term->tty);
    if (term->screen) {
        set_term(term->screen);
        delscreen(term->screen);
    }
    if (term->sink_out) fclose(term->sink_out);
    if (term->sink_in) fclose(term->sink_in);
    cleanup_close(&term->sink);
    canvas_free(term->shown);
    canvas_free(term->next);
    free(term);
    return NULL;
}

int term_fd(const struct term *term) {
    return tty_fd(term->tty);
}

void term_size(const struct term *term, int *ret_width, int *ret_height) {
    tty_size(term->tty, ret_width, ret_height);
}

int term_read(struct term *term, char *ret_bytes, size_t size, struct err *err) {
    return tty_read(term->tty, ret_bytes, size, err);
}

/* ---- colours ---- */

static int colour_number(const struct term *term, struct colour colour, attr_t *attributes) {
    if (colour.index < 0) return -1;
    if (term->colours > 256) return colour.rgb;
    if (term->colours == 256) return colour.index;
    if (term->colours >= 16 || colour.ansi < 8) return colour.ansi;
    if (colour.ansi == 8)
        return -1; /* dark grey is black in bold, which some terminals show as black */
    if (attributes) *attributes |= A_BOLD;
    return colour.ansi - 8;
}

static int pair_number(struct term *term, int foreground, int background) {
    if (foreground < 0 && background < 0) return 0;
    for (int i = 0; i < term->pair_count; i++)
        if (term->pairs[i].foreground == foreground && term->pairs[i].background == background)
            return i + 1;
    if (term->pair_count + 1 >= COLOR_PAIRS || term->pair_count == PAIRS_MAX) return 0;
    if (init_extended_pair(term->pair_count + 1, foreground, background) == ERR) return 0;
    term->pairs[term->pair_count] = (struct pair){foreground, background};
    return ++term->pair_count;
}

struct ink {
    attr_t attributes;
    int pair;
};

static struct ink ink_of(struct term *term, unsigned style) {
    static const struct {
        unsigned ours;
        attr_t theirs;
    } rows[] = {{LOOK_BOLD, A_BOLD},
                {LOOK_DIM, A_DIM},
                {LOOK_ITALIC, A_ITALIC},
                {LOOK_UNDERLINE, A_UNDERLINE},
                {LOOK_REVERSE, A_REVERSE}};
    struct look look = theme_look(term->theme, style);
    struct ink ink = {A_NORMAL, 0};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (look.attributes & rows[i].ours) ink.attributes |= rows[i].theirs;
    if (term->colours == 0) return ink;
    int foreground = colour_number(term, look.foreground, &ink.attributes);
    ink.pair = pair_number(term, foreground, colour_number(term, look.background, NULL));
    return ink;
}

/* ---- drawing ---- */

/* The cell as curses wants it. Where the C library, and so perhaps the terminal, disagrees about
 * the width: as many question marks. */
static int to_wide(const struct cell *cell, wchar_t wide[WIDE_MAX]) {
    int count = 0, columns = 0;
    size_t size = strlen(cell->text);
    for (size_t done = 0; done < size && count + 1 < WIDE_MAX;) {
        uint32_t point;
        done += utf8_read(cell->text + done, size - done, &point);
        wide[count] = (wchar_t)point;
        int width = wcwidth(wide[count++]);
        if (width < 0) return -1;
        columns += width;
    }
    wide[count] = 0;
    return columns == cell->width ? count : -1;
}

static int put_cell(cchar_t *out, const struct cell *cell, bool is_last, struct ink *ink) {
    wchar_t wide[WIDE_MAX];
    int count = to_wide(cell, wide);
    if (is_last && count > 1)
        wide[1] = 0; /* marks behind the last column end up in the next row on some terminals */
    if (count > 0) return setcchar(out, wide, ink->attributes, 0, &ink->pair) == OK;
    for (int i = 0; i < cell->width; i++) setcchar(&out[i], L"?", ink->attributes, 0, &ink->pair);
    return cell->width;
}

static void draw_row(struct term *term, const struct cell *row, int width, int y) {
    cchar_t cells[CANVAS_SIDE_MAX];
    struct ink ink = {A_NORMAL, 0};
    unsigned style = UINT32_MAX;
    int count = 0;
    for (int x = 0; x < width; x++) {
        if (row[x].width == 0) continue;
        if (row[x].style != style) ink = ink_of(term, style = row[x].style);
        count += put_cell(&cells[count], &row[x], x + 1 == width, &ink);
    }
    mvadd_wchnstr(y, 0, cells, count);
}

static void draw_changes(struct term *term, const struct canvas *canvas) {
    int width = canvas_width(canvas), height = canvas_height(canvas), x, y;
    bool is_same_size = width == canvas_width(term->shown) && height == canvas_height(term->shown);
    if (!is_same_size || term->paints_all) {
        erase();
        clearok(curscr, TRUE);
    }
    for (y = 0; y < height && y < LINES; y++) {
        const struct cell *row = canvas_row(canvas, y);
        bool is_same = is_same_size && !term->paints_all &&
                       !memcmp(row, canvas_row(term->shown, y), (size_t)width * sizeof *row);
        if (!is_same) draw_row(term, row, width < COLS ? width : COLS, y);
    }
    bool has_cursor = canvas_cursor(canvas, &x, &y) && x < COLS && y < LINES;
    curs_set(has_cursor);
    move(has_cursor ? y : 0, has_cursor ? x : 0);
    term->paints_all = false;
}

static int draw(struct term *term, const struct canvas *canvas, struct err *err) {
    static const char begin[] = "\033[?2026h", end[] = "\033[?2026l";
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    set_term(term->screen);
    draw_changes(term, canvas);
    wnoutrefresh(stdscr);
    doupdate();
    drain(term, &out);
    canvas_copy(term->shown, canvas);
    term->has_next = false;
    term->counts.frames++;
    if (out.size == 0) return 0;
    if (term->is_synchronised) tty_add(term->tty, begin, sizeof begin - 1);
    tty_add(term->tty, out.data, out.size);
    if (term->is_synchronised) tty_add(term->tty, end, sizeof end - 1);
    return tty_flush(term->tty, err);
}

int term_draw(struct term *term, const struct canvas *canvas, struct err *err) {
    if (term->is_suspended) return 0;
    if (tty_waiting(term->tty) == 0) return draw(term, canvas, err);
    term->counts.replaced += term->has_next;
    canvas_copy(term->next, canvas);
    term->has_next = true;
    return tty_flush(term->tty, err);
}

bool term_wants_write(const struct term *term) {
    return !term->is_suspended && (tty_waiting(term->tty) > 0 || term->has_next);
}

int term_flush(struct term *term, struct err *err) {
    int code = tty_flush(term->tty, err);
    if (code < 0 || tty_waiting(term->tty) > 0 || !term->has_next || term->is_suspended)
        return code;
    return draw(term, term->next, err);
}

void term_resized(struct term *term) {
    int width, height;
    term_size(term, &width, &height);
    set_term(term->screen);
    resize_term(height < CANVAS_SIDE_MAX ? height : CANVAS_SIDE_MAX,
                width < CANVAS_SIDE_MAX ? width : CANVAS_SIDE_MAX);
    term->paints_all = true;
    term->has_next = false; /* it had another size */
}

void term_repaint(struct term *term) {
    term->paints_all = true;
}

/* ---- modes ---- */

void term_suspend(struct term *term) {
    term->is_suspended = true;
    term->has_next = false;
    tty_leave(term->tty);
}

int term_resume(struct term *term, struct err *err) {
    if (!term->is_suspended) return 0;
    term->is_suspended = false;
    term_resized(term);
    return enter(term, err);
}

bool is_term_ascii(const struct term *term) {
    return term->charset != CHARSET_UTF8;
}

enum theme term_theme(const struct term *term) {
    return term->theme;
}

void term_set_theme(struct term *term, enum theme theme) {
    term->theme = term->colours ? theme : THEME_MONO;
    term->paints_all = true;
}

bool term_copy(struct term *term, const char *text) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    if (term->is_suspended || !has_clipboard(getenv("TERM"))) return false;
    clipboard_sequence(&out, text);
    tty_add(term->tty, out.data, out.size);
    tty_flush(term->tty, NULL);
    return true;
}

void term_set_reports(struct term *term, bool is_on) {
    static const char on[] = "\033[?1000h\033[?1006h\033[?2004h",
                      off[] = "\033[?2004l\033[?1006l\033[?1000l";
    if (!strstr(term->enter, "\033[?2004h")) return;
    const char *start = is_on && !term->has_mouse ? strstr(on, "\033[?2004h") : is_on ? on : off;
    tty_add(term->tty, start, strlen(start));
    tty_flush(term->tty, NULL);
}

/* An answer that nobody asked for is none: such a terminal is not told to end what was begun. */
bool term_mode_answer(struct term *term, int number, int value) {
    bool is_asked = strstr(term->enter, "\033[?2026$p") != NULL;
    if (number == MODE_SYNCHRONISED && is_asked) term->is_synchronised = value == 1 || value == 2;
    return false;
}

/* Two bytes were sent: one column, if they were taken for one character. */
bool term_position_answer(struct term *term, int x) {
    if (term->charset != CHARSET_ASK) return false;
    term->charset = x == 1 ? CHARSET_UTF8 : CHARSET_ASCII;
    term->paints_all = true;
    return term->charset == CHARSET_UTF8;
}

struct term_counts term_counts(const struct term *term) {
    struct term_counts counts = term->counts;
    counts.bytes = tty_written(term->tty);
    counts.is_synchronised = term->is_synchronised;
    return counts;
}
