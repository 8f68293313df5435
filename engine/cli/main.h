/* The command line: which command it is, and who does it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_MAIN_H
#define INDUCTOP_CLI_MAIN_H

#include <stddef.h>

#include "engine/cli/run.h"

/* A command that is no job. */
struct cli_command {
    const char *name, *argument, *help; /* help NULL: not for people */
    int (*run)(int argc, char **argv);
};

/* What the screen adds, when there is one. */
struct cli_screen {
    run_screen *run; /* shows a job on a terminal; NULL: there is none */
    const struct cli_command *commands;
    size_t command_count;
};

/* Returns the exit code of the program; a job that was started ends the process itself. */
int cli_main(int argc, char **argv, const struct cli_screen *screen);

#endif
