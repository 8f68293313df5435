/* `inductop [OPTIONS] -- COMMAND`: runs a job under us, headless, or, on a terminal, under a screen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_RUN_H
#define INDUCTOP_CLI_RUN_H

#include "engine/run/pty.h"
#include "engine/run/session.h"
#include "engine/setup/options.h"

/* What a screen gets: a job that was just started on a terminal of its own, or whose command could not be run (the link says so).
 * All signals are blocked, every disposition is the default. */
struct run_front {
    const struct options *options;
    const struct session *session;
    struct keeper_link *link;
};

/* Shows the job until it is over or a person has left it. Returns 0, or the signal that hung us up. */
typedef int run_screen(const struct run_front *front);

/* Runs `command` (NULL behind the last word) and ends this process as the job ended. `screen` NULL: headless; else headless where
 * no screen makes sense. Returns an exit code only when the options do not allow to run it: then nothing was started. */
int run_job(const struct options *options, char *const *command, run_screen *screen);

/* `inductop demo [OPTIONS]`: the bundled two-rank training job; without a screen with a tour of switches. */
int run_demo(int argc, char **argv, run_screen *screen);

#endif
