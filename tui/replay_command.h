/* `inductop replay TAPE`: the screen on a tape, on the terminal or into a file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_REPLAY_COMMAND_H
#define INDUCTOP_TUI_REPLAY_COMMAND_H

/* Returns the exit code. */
int replay_command(int argc, char **argv);

#endif
