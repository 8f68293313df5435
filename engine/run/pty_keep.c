/* The keeper's loop: drains the job's terminal whatever happens.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/run/pty_inside.h"
#include "engine/base/banned.h"

enum {
    READ_SIZE = 8192,
    TURN_READS = 16,   /* of output in one round, so that keys and signals get their turn */
    END_READS = 256,   /* at the job's end: what it left behind may write for ever */
    FAREWELL_MS = 200, /* for viewers to read the last bytes */
    ENGINE_MS = 30000, /* for the engine to write its last lines */
    REAP_MS = 200,     /* for a stranger to wait for the job */
};

/* ---- output ---- */

/* Reads until there is no more just now, `reads` times at most. */
static void drain(struct pty *pty, int reads) {
    char bytes[READ_SIZE];
    while (reads-- > 0 && !pty->hung_up) {
        ssize_t size = read(pty->master, bytes, sizeof bytes);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size <= 0) {
            pty->hung_up = true; /* nobody has the terminal open */
            pty->hung_up_ms = pty_now_ms();
            return;
        }
        bool had_gap = pty->state->saved.gap > 0;
        terminal_ring_add(&pty->state->ring, bytes, (size_t)size);
        terminal_output_save(&pty->output, &pty->state->ring, &pty->state->saved);
        if (had_gap != (pty->state->saved.gap > 0))
            terminal_viewers_tell(&pty->viewers, NOTICE_UNSAVED);
        terminal_viewers_feed(&pty->viewers);
    }
}

/* ---- news of the job ---- */

void pty_news(struct pty *pty, enum terminal_news news) {
    __atomic_fetch_or(&pty->state->news, 1u << news, __ATOMIC_ACQ_REL);
    if (pty->poke >= 0 && write(pty->poke, "", 1) < 0) {
    } /* full: it is awake; closed: seen by the other pipe */
}

static void end_job(struct pty *pty) {
    struct terminal_state *state = pty->state;
    if (!pty->over_ms) pty->over_ms = pty_now_ms();
    drain(pty, END_READS);
    exit_file_write(&pty->exit, state->job.status);
    state->exit_written = true;
    terminal_viewers_tell(&pty->viewers, NOTICE_OVER);
}

/* Killed in the middle, what is done twice does no harm. */
static void take_news(struct pty *pty) {
    struct terminal_state *state = pty->state;
    uint32_t news = __atomic_load_n(&state->news, __ATOMIC_ACQUIRE);
    if (!news) return;
    state->due |= news;
    __atomic_fetch_and(&state->news, ~news, __ATOMIC_ACQ_REL);
    if (news & 1u << NEWS_STATE) {
        terminal_viewers_tell(&pty->viewers, NOTICE_STATE);
        pty_continue_if_left(pty);
    }
    if (news & 1u << NEWS_OVER) end_job(pty);
}

/* From Linux 6.15 on a pidfd knows how its process ended; before that the likeliest is said: the
 * kernel hung it up. */
static int status_of_stranger(int job_fd) {
    struct {
        uint64_t mask, group;
        uint32_t ids[11];
        int32_t status;
    } info = {.mask = UINT64_C(1) << 3};
    if (job_fd < 0) return SIGHUP;
    poll(&(struct pollfd){job_fd, 0, 0}, 1,
         REAP_MS); /* POLLHUP: its new parent has waited for it */
    bool is_known = !ioctl(job_fd, _IOC(_IOC_READ | _IOC_WRITE, 0xFF, 11, sizeof info), &info) &&
                    info.mask & UINT64_C(1) << 3;
    return is_known ? info.status : SIGHUP;
}

/* Without a leader the job is nobody's child that we know of. */
static void end_stranger(struct pty *pty) {
    struct terminal_state *state = pty->state;
    state->job.status = status_of_stranger(pty->job_fd);
    state->job.over = true;
    pty_news(pty, NEWS_OVER);
}

/* Pokes of the leader; at the end of file it was killed, and the kernel has hung up the job with
 * it. */
static void read_pokes(struct pty *pty) {
    char pokes[256];
    ssize_t size;
    while ((size = read(pty->news, pokes, sizeof pokes)) > 0) {
    }
    if (size < 0) return;
    close(pty->news);
    pty->news = -1;
    if (!pty->state->job.over && pty->job_fd < 0) end_stranger(pty);
}

/* ---- the front ---- */

static struct link_note note_of(const struct terminal_state *state, enum terminal_news news) {
    int32_t value = 0;
    switch (news) {
    case NEWS_JOB: value = state->job.pid; break;
    case NEWS_EXEC: value = state->job.exec_error; break;
    case NEWS_STATE: value = state->job.state; break;
    case NEWS_OVER: value = state->job.status; break;
    case NEWS_ENGINE: value = state->engine_status; break;
    case NEWS_FAILED: value = state->failure; break;
    case NEWS_COUNT: break;
    }
    return (struct link_note){(int32_t)news, value, news == NEWS_OVER && state->interrupt_by_key};
}

static void close_link(struct pty *pty) {
    close(pty->link);
    pty->link = -1;
}

/* A front that is stopped has only so much room: what is new replaces what it has not got yet. */
static void tell_front(struct pty *pty) {
    struct terminal_state *state = pty->state;
    for (enum terminal_news news = 0; news < NEWS_COUNT && pty->link >= 0; news++) {
        if (!(state->due & 1u << news)) continue;
        struct link_note note = note_of(state, news);
        ssize_t done = send(pty->link, &note, sizeof note, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (done < 0)
            close_link(pty);
        else
            state->due &= ~(1u << news);
    }
}

/* Its end: the front has ended, or detached, and the job lives on. */
static void read_link(struct pty *pty) {
    struct link_note note;
    ssize_t size = recv(pty->link, &note, sizeof note, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size != sizeof note)
        close_link(pty);
    else if (note.what == LINK_SIGNAL)
        pty_pass_on(pty, note.value);
}

/* ---- viewers ---- */

static void set_window(struct pty *pty, const uint8_t *payload) {
    struct terminal_window window;
    memcpy(&window, payload, sizeof window);
    ioctl(pty->master, TIOCSWINSZ,
          &(struct winsize){.ws_row = window.rows, .ws_col = window.columns});
}

static void send_signal(struct pty *pty, uint8_t type, uint8_t signal) {
    pty_ask(pty, signal);
    if (type == TERMINAL_JOB)
        pty_signal_job(pty, signal);
    else
        pty_signal_foreground(pty, signal);
}

static void act(void *ctx, uint8_t type, const uint8_t *payload, size_t size) {
    struct pty *pty = ctx;
    switch (type) {
    case TERMINAL_CHARGE: pty_left(pty); break;
    case TERMINAL_KEYS: pty_type(pty, payload, size); break;
    case TERMINAL_WINDOW: set_window(pty, payload); break;
    case TERMINAL_FOREGROUND:
    case TERMINAL_JOB: send_signal(pty, type, payload[0]); break;
    default: break;
    }
}

/* ---- the loop ---- */

enum slot {
    SLOT_TERMINAL,
    SLOT_LISTENER,
    SLOT_LINK,
    SLOT_NEWS,
    SLOT_SIGNALS,
    SLOT_JOB,
    SLOT_COUNT
};

static void prepare(const struct pty *pty, struct pollfd *polled) {
    const struct terminal_state *state = pty->state;
    short keys = pty->keys_size ? POLLOUT : 0, due = state->due ? POLLOUT : 0;
    bool has_stranger = pty->news < 0 && pty->poke < 0 && !state->job.over;
    polled[SLOT_TERMINAL] = (struct pollfd){pty->hung_up ? -1 : pty->master, POLLIN | keys, 0};
    polled[SLOT_LISTENER] = (struct pollfd){pty->listener, POLLIN, 0};
    polled[SLOT_LINK] = (struct pollfd){pty->link, POLLIN | due, 0};
    polled[SLOT_NEWS] = (struct pollfd){pty->news, POLLIN, 0};
    polled[SLOT_SIGNALS] = (struct pollfd){pty->signals, POLLIN, 0};
    polled[SLOT_JOB] = (struct pollfd){has_stranger ? pty->job_fd : -1, POLLIN, 0};
    terminal_viewers_poll(&pty->viewers, polled + SLOT_COUNT);
}

static void serve(struct pty *pty, const struct pollfd *polled) {
    if (polled[SLOT_TERMINAL].revents & (POLLIN | POLLHUP)) drain(pty, TURN_READS);
    if (polled[SLOT_TERMINAL].revents & POLLOUT) pty_push_keys(pty);
    terminal_viewers_serve(&pty->viewers, polled + SLOT_COUNT);
    if (polled[SLOT_LISTENER].revents) terminal_viewers_accept(&pty->viewers, pty->listener);
    if (polled[SLOT_SIGNALS].revents) pty_read_signals(pty);
    if (polled[SLOT_LINK].revents & (POLLIN | POLLHUP)) read_link(pty);
    if (polled[SLOT_NEWS].revents) read_pokes(pty);
    if (polled[SLOT_JOB].revents) end_stranger(pty);
}

/* The engine has written its last lines long ago, or never will. */
static void end_engine(struct pty *pty) {
    if (pty->engine > 0) kill(pty->engine, SIGKILL);
}

/* How long to wait yet, when nothing happens: -1 for ever, 0 when all is done. */
static int time_left(struct pty *pty) {
    const struct terminal_state *state = pty->state;
    if (!state->exit_written || !pty->hung_up || (pty->link >= 0 && state->due)) return -1;
    int64_t now = pty_now_ms(),
            end = pty->over_ms > pty->hung_up_ms ? pty->over_ms : pty->hung_up_ms;
    int64_t farewell = terminal_viewers_are_behind(&pty->viewers) ? end + FAREWELL_MS - now : 0;
    int64_t engine = pty->engine > 0 ? pty->over_ms + ENGINE_MS - now : 0;
    if (farewell > 0) return (int)farewell;
    if (engine > 0) return (int)engine;
    end_engine(pty);
    return 0;
}

void pty_keep(struct pty *pty) {
    struct pollfd polled[SLOT_COUNT + TERMINAL_VIEWERS_MAX];
    terminal_viewers_init(&pty->viewers, pty->state, act, pty);
    for (;;) {
        take_news(pty);
        tell_front(pty);
        int left = time_left(pty);
        if (left == 0) return;
        prepare(pty, polled);
        if (poll(polled, SLOT_COUNT + TERMINAL_VIEWERS_MAX, left) > 0) serve(pty, polled);
    }
}
