/* Keys on their way to the job's terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "engine/run/pty_inside.h"
#include "engine/base/banned.h"

static int signal_of_key(const struct termios *modes, uint8_t key) {
    if (!(modes->c_lflag & ISIG) || key == _POSIX_VDISABLE) return 0;
    if (key == modes->c_cc[VINTR]) return SIGINT;
    if (key == modes->c_cc[VQUIT]) return SIGQUIT;
    return key == modes->c_cc[VSUSP] ? SIGTSTP : 0;
}

void pty_push_keys(struct pty *pty) {
    while (pty->keys_size) {
        ssize_t done = write(pty->master, pty->keys, pty->keys_size);
        if (done <= 0) return;
        pty->keys_size -= (size_t)done;
        memmove(pty->keys, pty->keys + done, pty->keys_size);
    }
}

/* A key that makes a signal would wait for ever behind keys that nobody reads: then the signal goes
 * out and, as with any terminal, takes what was typed before with it. */
static void type_one(struct pty *pty, const struct termios *modes, uint8_t key, bool is_stuck) {
    int signal = signal_of_key(modes, key);
    if (signal) pty_ask(pty, signal);
    if (signal && is_stuck) {
        pty->keys_size = 0;
        pty_signal_foreground(pty, signal);
    } else if (pty->keys_size < PTY_KEYS_SIZE - 1)
        pty->keys[pty->keys_size++] = key; /* one is kept for ^Q */
    else
        pty->state->keys_unread++;
}

void pty_type(struct pty *pty, const uint8_t *bytes, size_t size) {
    struct termios modes;
    uint64_t unread = pty->state->keys_unread;
    if (tcgetattr(pty->master, &modes)) modes = (struct termios){0};
    pty_push_keys(pty);
    bool is_stuck = pty->keys_size > 0;
    for (size_t i = 0; i < size; i++) type_one(pty, &modes, bytes[i], is_stuck);
    pty_push_keys(pty);
    if (pty->state->keys_unread != unread) terminal_viewers_tell(&pty->viewers, NOTICE_UNREAD);
}

void pty_left(struct pty *pty) {
    struct termios modes;
    if (!tcgetattr(pty->master, &modes) && modes.c_iflag & IXON &&
        modes.c_cc[VSTART] != _POSIX_VDISABLE && pty->keys_size < PTY_KEYS_SIZE)
        pty->keys[pty->keys_size++] = modes.c_cc[VSTART];
    pty_push_keys(pty);
    pty->state->left_ms = pty_now_ms();
    pty_continue_if_left(pty);
}
