/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/command.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

enum { REFRESH_LEAST = 20, REFRESH_MOST = 60000 };

static bool is_known(const char *options, const char *name, size_t size) {
    for (const char *at = options; *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == size && memcmp(at, name, size) == 0) return true;
        at += word;
    }
    return false;
}

/* The flag of this name, or NULL. */
static bool *flag_of(struct command_words *words, const char *name) {
    if (strcmp(name, "ascii") == 0) return &words->ascii;
    if (strcmp(name, "no-color") == 0) return &words->no_color;
    return strcmp(name, "help") == 0 ? &words->help : NULL;
}

static int put_value(struct command_words *words, const char *name, const char *value,
                     struct err *err) {
    if (strcmp(name, "script") == 0)
        words->script = value;
    else if (strcmp(name, "dump") == 0)
        words->dump = value;
    else if (strcmp(name, "size") == 0)
        words->size = value;
    else if (strcmp(name, "theme") == 0)
        words->theme = value;
    else if (strcmp(name, "chart") == 0)
        words->ink = strcmp(value, "blocks") == 0 ? CHART_BLOCKS : CHART_BRAILLE;
    else if (!str_to_u64(value, &words->refresh_ms) || words->refresh_ms < REFRESH_LEAST ||
             words->refresh_ms > REFRESH_MOST)
        return err_set(err, ERR_USAGE, "--refresh takes %d to %d milliseconds, not '%s'",
                       REFRESH_LEAST, REFRESH_MOST, value);
    return 0;
}

int command_parse(int argc, char **argv, const char *options, struct command_words *ret,
                  struct err *err) {
    struct command_words words = {.refresh_ms = 100};
    for (int i = 1; i < argc; i++) {
        char name[32];
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (words.argument) return err_set(err, ERR_USAGE, "one word too many: '%s'", argv[i]);
            words.argument = argv[i];
            continue;
        }
        const char *begin = argv[i] + strspn(argv[i], "-"), *equals = strchr(begin, '=');
        size_t size = equals ? (size_t)(equals - begin) : strlen(begin);
        if (size >= sizeof name || !is_known(options, begin, size))
            return err_set(err, ERR_USAGE, "option '%s' is not known here", argv[i]);
        snprintf(name, sizeof name, "%.*s", (int)size, begin);
        bool *flag = flag_of(&words, name);
        if (flag) {
            *flag = true;
            continue;
        }
        if (!equals && i + 1 == argc) return err_set(err, ERR_USAGE, "--%s needs a value", name);
        int rc = put_value(&words, name, equals ? equals + 1 : argv[++i], err);
        if (rc) return rc;
    }
    *ret = words;
    return 0;
}

int command_complain(const struct err *err) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    return COMMAND_FAULT;
}
