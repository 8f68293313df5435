/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/main.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/cli/compare.h"
#include "engine/cli/engine_process.h"
#include "engine/cli/manual.h"
#include "engine/cli/preset_command.h"
#include "engine/cli/run.h"
#include "engine/cli/send.h"
#include "engine/cli/tables.h"
#include "engine/run/keeper.h"
#include "engine/run/launch.h"
#include "engine/setup/options.h"
#include "engine/base/banned.h"

/* A command that needs the shipped presets. */
static int with_support(int argc, char **argv, int (*run)(int argc, char **argv, const char *support_dir)) {
    struct err err;
    CLEANUP(cleanup_free) char *support = NULL;
    if (launch_support_dir(&support, &err)) {
        fprintf(stderr, "inductop: %s\n", err.message);
        return KEEPER_FAULT;
    }
    return run(argc, argv, support);
}

static int presets(int argc, char **argv) {
    return with_support(argc, argv, preset_command);
}

static int compare(int argc, char **argv) {
    return with_support(argc, argv, compare_command);
}

/* The commands that are no job of the user's; the demo is one, without a function. */
static const struct cli_command commands[] = {
    {"demo", "[OPTIONS]", "bundled two-rank training job, no GPU, no download", NULL},
    {"send", "[JOB] KEY=VALUE[,...]", "change settings of a job that runs, on all its ranks at one step", send_command},
    {"compare", "[JOB] KEY=VALUE[,...]|PRESET", "measure what a job runs with against other settings while it trains", compare},
    {"preset", "list|show|check", "sets of settings, kept as files", presets},
    {"engine-process", "", NULL, engine_process_main},
};

static void print_command(struct buf *text, const char *name, const char *argument, const char *help) {
    buf_printf(text, "       inductop %s %-*s  %s\n", name, (int)(32 - strlen(name)), argument, help);
}

static void print_commands(struct buf *text, const struct cli_command *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i].help) print_command(text, list[i].name, list[i].argument, list[i].help);
}

static void print_help(const struct cli_screen *screen) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "htop for torch.compile: watch a training job compile, and turn its settings while it runs\n\n"
                    "usage: inductop [OPTIONS] [--] COMMAND [ARG...]\n");
    print_commands(&text, screen->commands, screen->command_count);
    print_commands(&text, commands, ARRAY_SIZE(commands));
    buf_puts(&text, "\n");
    options_print(&text);
    buf_puts(&text, "\nThe exit code is the job's own; 125 to 127 are inductop's faults, as env has them.\n");
    fputs(buf_text(&text), stdout);
    buf_done(&text);
}

static void print_manual(const struct cli_screen *screen) {
    const struct cli_command *lists[] = {screen->commands, commands};
    manual_print(stdout, lists, (size_t[]){screen->command_count, ARRAY_SIZE(commands)}, ARRAY_SIZE(lists));
}

static const struct cli_command *find(const struct cli_command *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static int usage(const struct err *err) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    fputs("inductop: 'inductop --help' lists the options\n", stderr);
    return KEEPER_FAULT;
}

int cli_main(int argc, char **argv, const struct cli_screen *screen) {
    struct options options;
    struct err err;
    int first = 1;
    keeper_begin();
    const char *word = argc > 1 ? argv[1] : "";
    const struct cli_command *command = find(screen->commands, screen->command_count, word);
    if (!command) command = find(commands, ARRAY_SIZE(commands), word);
    if (command) return command->run ? command->run(argc - 1, argv + 1) : run_demo(argc - 1, argv + 1, screen->run);
    options_init(&options);
    int rc = options_parse(argc, argv, &options, &first, &err);
    if (rc) return usage(&err);
    if (is_option_given(&options, OPTION_HELP)) print_help(screen);
    else if (is_option_given(&options, OPTION_VERSION)) puts("inductop " INDUCTOP_VERSION);
    else if (is_option_given(&options, OPTION_PRINT_MAN)) print_manual(screen);
    else if (is_option_given(&options, OPTION_PRINT_SCHEMA)) rc = tables_print_schema(stdout);
    else if (is_option_given(&options, OPTION_PRINT_TABLES)) rc = tables_print(stdout, first < argc ? argv[first] : NULL);
    else if (first >= argc) {
        err_set(&err, ERR_USAGE, "no command to run: inductop [OPTIONS] -- COMMAND");
        rc = usage(&err);
    } else rc = run_job(&options, argv + first, screen->run);
    options_done(&options);
    return rc;
}
