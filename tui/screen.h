/* An app on a real terminal, driven by a libuv loop: keys at once, pictures at most at the refresh
 * rate, and a key never waits for data. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_SCREEN_H
#define INDUCTOP_TUI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engine/base/err.h"
#include "tui/app.h"
#include "tui/term.h"

struct screen_options {
    uv_loop_t *loop;
    struct app *app;
    const bool *changed; /* set by whoever knows that there is something new; may be NULL: always */
    uint64_t refresh_ms;
    struct term_options term;

    /* The front of a job passes signals on by itself: of those, the screen takes only SIGWINCH,
     * SIGTSTP, SIGCONT and SIGHUP. `ready` is called once its handlers stand. NULL: nobody cares.
     */
    bool is_front;
    void (*ready)(void *ctx);
    void *ctx;
};

/* Shows the app until a person leaves, the terminal goes away or a signal ends it. The terminal is
 * as before when this returns. `ret_signal`: SIGHUP or SIGTERM when that was why, else 0. */
int screen_run(const struct screen_options *options, int *ret_signal, struct err *err);

#endif
