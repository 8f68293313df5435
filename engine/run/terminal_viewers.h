/* Those who look at a job's terminal: connections on SESSION/tty, each as far behind as it likes.
 * Nothing here ever waits for one of them. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_VIEWERS_H
#define INDUCTOP_RUN_TERMINAL_VIEWERS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/run/terminal_frames.h"
#include "engine/run/terminal_state.h"
#include "engine/wire/frame.h"

enum { TERMINAL_VIEWERS_MAX = 8, TERMINAL_FRAME_MAX = FRAME_HEADER_SIZE + TERMINAL_PAYLOAD_MAX };

/* What one is to be told before more output. */
enum terminal_notice {
    NOTICE_HELLO,
    NOTICE_CHARGE,
    NOTICE_STATE,
    NOTICE_UNSAVED,
    NOTICE_UNREAD,
    NOTICE_OVER, /* behind all output up to the job's end */
    NOTICE_COUNT,
};

struct terminal_viewer {
    int fd;                        /* -1: a free place */
    bool is_deaf;                  /* nothing can be sent any more */
    uint64_t position;             /* of the output that it has not got yet */
    uint64_t born;                 /* its turn in coming */
    uint64_t claim;                /* its turn in asking for charge, 0: it only looks */
    uint32_t due;                  /* bits of enum terminal_notice */
    struct terminal_window window; /* 0 rows: never told */
    size_t out_size, out_done, in_size;
    uint8_t out[TERMINAL_FRAME_MAX], in[TERMINAL_FRAME_MAX];
};

/* What the one in charge asks for. `size` 0 and type TERMINAL_CHARGE: nobody is any more. */
typedef void terminal_act(void *ctx, uint8_t type, const uint8_t *payload, size_t size);

struct terminal_viewers {
    struct terminal_viewer all[TERMINAL_VIEWERS_MAX];
    struct terminal_viewer *charge; /* NULL: nobody */
    uint64_t births, claims;
    const struct terminal_state *state; /* lent */
    terminal_act *act;
    void *ctx;
};

void terminal_viewers_init(struct terminal_viewers *viewers, const struct terminal_state *state,
                           terminal_act *act, void *ctx);

/* Takes the next one from the listening socket; of too many the oldest that is not in charge has to
 * go. */
void terminal_viewers_accept(struct terminal_viewers *viewers, int listener);

/* TERMINAL_VIEWERS_MAX entries to wait for, and what to do once they were waited for. */
void terminal_viewers_poll(const struct terminal_viewers *viewers, struct pollfd *ret_polled);
void terminal_viewers_serve(struct terminal_viewers *viewers, const struct pollfd *polled);

/* Sends what each can take just now. */
void terminal_viewers_feed(struct terminal_viewers *viewers);

void terminal_viewers_tell(struct terminal_viewers *viewers, enum terminal_notice notice);

/* Somebody has not got everything yet. */
bool terminal_viewers_are_behind(const struct terminal_viewers *viewers);

#endif
