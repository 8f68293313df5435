/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

/* Ends a sequence that was cut in the middle, before anything else is said. */
#define CANCEL "\030"

struct tty {
    int fd;
    struct buf out;
    uint64_t written;
};

/* The way back. Set whole before `fd`, which says that it is valid. */
static struct {
    volatile sig_atomic_t fd; /* -1: no terminal is entered */
    pid_t pid;
    struct termios modes;
    char leave[TTY_LEAVE_MAX];
    size_t leave_size;
} back = {.fd = -1};

/* ---- opening ---- */

int tty_open(const char *path, struct tty **ret_tty, struct err *err) {
    const char *name = path ? path : "/dev/tty";
    int fd = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        int code = err_set_errno(err, errno, "could not open the terminal '%s'", name);
        err_hint(err, "Without a terminal use --headless, and --json for figures.");
        return code;
    }
    if (!isatty(fd)) {
        close(fd);
        return err_set(err, ERR_INVALID, "'%s' is no terminal", name);
    }
    struct tty *tty = mem_new(sizeof *tty);
    tty->fd = fd;
    *ret_tty = tty;
    return 0;
}

struct tty *tty_close(struct tty *tty) {
    if (!tty) return NULL;
    tty_leave(tty);
    close(tty->fd);
    buf_done(&tty->out);
    free(tty);
    return NULL;
}

int tty_fd(const struct tty *tty) {
    return tty->fd;
}

void tty_size(const struct tty *tty, int *ret_width, int *ret_height) {
    struct winsize size = {0};
    bool is_known = ioctl(tty->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *ret_width = is_known ? size.ws_col : 80;
    *ret_height = is_known ? size.ws_row : 24;
}

/* ---- the way back ---- */

static bool is_background(int fd) {
    pid_t foreground = tcgetpgrp(fd);
    return foreground > 0 && foreground != getpgrp();
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Bounded: a terminal that has stopped reading gets less. */
static void write_for_a_while(int fd, const char *bytes, size_t size) {
    long end = now_ms() + TTY_LEAVE_MS;
    while (size > 0) {
        ssize_t count = write(fd, bytes, size);
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
            continue;
        }
        if (count < 0 && errno != EAGAIN && errno != EINTR) return;
        long left = end - now_ms();
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (left <= 0 || (poll(&wait, 1, (int)left) == 0)) return;
    }
}

/* A stopped or changed foreground between the check and the call must not stop us. */
static void set_modes(int fd, const struct termios *modes) {
    sigset_t only, before;
    sigemptyset(&only);
    sigaddset(&only, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &only, &before);
    tcsetattr(fd, TCSANOW, modes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tty_restore(void) {
    int error = errno, fd = back.fd;
    if (fd < 0 || back.pid != getpid()) return;
    back.fd = -1;
    if (!is_background(fd)) {
        write_for_a_while(fd, back.leave, back.leave_size);
        tcflush(fd, TCIFLUSH); /* reports of the mouse that nobody reads any more */
        set_modes(fd, &back.modes);
    }
    errno = error;
}

int tty_enter(struct tty *tty, const char *enter, const char *leave, struct err *err) {
    struct termios modes;
    size_t size = strlen(leave);
    if (size + sizeof CANCEL > TTY_LEAVE_MAX)
        return err_set(err, ERR_LIMIT, "the terminal's sequences are too long");
    if (tcgetattr(tty->fd, &modes) < 0)
        return err_set_errno(err, errno, "could not ask for the terminal's modes");
    back.modes = modes;
    back.pid = getpid();
    memcpy(back.leave, CANCEL, sizeof CANCEL - 1);
    memcpy(back.leave + sizeof CANCEL - 1, leave, size);
    back.leave_size = sizeof CANCEL - 1 + size;
    cfmakeraw(&modes);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    back.fd = tty->fd;
    set_modes(tty->fd, &modes);
    tty_add(tty, enter, strlen(enter));
    return tty_flush(tty, err);
}

void tty_leave(struct tty *tty) {
    buf_clear(&tty->out);
    if (back.fd == tty->fd) tty_restore();
}

/* ---- writing and reading ---- */

void tty_add(struct tty *tty, const char *bytes, size_t size) {
    buf_add(&tty->out, bytes, size);
}

static int gone(int number, struct err *err) {
    if (number == 0 || number == EIO || number == ENXIO)
        return err_set(err, ERR_MISSING, "the terminal is gone");
    return err_set_errno(err, number, "could not use the terminal");
}

int tty_flush(struct tty *tty, struct err *err) {
    size_t done = 0;
    int code = 0;
    while (done < tty->out.size && code == 0) {
        ssize_t count = write(tty->fd, tty->out.data + done, tty->out.size - done);
        if (count > 0)
            done += (size_t)count;
        else if (count < 0 && errno == EAGAIN)
            break;
        else if (count < 0 && errno != EINTR)
            code = gone(errno, err);
    }
    tty->written += done;
    buf_drop(&tty->out, done);
    return code;
}

size_t tty_waiting(const struct tty *tty) {
    return tty->out.size;
}

uint64_t tty_written(const struct tty *tty) {
    return tty->written;
}

int tty_read(struct tty *tty, char *ret_bytes, size_t size, struct err *err) {
    for (;;) {
        ssize_t count = read(tty->fd, ret_bytes, size);
        if (count > 0) return (int)count;
        if (count < 0 && errno == EAGAIN) return 0;
        if (count < 0 && errno == EINTR) continue;
        return gone(count == 0 ? 0 : errno, err);
    }
}

/* ---- guard ---- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction actions_before[ARRAY_SIZE(crashes)];

/* The handler that was there takes the signal again: a fault is repeated on return, what was sent
 * is sent anew. */
static void on_crash(int number, siginfo_t *info, ATTR_UNUSED void *context) {
    tty_restore();
    for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
        if (crashes[i] == number) sigaction(number, &actions_before[i], NULL);
    if (info->si_code <= 0) raise(number);
}

void tty_guard(void) {
    static char stack[64 * 1024]; /* a crash for want of stack has none to run the handler on */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaltstack(&other, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
        sigaction(crashes[i], &action, &actions_before[i]);
    atexit(tty_restore);
    mem_set_hook(tty_restore);
}
