/* A look at a job's terminal: the other end of SESSION/tty, for screens. Nothing waits. libc only;
 * belongs to one thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_VIEW_H
#define INDUCTOP_RUN_TERMINAL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/err.h"
#include "engine/run/terminal_frames.h"
#include "engine/wire/frame.h"

/* Output that was written, or that was skipped as this end was too slow (or not there yet): never
 * the same byte twice. */
struct terminal_view_calls {
    void (*output)(void *ctx, const char *bytes, size_t size);
    void (*skipped)(void *ctx, uint64_t bytes);
};

/* Read only, but by the functions below. */
struct terminal_view {
    int fd;            /* readable: terminal_view_read(); -1: not connected */
    uint64_t position; /* of the output: bytes seen or skipped */
    uint64_t next; /* where the keeper is: behind `position` after another connection, until it has
                      caught up */
    pid_t job;
    bool in_charge; /* keys, sizes and signals are taken from here */
    bool stopped;   /* the job is stopped */
    bool over;      /* it has ended */
    int stop_signal;
    int status;           /* of waitpid() */
    bool by_key;          /* of SIGINT from a key */
    uint64_t unsaved;     /* bytes of output that cannot be saved just now (0: all is well), */
    int unsaved_error;    /* and why: errno */
    uint64_t unread_keys; /* bytes typed that the job did not read, and that were dropped */
    size_t in_size;
    uint8_t in[FRAME_HEADER_SIZE + TERMINAL_PAYLOAD_MAX];
};

#define TERMINAL_VIEW_INIT                                                                         \
    { .fd = -1 }

/* Connects; again, too, when the connection had ended: the keeper may have been killed, and its
 * successor serves the same socket. On an error nobody keeps the job any more: it has ended, or
 * will soon. */
int terminal_view_open(struct terminal_view *view, int session_fd, struct err *err);

void terminal_view_close(struct terminal_view *view);

/* Takes in what has come. False when the connection has ended and was closed. */
bool terminal_view_read(struct terminal_view *view, const struct terminal_view_calls *calls,
                        void *ctx);

/* Asks to be in charge. As the others, false when it could not be sent: the keeper does not read,
 * or there is no connection. */
bool terminal_view_take_charge(struct terminal_view *view);
bool terminal_view_type(struct terminal_view *view, const char *bytes, size_t size);
bool terminal_view_resize(struct terminal_view *view, int rows, int columns);

/* To the foreground group of the job's terminal, as a key would; SIGCONT continues a job that was
 * stopped. */
bool terminal_view_signal(struct terminal_view *view, int signal);

/* To the job's own process. */
bool terminal_view_signal_job(struct terminal_view *view, int signal);

#endif
