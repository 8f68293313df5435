/* The program's entry: commands with a screen, then all others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

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

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"attach", attach_command},
    {"replay", replay_command},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    return cli_main(argc, argv, front_screen);
}
