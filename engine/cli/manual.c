/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/manual.h"

#include <stdbool.h>
#include <string.h>

#include "engine/setup/options.h"
#include "engine/setup/settings.h"
#include "engine/base/banned.h"

/* Text as it is, for roff. */
static void put(FILE *out, const char *text) {
    bool is_start = true;
    for (; *text; text++) {
        if (is_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        is_start = *text == '\n';
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else fputc(*text, out);
    }
}

/* A word in bold with an argument in italics, and what it means, indented. */
static void put_item(FILE *out, const char *before, const char *word, const char *argument, const char *help) {
    fputs(".TP\n\\fB", out);
    put(out, before);
    put(out, word);
    fputs("\\fR", out);
    if (argument && *argument) {
        fputs(" \\fI", out);
        put(out, argument);
        fputs("\\fR", out);
    }
    fputs("\n", out);
    put(out, help);
    fputs("\n", out);
}

static void put_options(FILE *out) {
    const char *group = "";
    for (int id = 0; id < OPTION_ID_COUNT; id++) {
        const struct option_row *row = option_get(id);
        if (strcmp(group, row->group) != 0) fprintf(out, ".SS %s\n", row->group);
        group = row->group;
        put_item(out, "--", row->name, row->argument, row->help);
        if (row->flag) fprintf(out, "The same as \\fB\\-%c\\fR.\n", row->flag);
        if (row->def) fprintf(out, "By default \\fB%s\\fR.\n", row->def);
    }
}

static void put_settings(FILE *out) {
    for (int id = 0; id < SETTING_ID_COUNT; id++) {
        const struct setting *row = setting_get(id);
        size_t count;
        const struct setting_value *values = setting_values(id, &count);
        put_item(out, "", row->key, NULL, row->help);
        for (size_t i = 0; i < count; i++) {
            fputs(i ? ", \\fB" : "Values: \\fB", out);
            put(out, values[i].value);
            fputs("\\fR", out);
        }
        if (count) fputs(".\n", out);
    }
}

void manual_print(FILE *out, const struct cli_command *const *lists, const size_t *counts, size_t list_count) {
    fputs(".TH INDUCTOP 1 \"\" \"inductop " INDUCTOP_VERSION "\" \"User Commands\"\n"
          ".SH NAME\ninductop \\- htop for torch.compile\n"
          ".SH SYNOPSIS\n\\fBinductop\\fR [\\fIOPTIONS\\fR] [\\fB\\-\\-\\fR] \\fICOMMAND\\fR [\\fIARG\\fR...]\n", out);
    for (size_t k = 0; k < list_count; k++)
        for (size_t i = 0; i < counts[k]; i++) {
            if (!lists[k][i].help) continue;
            fprintf(out, ".br\n\\fBinductop %s\\fR \\fI", lists[k][i].name);
            put(out, lists[k][i].argument);
            fputs("\\fR\n", out);
        }
    fputs(".SH DESCRIPTION\n"
          "Runs a training command and shows, on a screen or in lines, what torch.compile does in each of its ranks: what is compiled and how\n"
          "long, why again, where graphs break, what it costs in memory and whether it helps. Settings can be changed while the job trains, on all\n"
          "ranks at the same step, and back without compiling again. Until a change is asked for it only observes.\n"
          ".PP\nOn the screen \\fBF1\\fR tells the keys.\n"
          ".SH COMMANDS\n", out);
    for (size_t k = 0; k < list_count; k++)
        for (size_t i = 0; i < counts[k]; i++)
            if (lists[k][i].help) put_item(out, "", lists[k][i].name, lists[k][i].argument, lists[k][i].help);
    fputs(".SH OPTIONS\n", out);
    put_options(out);
    fputs(".SH SETTINGS\nWhat \\fB\\-\\-set\\fR, \\fB\\-\\-at\\fR, presets, \\fBsend\\fR and \\fBcompare\\fR take as KEY=VALUE; \\fIUNIT\\fB/\\fIKEY\\fR is for one\n"
          "compiled thing only. \\fB" SETTING_AS_WRITTEN "\\fR is a value of every key: what the script says.\n", out);
    put_settings(out);
    fputs(".SH EXIT STATUS\nThe job's own, or the same signal; 125 to 127 are inductop's faults, as\n.BR env (1)\nhas them. "
          "\\fBsend\\fR: 0 when the change was applied. \\fBcompare\\fR: 0 when it is sure.\n"
          ".SH FILES\n.TP\n\\fI/tmp/inductop\\-UID/NAME/\\fR\nThe session of a job: its tape, its output, the sockets of its parts.\n"
          ".TP\n\\fIpresets/\\fR, \\fI~/.config/inductop/presets/\\fR\nPresets of the project and of the user (\\fBXDG_CONFIG_HOME\\fR).\n"
          ".TP\n\\fI~/.cache/inductop/\\fR\nThe libraries that count torch's memory, one for each torch (\\fBXDG_CACHE_HOME\\fR).\n"
          ".SH SEE ALSO\n.BR htop (1),\n.BR torchrun (1),\nhttps://docs.pytorch.org/docs/stable/torch.compiler.html\n", out);
}
