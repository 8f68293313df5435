/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/screen.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "tui/canvas.h"
#include "tui/keymap.h"
#include "tui/keys.h"
#include "tui/taste.h"
#include "tui/theme.h"
#include "tui/tty.h"
#include "engine/base/banned.h"

enum {
    IDLE_NS = 1000 * 1000 * 1000,
    READ_SIZE = 4096,
    START_MS = 2,
    START_TURNS = 500,
    EMPTY_TURNS = 20
};

static const int signals[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGHUP, SIGTERM, SIGINT};

enum { SIGNALS_OF_FRONT = 4 }; /* of these; the others go to the job */

struct screen {
    const struct screen_options *options;
    struct term *term;
    struct keys *keys;
    struct canvas *canvas;
    uv_poll_t poll;
    uv_timer_t refresh, escape; /* escape: a lone ESC is a key after a while */
    uv_signal_t signals[ARRAY_SIZE(signals)];
    size_t signal_count;
    int poll_events, ended_by;
    uint64_t drawn_ns;
    int start_turns; /* left until it no longer hurries; 0: it has begun */
    bool is_over, is_suspended;
};

static void finish(struct screen *screen) {
    screen->is_over = true;
    uv_stop(screen->options->loop);
}

/* The signal that says so may come later, or never. */
static void hang_up(struct screen *screen) {
    screen->ended_by = SIGHUP;
    finish(screen);
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Reading always, writing while the terminal has not taken all. */
static void watch(struct screen *screen) {
    int events = UV_READABLE | (term_wants_write(screen->term) ? UV_WRITABLE : 0);
    if (events == screen->poll_events) return;
    screen->poll_events = events;
    uv_poll_start(&screen->poll, events, on_poll);
}

static void draw(struct screen *screen) {
    struct err err;
    if (screen->is_suspended || screen->is_over) return;
    app_draw(screen->options->app, screen->canvas);
    screen->drawn_ns = clock_now_ns();
    if (term_draw(screen->term, screen->canvas, &err) < 0)
        hang_up(screen);
    else
        watch(screen);
}

static void measure(struct screen *screen) {
    int width, height;
    term_resized(screen->term);
    term_size(screen->term, &width, &height);
    canvas_resize(screen->canvas, width, height);
}

static void resize(struct screen *screen) {
    measure(screen);
    draw(screen);
}

/* Only the screen stops: the signal goes to this process alone. */
static void suspend(struct screen *screen) {
    screen->is_suspended = true;
    uv_poll_stop(&screen->poll);
    screen->poll_events = 0;
    term_suspend(screen->term);
    raise(SIGSTOP);
}

static void resume(struct screen *screen) {
    if (!screen->is_suspended) {
        term_repaint(screen->term);
        return;
    }
    screen->is_suspended = false;
    if (term_resume(screen->term, NULL) < 0) {
        finish(screen);
        return;
    }
    resize(screen);
}

/* ---- keys ---- */

/* Kept for the next run, but where there is no choice. */
static void next_theme(struct screen *screen) {
    struct err err;
    enum theme wanted = (enum theme)((term_theme(screen->term) + 1) % THEME_COUNT);
    term_set_theme(screen->term, wanted);
    const char *name = theme_name(term_theme(screen->term));
    if (term_theme(screen->term) != wanted)
        app_tell(screen->options->app, STYLE_PLAIN, "theme %s: there are no colours", name);
    else if (taste_put("theme", name, &err))
        app_tell(screen->options->app, STYLE_WARN, "theme %s, not kept: %s", name, err.message);
    else
        app_tell(screen->options->app, STYLE_PLAIN, "theme %s", name);
}

static void on_key(void *context, const struct key *key) {
    struct screen *screen = context;
    struct term *term = screen->term;
    if (key->kind == KEY_KIND_MODE || key->kind == KEY_KIND_POSITION) {
        if (key->kind == KEY_KIND_MODE)
            term_mode_answer(term, key->code, key->value);
        else
            term_position_answer(term, key->x);
        canvas_set_ascii(screen->canvas, is_term_ascii(term));
        return;
    }
    if (screen->is_over || screen->is_suspended) return;
    unsigned effects = app_key(screen->options->app, key);
    if (effects & APP_EFFECT_THEME) next_theme(screen);
    if (effects & APP_EFFECT_COPY && !term_copy(term, app_copied(screen->options->app)))
        app_tell(screen->options->app, STYLE_WARN, "this terminal has no clipboard to reach");
    if (effects & APP_EFFECT_REPAINT) term_repaint(term);
    if (effects & ACTION_EFFECT_LEAVE)
        finish(screen);
    else if (effects & ACTION_EFFECT_SUSPEND)
        suspend(screen);
}

static void on_escape(uv_timer_t *timer);

static void wait_for_rest(struct screen *screen) {
    uint64_t deadline = keys_deadline_ns(screen->keys), now = clock_now_ns();
    uint64_t wait = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
    if (deadline == 0)
        uv_timer_stop(&screen->escape);
    else
        uv_timer_start(&screen->escape, on_escape, wait, 0);
}

/* While keys go to the job its program sees bytes as they are, from right behind the key that began
 * it. */
static void take_bytes(struct screen *screen, const char *bytes, size_t size) {
    for (size_t used = 0; used < size;) {
        if (app_wants_bytes(screen->options->app))
            used += app_type(screen->options->app, bytes + used, size - used);
        if (used < size) keys_feed(screen->keys, bytes + used++, 1, clock_now_ns());
    }
}

/* How many bytes came; negative: the terminal is gone. */
static int read_keys(struct screen *screen) {
    char bytes[READ_SIZE];
    int count = term_read(screen->term, bytes, sizeof bytes, NULL);
    if (count > 0) take_bytes(screen, bytes, (size_t)count);
    return count;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct screen *screen = poll->data;
    int count = status < 0 ? -1 : 0;
    if (count == 0 && events & UV_READABLE) count = read_keys(screen);
    if (count < 0 || (events & UV_WRITABLE && term_flush(screen->term, NULL) < 0)) {
        hang_up(screen);
        return;
    }
    if (count > 0) {
        wait_for_rest(screen);
        draw(screen);
    } else if (!screen->is_suspended)
        watch(screen);
}

/* What is there already is heard first: a picture may have taken longer than the wait. */
static void on_escape(uv_timer_t *timer) {
    struct screen *screen = timer->data;
    if (screen->is_suspended) return;
    if (read_keys(screen) < 0) {
        hang_up(screen);
        return;
    }
    keys_tick(screen->keys, clock_now_ns());
    wait_for_rest(screen);
    draw(screen);
}

/* ---- time and signals ---- */

static void on_refresh(uv_timer_t *timer);

/* The first picture with something in it comes at once, and not when the refresh is due. An empty
 * one comes before it only when it takes long. */
static void hurry(struct screen *screen) {
    app_turn(screen->options->app, clock_now_ns());
    if (--screen->start_turns > 0 && !is_app_settled(screen->options->app)) {
        if (screen->start_turns == START_TURNS - EMPTY_TURNS) draw(screen);
        return;
    }
    screen->start_turns = 0;
    uv_timer_start(&screen->refresh, on_refresh, screen->options->refresh_ms,
                   screen->options->refresh_ms);
    draw(screen);
}

static void on_refresh(uv_timer_t *timer) {
    struct screen *screen = timer->data;
    if (screen->start_turns > 0) {
        hurry(screen);
        return;
    }
    uint64_t now = clock_now_ns();
    bool is_due = now - screen->drawn_ns >= IDLE_NS;
    bool has_changed = !screen->options->changed || *screen->options->changed;
    bool is_more = app_turn(screen->options->app, now);
    if (has_changed || is_due || is_more) draw(screen);
}

static void on_signal(uv_signal_t *handle, int number) {
    struct screen *screen = handle->data;
    switch (number) {
    case SIGWINCH: resize(screen); break;
    case SIGTSTP: suspend(screen); break;
    case SIGCONT: resume(screen); break;
    default: screen->ended_by = number == SIGINT ? 0 : number; finish(screen);
    }
}

/* Before curses begins: it leaves alone what has a handler. */
static void start_signals(struct screen *screen) {
    signal(SIGPIPE, SIG_IGN);
    screen->signal_count = screen->options->is_front ? SIGNALS_OF_FRONT : ARRAY_SIZE(signals);
    for (size_t i = 0; i < screen->signal_count; i++) {
        uv_signal_init(screen->options->loop, &screen->signals[i]);
        screen->signals[i].data = screen;
        uv_signal_start(&screen->signals[i], on_signal, signals[i]);
    }
    if (screen->options->ready) screen->options->ready(screen->options->ctx);
}

static void stop_signals(struct screen *screen) {
    for (size_t i = 0; i < screen->signal_count; i++)
        uv_close((uv_handle_t *)&screen->signals[i], NULL);
}

static void start(struct screen *screen) {
    uv_loop_t *loop = screen->options->loop;
    uv_poll_init(loop, &screen->poll, term_fd(screen->term));
    uv_timer_init(loop, &screen->refresh);
    uv_timer_init(loop, &screen->escape);
    screen->poll.data = screen->refresh.data = screen->escape.data = screen;
    screen->start_turns = START_TURNS;
    uv_timer_start(&screen->refresh, on_refresh, START_MS, START_MS);
    canvas_set_ascii(screen->canvas, is_term_ascii(screen->term));
    measure(screen);
    watch(screen);
}

static void stop(struct screen *screen) {
    uv_close((uv_handle_t *)&screen->poll, NULL);
    uv_close((uv_handle_t *)&screen->refresh, NULL);
    uv_close((uv_handle_t *)&screen->escape, NULL);
}

static int theme_of_before(void) {
    CLEANUP(cleanup_free) char *name = taste_get("theme");
    return name ? theme_find(name) : -1;
}

int screen_run(const struct screen_options *options, int *ret_signal, struct err *err) {
    struct screen screen = {.options = options, .canvas = canvas_new(80, 24)};
    struct term_options term = options->term;
    if (term.theme < 0) term.theme = theme_of_before();
    start_signals(&screen);
    int rc = term_open(&term, &screen.term, err);
    if (rc == 0) {
        tty_guard();
        rc = keys_new(getenv("TERM"), on_key, &screen, &screen.keys, err);
    }
    if (rc == 0) {
        start(&screen);
        if (!screen.is_over) uv_run(options->loop, UV_RUN_DEFAULT);
        stop(&screen);
    }
    stop_signals(&screen);
    uv_run(options->loop, UV_RUN_NOWAIT);
    keys_free(screen.keys);
    term_close(screen.term);
    canvas_free(screen.canvas);
    *ret_signal = screen.ended_by;
    return rc;
}
