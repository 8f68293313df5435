/* `inductop attach [JOB]`: a screen on a job that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_ATTACH_COMMAND_H
#define INDUCTOP_TUI_ATTACH_COMMAND_H

/* Returns the exit code: 0 when a person left, also when the job has ended. The job never notices.
 */
int attach_command(int argc, char **argv);

#endif
