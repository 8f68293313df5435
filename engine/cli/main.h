/* The command line: which command it is, and who does it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_MAIN_H
#define INDUCTOP_CLI_MAIN_H

#include "engine/cli/run.h"

/* `screen`: what shows a job on a terminal, NULL without one. Returns the exit code of the program; a job that was started ends the process itself. */
int cli_main(int argc, char **argv, run_screen *screen);

#endif
