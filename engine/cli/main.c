/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/main.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/cli/engine_process.h"
#include "engine/cli/preset_command.h"
#include "engine/cli/run.h"
#include "engine/cli/send.h"
#include "engine/cli/tables.h"
#include "engine/run/keeper.h"
#include "engine/run/launch.h"
#include "engine/setup/options.h"
#include "engine/base/banned.h"

static int presets(int argc, char **argv) {
    struct err err;
    CLEANUP(cleanup_free) char *support = NULL;
    if (launch_support_dir(&support, &err)) {
        fprintf(stderr, "inductop: %s\n", err.message);
        return KEEPER_FAULT;
    }
    return preset_command(argc, argv, support);
}

/* The commands that are no job. `help` NULL: not for people; `run` NULL: the screen's, done before we are asked. */
static const struct command {
    const char *name, *argument, *help;
    int (*run)(int argc, char **argv);
    int (*run_on_screen)(int argc, char **argv, run_screen *screen); /* of a job; `run` is NULL then */
} commands[] = {
    {"demo", "[OPTIONS]", "bundled two-rank training job, no GPU, no download", NULL, run_demo},
    {"attach", "[JOB]", "a screen on a job that runs headless or was left", NULL},
    {"replay", "TAPE", "the screen on a tape", NULL},
    {"send", "[JOB] KEY=VALUE[,...]", "change settings of a job that runs, on all its ranks at one step", send_command},
    {"preset", "list|show|check", "sets of settings, kept as files", presets},
    {"engine-process", "", NULL, engine_process_main},
};

static void print_help(void) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "htop for torch.compile: watch a training job compile, and turn its settings while it runs\n\n"
                    "usage: inductop [OPTIONS] [--] COMMAND [ARG...]\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (commands[i].help)
            buf_printf(&text, "       inductop %s %-*s  %s\n", commands[i].name,
                       (int)(32 - strlen(commands[i].name)), commands[i].argument, commands[i].help);
    buf_puts(&text, "\n");
    options_print(&text);
    buf_puts(&text, "\nThe exit code is the job's own; 125 to 127 are inductop's faults, as env has them.\n");
    fputs(buf_text(&text), stdout);
    buf_done(&text);
}

static int usage(const struct err *err) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    fputs("inductop: 'inductop --help' lists the options\n", stderr);
    return KEEPER_FAULT;
}

static int run_command(const struct command *command, int argc, char **argv, run_screen *screen) {
    return command->run ? command->run(argc, argv) : command->run_on_screen(argc, argv, screen);
}

int cli_main(int argc, char **argv, run_screen *screen) {
    struct options options;
    struct err err;
    int first = 1;
    keeper_begin();
    if (argc > 1)
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
            if (commands[i].run && strcmp(argv[1], commands[i].name) == 0) return run_command(&commands[i], argc - 1, argv + 1, screen);
    options_init(&options);
    int rc = options_parse(argc, argv, &options, &first, &err);
    if (rc) return usage(&err);
    if (is_option_given(&options, OPTION_HELP)) print_help();
    else if (is_option_given(&options, OPTION_VERSION)) puts("inductop " INDUCTOP_VERSION);
    else if (is_option_given(&options, OPTION_PRINT_SCHEMA)) rc = tables_print_schema(stdout);
    else if (is_option_given(&options, OPTION_PRINT_TABLES)) rc = tables_print(stdout, first < argc ? argv[first] : NULL);
    else if (first >= argc) {
        err_set(&err, ERR_USAGE, "no command to run: inductop [OPTIONS] -- COMMAND");
        rc = usage(&err);
    } else rc = run_job(&options, argv + first, screen);
    options_done(&options);
    return rc;
}
