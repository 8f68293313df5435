/* The inside of the keeper with a pty: for pty*.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_PTY_INSIDE_H
#define INDUCTOP_RUN_PTY_INSIDE_H

#include <signal.h>
#include <stdint.h>

#include "engine/run/ending.h"
#include "engine/run/keeper.h"
#include "engine/run/shell_signals.h"
#include "engine/run/terminal_output.h"
#include "engine/run/terminal_state.h"
#include "engine/run/terminal_viewers.h"

enum { PTY_KEYS_SIZE = 4096 };

/* What releases the job: in the environment made for it, or, without an engine, in our own. */
enum { PTY_GO = 'g', PTY_GO_BARE = 'b' };

/* On the link. Front to keeper: `what` is LINK_SIGNAL. Keeper to front: enum terminal_news. */
enum { LINK_SIGNAL = 100 };

struct link_note {
    int32_t what, value;
    int32_t by_key; /* with NEWS_OVER */
};

/* What keeper, leader and successor have each. Descriptors are -1 where there is none. */
struct pty {
    const struct keeper_job *job;
    struct shell_signals given;
    bool was_terminal[3];

    int master, slave, listener;
    int link;        /* to the front */
    int said;        /* keeper: what start_engine() has to say goes to the front */
    int news, poke;  /* keeper: the leader has news; leader: its other end */
    int alive;       /* keeper: one end; leader: the other, which tells the keeper's end */
    int go, go_read; /* keeper: releases the held job; leader: its other end */
    int signals;     /* signalfd of all, each process its own */
    int job_fd;      /* keeper: pidfd of the job */
    struct exit_file exit;
    struct terminal_output output;
    struct terminal_state *state; /* shared */

    pid_t leader, engine;        /* engine 0: none of ours, or it has ended */
    bool hung_up;                /* nobody has the terminal open */
    int64_t over_ms, hung_up_ms; /* when that was seen */
    int64_t seen_ms[NSIG];       /* when this process was sent a signal */
    size_t keys_size;
    uint8_t keys[PTY_KEYS_SIZE];
    struct terminal_viewers viewers;

    void (*reap)(struct pty *pty); /* what to do about children */
};

/* The keeper's process, forked by the front; the leader's, forked by the keeper. */
_Noreturn void pty_keeper_main(struct pty *pty);
_Noreturn void pty_leader_main(struct pty *pty);

/* Keeps the terminal until the job is over and nobody has it open any more. */
void pty_keep(struct pty *pty);

/* -1 when there is none to be had. */
int pty_open_signals(void);

/* Says that something has changed; in the leader, the keeper is poked. */
void pty_news(struct pty *pty, enum terminal_news news);

/* Keys (pty_keys.c). Type: what the job does not read is dropped, never waited for. Left: nobody is
 * there to press ^Q or to continue the job. */
void pty_type(struct pty *pty, const uint8_t *bytes, size_t size);
void pty_push_keys(struct pty *pty);
void pty_left(struct pty *pty);

/* Signals (pty_signals.c). To the job they go only until it is over. */
void pty_signal_foreground(struct pty *pty, int signal);
void pty_signal_job(struct pty *pty, int signal);

/* From the front: dropped when this process was sent it, too. */
void pty_pass_on(struct pty *pty, int signal);

/* Takes in what was sent to this process. */
void pty_read_signals(struct pty *pty);

/* Who is in charge asks for it, by a key or a frame. */
void pty_ask(struct pty *pty, int signal);

/* Continues a job that was stopped by one who has left. */
void pty_continue_if_left(struct pty *pty);

int64_t pty_now_ms(void);

#endif
