/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/preset_command.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/setup/doc.h"
#include "engine/setup/file.h"
#include "engine/setup/nearest.h"
#include "engine/setup/preset.h"

#include "engine/base/banned.h"

enum { EXIT_FAULT = 1, EXIT_USAGE = 2 };

struct call {
    int argc; /* words behind the subcommand */
    char **argv;
    const char *support;
};

static int report(const struct err *err, int code) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    return code;
}

/* What a terminal would obey is shown as '?'. */
static void print_plain(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool is_control = (byte < ' ' && byte != '\n' && byte != '\t') || byte == 127;
        bool is_second = byte == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;
        putchar(is_control || is_second ? '?' : byte);
        if (is_second) i++;
    }
}

static int list(const struct call *call) {
    struct preset_list found = {0};
    int width = 0;
    preset_list_fill(&found, call->support);
    for (size_t i = 0; i < found.count; i++)
        if ((int)strlen(found.items[i].name) > width) width = (int)strlen(found.items[i].name);
    for (size_t i = 0; i < found.count; i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        const struct preset_item *item = &found.items[i];
        struct err err;
        if (item->is_hidden) continue;
        bool is_whole = preset_load_file(item->path, &preset, &err) == 0;
        const char *text = !is_whole ? err.message : preset.description ? preset.description : "";
        CLEANUP(buf_done) struct buf line = BUF_INIT;
        buf_printf(&line, "%-*s  %-7s  %s", width, item->name, preset_origin_name(item->origin),
                   is_whole ? "" : "fault: ");
        buf_add(&line, text, strcspn(text, "\n"));
        print_plain(line.data, line.size);
        putchar('\n');
    }
    preset_list_done(&found);
    return 0;
}

static int show(const struct call *call) {
    struct err err;
    CLEANUP(cleanup_free) char *path = NULL;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    if (preset_find(call->argv[0], call->support, &path, &err) < 0) return report(&err, EXIT_FAULT);
    if (preset_load_file(path, &preset, &err) < 0) return report(&err, EXIT_FAULT);
    if (file_read(path, DOC_SIZE_MAX, &text, &err) < 0) return report(&err, EXIT_FAULT);
    printf("# %s\n", path);
    print_plain(buf_text(&text), text.size);
    return 0;
}

static int check(const struct call *call) {
    int rc = 0;
    for (int i = 0; i < call->argc; i++) {
        struct err err;
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        if (preset_load(call->argv[i], call->support, &preset, &err) < 0) {
            rc = report(&err, EXIT_FAULT);
            continue;
        }
        CLEANUP(cleanup_free) char *label = settings_label(&preset.settings);
        printf("%s: ok, %s\n", call->argv[i], label);
    }
    return rc;
}

static const struct {
    const char *name, *arguments, *help;
    int min, max; /* words that follow */
    int (*run)(const struct call *call);
} commands[] = {
    {"list", "", "the presets that can be found, and from where", 0, 0, list},
    {"show", "NAME|FILE", "a preset as it stands in its file", 1, 1, show},
    {"check", "NAME|FILE...", "exit code 1 and the place of the fault if one cannot be used", 1,
     1 << 20, check},
};

static void print_usage(FILE *out) {
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(out, "%s inductop preset %-5s %-13s %s\n",
                i ? "      " : "usage:", commands[i].name, commands[i].arguments, commands[i].help);
}

static int refuse_unknown(const char *word) {
    const char *names[ARRAY_SIZE(commands)];
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) names[i] = commands[i].name;
    struct err err;
    err_set(&err, ERR_USAGE, "preset command '%s' is not known", word);
    err_hint(&err, "The preset commands are list, show and check.");
    nearest_hint(&err, word, names, ARRAY_SIZE(names));
    report(&err, EXIT_USAGE);
    print_usage(stderr);
    return EXIT_USAGE;
}

int preset_command(int argc, char **argv, const char *support_dir) {
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
        return print_usage(stdout), 0;
    if (!word) return print_usage(stderr), EXIT_USAGE;
    struct call call = {argc - 2, argv + 2, support_dir};
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (strcmp(commands[i].name, word) != 0) continue;
        if (call.argc >= commands[i].min && call.argc <= commands[i].max)
            return commands[i].run(&call);
        return print_usage(stderr), EXIT_USAGE;
    }
    return refuse_unknown(word);
}
