/* `inductop preset list|show|check`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_PRESET_COMMAND_H
#define INDUCTOP_CLI_PRESET_COMMAND_H

/* argv[0] is the word "preset". `support_dir` is the folder that holds the shipped presets' folder;
 * NULL: none. Prints to stdout, faults to stderr. Returns the exit code: 0; 1 when a preset is
 * missing or has a fault; 2 when the command is not understood. */
int preset_command(int argc, char **argv, const char *support_dir);

#endif
