/* `inductop [OPTIONS] -- COMMAND`: runs a job under us, headless.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_RUN_H
#define INDUCTOP_CLI_RUN_H

#include "engine/setup/options.h"

/* Runs `command` (NULL behind the last word) and ends this process as the job ended. Returns an exit code only when the options
 * do not allow to run it: then nothing was started. */
int run_job(const struct options *options, char *const *command);

/* `inductop demo [OPTIONS]`: the bundled two-rank training job with a tour of switches. */
int run_demo(int argc, char **argv);

#endif
