/* A command to the engine of a job that runs, and what is told of it: the common part of `inductop send` and `inductop compare`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_REQUEST_H
#define INDUCTOP_CLI_REQUEST_H

#include <stdbool.h>

#include "engine/base/err.h"
#include "engine/event/event.h"
#include "engine/setup/settings.h"

enum { REQUEST_FAILED = 1, REQUEST_USAGE = 2, REQUEST_OWN = 125 }; /* exit codes */

struct request {
    const char *name, *group; /* of the session and of the ranks, NULL: the only one */
    bool is_forced, can_forget, is_forget; /* forget: the settings are not to be wanted, but let go */
    const char *what; /* the command's name on the wire */

    /* An event with the tag of this command, or a variant with its label. The exit code that it ends with, or -1: more is to come. */
    int (*told)(void *ctx, const struct event *event);
    void *ctx;
};

/* Says what is wrong on stderr and returns `code`. */
int request_complain(const struct err *err, int code);

/* Reads [--group GROUP] [--force], and --forget where it can be, from `at` on; returns the place behind them, `argc` when a word is not known. */
int request_options(int argc, char **argv, int at, struct request *ret);

/* Sends it with `change` and follows it to its end. Returns the exit code. */
int request_send(const struct request *request, const struct settings *change);

#endif
