/* The screen on a job that was started from here: `inductop -- COMMAND` on a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FRONT_H
#define INDUCTOP_TUI_FRONT_H

#include "engine/cli/run.h"

/* For cli_main(). The screen ends when the job does, or when a person leaves; what the job wrote
 * last then stands on the terminal. When there can be no screen after all, the output goes to
 * stdout until the job has ended. */
int front_screen(const struct run_front *front);

#endif
