/* The program's entry: what has a screen, and all else.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "engine/base/attr.h"
#include "engine/cli/main.h"
#ifdef INDUCTOP_SCREEN
#include "tui/attach_command.h"
#include "tui/front.h"
#include "tui/replay_command.h"
#else
static int left_out(int argc, char **argv) {
    (void)argc;
    fprintf(stderr,
            "inductop: '%s' needs the screen, which was left out of this build: ncursesw or "
            "libtermkey was not there\n",
            argv[0]);
    return 125;
}
#define front_screen NULL
#define attach_command left_out
#define replay_command left_out
#endif
#include "engine/base/banned.h"

static const struct cli_command commands[] = {
    {"attach", "[JOB]", "a screen on a job that runs", attach_command},
    {"replay", "TAPE", "the same screen on the record of a job", replay_command},
};

int main(int argc, char **argv) {
    return cli_main(argc, argv, &(struct cli_screen){front_screen, commands, ARRAY_SIZE(commands)});
}
