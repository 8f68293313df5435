/* The real path to a terminal: canvas, curses, bytes, a pseudo terminal, and libvterm as the
 * terminal that shows them. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <vterm.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/term.h"
#include "tui/tty.h"
#include "engine/base/banned.h"

/* Curses keeps a little for ever when a terminal would not do. */
ATTR_EXPORT const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:new_prescr\n";
}

enum { WIDTH = 60, HEIGHT = 16, WAIT_MS = 5000 };

/* What the terminal was told besides text. */
struct props {
    int alternate, cursor, mouse;
};

static int master = -1,
           spare = -1; /* our end; the other end held open, so that it outlives a close */
static char path[64];
static VTerm *vterm;
static VTermScreen *screen;
static struct props props;
static struct buf told; /* all bytes since the start of the test */
static struct term *term;
static struct termios modes_before;

static int set_prop(VTermProp prop, VTermValue *value, void *user) {
    (void)user;
    if (prop == VTERM_PROP_ALTSCREEN) props.alternate = value->boolean;
    if (prop == VTERM_PROP_CURSORVISIBLE) props.cursor = value->boolean;
    if (prop == VTERM_PROP_MOUSE) props.mouse = value->number;
    return 1;
}

static void set_size(int width, int height) {
    struct winsize size = {.ws_col = (unsigned short)width, .ws_row = (unsigned short)height};
    ioctl(master, TIOCSWINSZ, &size);
    vterm_set_size(vterm, height, width);
}

static int set_up(void **state) {
    static const VTermScreenCallbacks callbacks = {.settermprop = set_prop};
    (void)state;
    setenv("TERM", "xterm-256color", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLORFGBG");
    master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    assert_int_equal(ptsname_r(master, path, sizeof path), 0);
    spare = open(path, O_RDWR | O_NOCTTY);
    tcgetattr(spare, &modes_before);
    fcntl(master, F_SETFL, O_NONBLOCK);
    vterm = vterm_new(HEIGHT, WIDTH);
    vterm_set_utf8(vterm, 1);
    screen = vterm_obtain_screen(vterm);
    vterm_screen_set_callbacks(screen, &callbacks, NULL);
    vterm_screen_enable_altscreen(screen, 1);
    props = (struct props){0, 1, 0};
    vterm_screen_reset(screen, 1);
    set_size(WIDTH, HEIGHT);
    buf_clear(&told);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    term = term_close(term);
    vterm_free(vterm);
    close(master);
    close(spare);
    buf_done(&told);
    return 0;
}

/* ---- the terminal reads ---- */

static size_t read_once(void) {
    char bytes[4096];
    ssize_t count = read(master, bytes, sizeof bytes);
    if (count <= 0) return 0;
    buf_add(&told, bytes, (size_t)count);
    vterm_input_write(vterm, bytes, (size_t)count);
    char reply[256];
    size_t size = vterm_output_read(vterm, reply, sizeof reply);
    if (size > 0 && write(master, reply, size) < 0) return 0;
    return (size_t)count;
}

/* All that was written arrives: the pseudo terminal is a buffer, so reading until nothing waits is
 * enough. */
static void read_all(void) {
    struct pollfd ready = {.fd = master, .events = POLLIN};
    for (;;) {
        while (read_once() > 0) {
        }
        if (term && term_wants_write(term))
            term_flush(term, NULL);
        else if (poll(&ready, 1, 0) <= 0)
            break;
    }
}

static int open_term(struct term_options options, struct err *err) {
    options.path = path;
    return term_open(&options, &term, err);
}

static void open_plain(void) {
    struct err err = {0};
    if (open_term((struct term_options){.theme = -1}, &err) < 0) fail_msg("%s", err.message);
}

static void draw(const struct canvas *canvas) {
    assert_int_equal(term_draw(term, canvas, NULL), 0);
    read_all();
}

static void screen_text(int x, int y, char out[64]) {
    VTermScreenCell cell;
    size_t at = 0;
    vterm_screen_get_cell(screen, (VTermPos){.row = y, .col = x}, &cell);
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i] && cell.chars[i] != (uint32_t)-1;
         i++)
        at += utf8_write(out + at, cell.chars[i]);
    out[at] = 0;
    if (at == 0) snprintf(out, 64, " ");
}

static void expect_shown(const struct canvas *canvas) {
    char text[64];
    for (int y = 0; y < canvas_height(canvas); y++)
        for (int x = 0; x < canvas_width(canvas); x++) {
            const struct cell *cell = &canvas_row(canvas, y)[x];
            bool is_last = x + 1 == canvas_width(canvas); /* there marks are left out */
            if (cell->width == 0) continue;
            screen_text(x, y, text);
            if (is_last ? strncmp(text, cell->text, strlen(text)) : strcmp(text, cell->text))
                fail_msg("at %d,%d the terminal shows '%s', not '%s'", x, y, text, cell->text);
        }
}

static void scribble(struct canvas *canvas, uint32_t *seed, int strokes) {
    static const char *const texts[] = {
        "hello", "日本語", "e\u0301a\u0308", "█▓▒░", "⣿⣤⣀", "x", "──┼──", "   ", "🚀", "한글"};
    for (int i = 0; i < strokes; i++) {
        *seed = *seed * 1664525 + 1013904223;
        int x = (int)(*seed >> 8 & 63) - 2, y = (int)(*seed >> 14 & 15);
        unsigned style = *seed >> 28 == 0
                             ? style_of_job((struct job_colours){(int)(*seed >> 18 & 15),
                                                                 (int)(*seed >> 22 & 15), 1})
                             : (*seed >> 18 & 63) % STYLE_COUNT;
        area_text(canvas_area(canvas), x, y, style, texts[(*seed >> 24) % ARRAY_SIZE(texts)]);
    }
}

/* ---- tests ---- */

static void test_shows_what_is_drawn(void **state) {
    (void)state;
    static const char *const terms[] = {"xterm-256color", "xterm", "screen", "screen-256color",
                                        "tmux",           "linux", "rxvt",   "vt100"};
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
        uint32_t seed = 7;
        setenv("TERM", terms[i], 1);
        struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
        open_plain();
        for (int frame = 0; frame < 60; frame++) {
            if (frame % 20 == 19) canvas_clear(canvas);
            scribble(canvas, &seed, frame % 20 == 0 ? 200 : 3);
            draw(canvas);
            expect_shown(canvas);
        }
        term = term_close(term);
        read_all();
        canvas_free(canvas);
    }
}

static void test_colours(void **state) {
    (void)state;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    VTermScreenCell cell;
    open_plain();
    area_text(canvas_area(canvas), 0, 0, STYLE_BAD, "bad");
    draw(canvas);
    vterm_screen_get_cell(screen, (VTermPos){.row = 0, .col = 0}, &cell);
    assert_int_equal(cell.attrs.bold, 1);
    assert_true(VTERM_COLOR_IS_INDEXED(&cell.fg) &&
                cell.fg.indexed.idx == theme_look(THEME_DARK, STYLE_BAD).foreground.index);
    term_set_theme(term, THEME_LIGHT);
    draw(canvas);
    vterm_screen_get_cell(screen, (VTermPos){.row = 0, .col = 0}, &cell);
    assert_int_equal(cell.fg.indexed.idx, theme_look(THEME_LIGHT, STYLE_BAD).foreground.index);
    canvas_free(canvas);
}

static void test_without_colours(void **state) {
    (void)state;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    for (int i = 0; i < 3; i++) {
        if (i == 1) setenv("NO_COLOR", "1", 1);
        if (i == 2) setenv("TERM", "vt100", 1);
        buf_clear(&told);
        assert_int_equal(open_term((struct term_options){.theme = -1, .no_color = i == 0}, NULL),
                         0);
        assert_int_equal(term_theme(term), THEME_MONO);
        area_text(canvas_area(canvas), 0, 0, STYLE_BAD, "bad");
        area_text(canvas_area(canvas), 0, 1, style_of_job((struct job_colours){1, 2, 0}), "job");
        draw(canvas);
        const char *frame = strstr(buf_text(&told), "bad");
        assert_non_null(frame);
        if (strstr(buf_text(&told), "\033[3"))
            fail_msg("%d: %s", i, strstr(buf_text(&told), "\033[3") + 1);
        assert_null(strstr(buf_text(&told), "\033[4;3"));
        term = term_close(term);
        read_all();
        unsetenv("NO_COLOR");
    }
    canvas_free(canvas);
}

static void expect_as_before(void) {
    struct termios modes;
    assert_int_equal(tcgetattr(spare, &modes), 0);
    assert_int_equal(modes.c_lflag, modes_before.c_lflag);
    assert_int_equal(modes.c_iflag, modes_before.c_iflag);
    assert_int_equal(modes.c_oflag, modes_before.c_oflag);
    assert_true(!props.alternate && props.cursor && !props.mouse);
    assert_non_null(strstr(buf_text(&told), "\033[?2004l"));
}

static void test_close_puts_all_back(void **state) {
    (void)state;
    struct termios modes;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    draw(canvas);
    tcgetattr(spare, &modes);
    assert_true(!(modes.c_lflag & (ICANON | ECHO | ISIG)) && props.alternate && !props.cursor &&
                props.mouse);
    term = term_close(term);
    read_all();
    expect_as_before();
    canvas_free(canvas);
}

static void test_suspend_and_resume(void **state) {
    (void)state;
    uint32_t seed = 3;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    scribble(canvas, &seed, 100);
    draw(canvas);
    term_suspend(term);
    read_all();
    expect_as_before();
    assert_int_equal(term_draw(term, canvas, NULL), 0); /* nothing is shown meanwhile */
    assert_false(term_wants_write(term));
    vterm_input_write(vterm, "$ ls\r\n", 6);
    assert_int_equal(term_resume(term, NULL), 0);
    draw(canvas);
    assert_true(props.alternate);
    expect_shown(canvas);
    canvas_free(canvas);
}

static void test_resize(void **state) {
    (void)state;
    static const int sizes[][2] = {{20, 5}, {1, 1}, {100, 40}, {300, 80}, {60, 16}};
    uint32_t seed = 5;
    open_plain();
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        int width, height;
        struct canvas *canvas = canvas_new(sizes[i][0], sizes[i][1]);
        set_size(sizes[i][0], sizes[i][1]);
        term_resized(term);
        term_size(term, &width, &height);
        assert_true(width == sizes[i][0] && height == sizes[i][1]);
        scribble(canvas, &seed, 300);
        draw(canvas);
        expect_shown(canvas);
        canvas_free(canvas);
    }
}

static void test_canvas_of_another_size_does_no_harm(void **state) {
    (void)state;
    uint32_t seed = 5;
    open_plain();
    for (int i = 1; i < 120; i += 7) {
        struct canvas *canvas = canvas_new(i, 1 + i / 3);
        scribble(canvas, &seed, 50);
        draw(canvas);
        canvas_free(canvas);
    }
}

static void test_cursor(void **state) {
    (void)state;
    VTermPos at;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    draw(canvas);
    assert_false(props.cursor);
    area_cursor(canvas_area(canvas), 12, 3);
    draw(canvas);
    vterm_state_get_cursorpos(vterm_obtain_state(vterm), &at);
    assert_true(props.cursor && at.row == 3 && at.col == 12);
    canvas_free(canvas);
}

/* Nobody reads: drawing goes on at once, and the newest frame is what shows in the end. */
static void test_terminal_that_does_not_read(void **state) {
    (void)state;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    for (int i = 0; i < 2000; i++) {
        char row[WIDTH + 1];
        for (int x = 0; x < WIDTH; x++) row[x] = (char)('!' + (x * 7 + i * 13) % 90);
        row[WIDTH] = 0;
        for (int y = 0; y < HEIGHT; y++) area_text(canvas_area(canvas), 0, y, 0, row);
        assert_int_equal(term_draw(term, canvas, NULL), 0);
    }
    assert_true(term_wants_write(term));
    struct term_counts counts = term_counts(term);
    assert_true(counts.replaced > 1000 && counts.frames < 1000);
    read_all();
    assert_false(term_wants_write(term));
    expect_shown(canvas);
    canvas_free(canvas);
}

static void test_close_with_a_terminal_that_does_not_read(void **state) {
    (void)state;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    uint32_t seed = 1;
    struct termios modes;
    open_plain();
    for (int i = 0; i < 500; i++) {
        scribble(canvas, &seed, 300);
        term_draw(term, canvas, NULL);
    }
    term = term_close(term); /* returns, and the modes are back although the string may be lost */
    tcgetattr(spare, &modes);
    assert_int_equal(modes.c_lflag, modes_before.c_lflag);
    canvas_free(canvas);
}

static void test_terminal_that_goes_away(void **state) {
    (void)state;
    struct err err = {0};
    char bytes[16];
    open_plain();
    close(master);
    close(spare);
    master = spare = -1;
    assert_true(term_read(term, bytes, sizeof bytes, &err) < 0);
    assert_string_equal(err.message, "the terminal is gone");
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    area_text(canvas_area(canvas), 0, 0, 0, "x");
    assert_true(term_draw(term, canvas, NULL) < 0);
    canvas_free(canvas);
}

static void test_keys_come_in(void **state) {
    (void)state;
    char bytes[64];
    open_plain();
    read_all();
    struct pollfd ready = {.fd = term_fd(term), .events = POLLIN};
    while (term_read(term, bytes, sizeof bytes, NULL) > 0) {
    } /* answers to our questions */
    assert_int_equal(term_read(term, bytes, sizeof bytes, NULL), 0);
    assert_int_equal(write(master, "\x03\x1a\x13q", 4),
                     4); /* no key is a signal or a flow control */
    assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
    assert_int_equal(term_read(term, bytes, sizeof bytes, NULL), 4);
    assert_memory_equal(bytes, "\x03\x1a\x13q", 4);
}

static void test_terminals_that_will_not_do(void **state) {
    (void)state;
    static const char *const terms[] = {"dumb", "no-such-terminal", ""};
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
        struct err err = {0};
        char message[128];
        setenv("TERM", terms[i], 1);
        assert_true(open_term((struct term_options){.theme = -1}, &err) < 0);
        snprintf(message, sizeof message,
                 "terminal '%s' shows no screen: it is not known here, or cannot place its cursor",
                 terms[i]);
        assert_string_equal(err.message, message);
        assert_non_null(strstr(err.hint, "--headless"));
        read_all();
        assert_int_equal(told.size, 0); /* nothing was said to it */
    }
    struct err err = {0};
    struct term_options options = {.path = "/dev/null", .theme = -1};
    assert_true(term_open(&options, &term, &err) < 0);
    assert_string_equal(err.message, "'/dev/null' is no terminal");
    options.path = "/nonexistent";
    assert_true(term_open(&options, &term, &err) < 0);
    assert_non_null(strstr(err.hint, "--headless"));
}

static void test_frames_are_synchronised_when_the_terminal_can(void **state) {
    (void)state;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    assert_non_null(
        strstr(term_counts(term).bytes > 0 ? (read_all(), buf_text(&told)) : "", "\033[?2026$p"));
    draw(canvas);
    assert_null(strstr(buf_text(&told), "\033[?2026h"));
    term_mode_answer(term, 2026, 2);
    area_text(canvas_area(canvas), 0, 0, 0, "x");
    draw(canvas);
    const char *start = strstr(buf_text(&told), "\033[?2026h");
    assert_true(start && strstr(start, "x") && strstr(start, "\033[?2026l"));
    term_mode_answer(term, 2026, 0);
    assert_false(term_counts(term).is_synchronised);
    term = term_close(term);
    setenv("TERM", "linux", 1); /* is not asked, and not told to end what was begun */
    open_plain();
    term_mode_answer(term, 2026, 2);
    assert_false(term_counts(term).is_synchronised);
    canvas_free(canvas);
}

static void test_utf8_is_asked_for_when_the_locale_is_silent(void **state) {
    (void)state;
    static const struct {
        const char *lc_all, *lang, *term;
        bool ascii_option, is_asked, is_ascii;
    } rows[] = {
        {"C.UTF-8", NULL, "xterm", false, false, false},
        {"C.UTF-8", NULL, "xterm", true, false, true},
        {NULL, NULL, "xterm", false, true, true},
        {"C", NULL, "xterm", false, true, true},
        {NULL, NULL, "linux", false, false, true},
        {"de_DE.ISO-8859-1", NULL, "xterm", false, false, true},
        {NULL, NULL, "xterm", true, false, true},
        {"xx_YY.UTF-8", NULL, "xterm", false, false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        unsetenv("LC_ALL");
        unsetenv("LC_CTYPE");
        unsetenv("LANG");
        if (rows[i].lc_all) setenv("LC_ALL", rows[i].lc_all, 1);
        setenv("TERM", rows[i].term, 1);
        buf_clear(&told);
        struct err err = {0};
        if (open_term((struct term_options){.theme = -1, .ascii = rows[i].ascii_option}, &err) < 0)
            fail_msg("row %zu: %s", i, err.message);
        read_all();
        if ((strstr(buf_text(&told), "\033[?6n") != NULL) != rows[i].is_asked)
            fail_msg("row %zu: %s", i, buf_text(&told));
        if (is_term_ascii(term) != rows[i].is_ascii) fail_msg("row %zu", i);
        assert_int_equal(term_position_answer(term, 1), rows[i].is_asked);
        assert_int_equal(is_term_ascii(term), rows[i].is_ascii && !rows[i].is_asked);
        term = term_close(term);
        read_all();
    }
}

static void test_reports_can_be_off(void **state) {
    (void)state;
    open_plain();
    read_all();
    assert_true(props.mouse);
    term_set_reports(term, false);
    read_all();
    assert_false(props.mouse);
    term_set_reports(term, true);
    read_all();
    assert_true(props.mouse);
}

static void on_signal(int number) {
    (void)number;
}

static void test_signal_handlers_stay_ours(void **state) {
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGQUIT};
    struct sigaction now;
    signal(SIGWINCH, on_signal);
    open_plain();
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        sigaction(signals[i], NULL, &now);
        assert_ptr_equal(now.sa_handler, signals[i] == SIGWINCH ? on_signal : SIG_DFL);
    }
    signal(SIGWINCH, SIG_DFL);
}

/* ---- crashes ---- */

static void crash_by_segv(void) {
    raise(SIGSEGV);
}

static int deep(volatile char *from, int left) {
    volatile char room[4096];
    room[0] = *from;
    return left == 0 ? 0 : deep(room, left - 1) + room[1];
}

static void crash_by_stack(void) {
    volatile char start = 1;
    deep(&start, 1 << 20);
}

static void crash_by_memory(void) {
    free(mem_array(1, SIZE_MAX / 4));
}

static void crash_by_exit(void) {
    exit(7);
}

static const struct {
    const char *name;
    void (*crash)(void);
    int signal; /* 0: it exits */
} crash_rows[] = {
    {"abort", abort, SIGABRT},          {"segv", crash_by_segv, SIGSEGV},
    {"stack", crash_by_stack, SIGSEGV}, {"memory", crash_by_memory, -1},
    {"exit", crash_by_exit, 0},
};

static void crash_in_child(void (*crash)(void)) {
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 2);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* the test's own handlers */
    tty_guard();
    open_plain();
    area_text(canvas_area(canvas), 0, 0, 0, "running");
    term_draw(term, canvas, NULL);
    crash();
    _exit(99);
}

static void test_crashes_put_all_back(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer has handlers and a stack of its own */
#endif
    for (size_t i = 0; i < ARRAY_SIZE(crash_rows); i++) {
        int status;
        buf_clear(&told);
        pid_t pid = fork();
        if (pid == 0) crash_in_child(crash_rows[i].crash);
        while (waitpid(pid, &status, WNOHANG) == 0) {
            struct pollfd ready = {.fd = master, .events = POLLIN};
            poll(&ready, 1, 10);
            read_once();
        }
        read_all();
        if (!strstr(buf_text(&told), "running"))
            fail_msg("%s: nothing was drawn", crash_rows[i].name);
        if (crash_rows[i].signal > 0 &&
            !(WIFSIGNALED(status) && WTERMSIG(status) == crash_rows[i].signal))
            fail_msg("%s: status %x", crash_rows[i].name, status);
        if (crash_rows[i].signal == 0) assert_int_equal(WEXITSTATUS(status), 7);
        expect_as_before();
    }
}

/* ---- how much is written ---- */

static void test_small_change_is_few_bytes(void **state) {
    (void)state;
    uint32_t seed = 9;
    struct canvas *canvas = canvas_new(WIDTH, HEIGHT);
    open_plain();
    scribble(canvas, &seed, 300);
    draw(canvas);
    uint64_t before = term_counts(term).bytes;
    draw(canvas);
    assert_int_equal(term_counts(term).bytes - before, 0);
    area_text(canvas_area(canvas), 20, 4, 0, "42");
    draw(canvas);
    assert_in_range(term_counts(term).bytes - before, 2, 60);
    canvas_free(canvas);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_shows_what_is_drawn),
        TEST(test_colours),
        TEST(test_without_colours),
        TEST(test_close_puts_all_back),
        TEST(test_suspend_and_resume),
        TEST(test_resize),
        TEST(test_canvas_of_another_size_does_no_harm),
        TEST(test_cursor),
        TEST(test_terminal_that_does_not_read),
        TEST(test_close_with_a_terminal_that_does_not_read),
        TEST(test_terminal_that_goes_away),
        TEST(test_keys_come_in),
        TEST(test_terminals_that_will_not_do),
        TEST(test_frames_are_synchronised_when_the_terminal_can),
        TEST(test_utf8_is_asked_for_when_the_locale_is_silent),
        TEST(test_reports_can_be_off),
        TEST(test_signal_handlers_stay_ours),
        TEST(test_crashes_put_all_back),
        TEST(test_small_change_is_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
