/* `inductop send [JOB] KEY=VALUE[,KEY=VALUE]...`: proposes a change of settings to a job that runs, and waits for what becomes of it.
 * With --forget the settings stay, and what was compiled under the ones given is let go.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_SEND_H
#define INDUCTOP_CLI_SEND_H

/* argv[0] is "send". Returns an exit code: 0 applied on all ranks, 1 it was not, 2 usage, 125 no session or engine. */
int send_command(int argc, char **argv);

#endif
