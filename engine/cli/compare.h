/* `inductop compare [JOB] [--group GROUP] [--force] KEY=VALUE[,...] | as-written | eager | PRESET`: measures what a job runs with
 * against these settings while it trains on, and prints the verdict of each rank. The settings in force stay.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_COMPARE_H
#define INDUCTOP_CLI_COMPARE_H

/* Exit code: 0 when it is sure (faster, slower or a tie) on most ranks, 1 when it cannot be told or was refused, 2 for wrong usage,
 * 125 when there is nobody to ask. `support_dir` holds the shipped presets. */
int compare_command(int argc, char **argv, const char *support_dir);

#endif
