/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/cli/request.h"
#include "engine/data/words.h"
#include "engine/setup/preset.h"
#include "engine/base/banned.h"

struct comparison {
    const char *against; /* as it was asked for */
    int64_t told, sure;  /* ranks */
};

static int told(void *ctx, const struct event *event) {
    struct comparison *comparison = ctx;
    const char *verdict = event_text(event, "verdict");
    int64_t ranks = 1;
    if (event->kind == EVENT_PROBLEM) {
        fprintf(stderr, "inductop: %s\n", event_text(event, "text"));
        return REQUEST_FAILED;
    }
    if (event->kind != EVENT_SPEEDUP) return -1;
    CLEANUP(cleanup_free) char *found = words_of_speedup(event, comparison->against);
    printf("rank %d: %s\n", event->rank, found);
    fflush(stdout);
    comparison->told++;
    comparison->sure += strcmp(verdict, "measuring") != 0;
    event_int(event, "ranks", &ranks);
    if (comparison->told < ranks) return -1;
    return 2 * comparison->sure > ranks ? 0 : REQUEST_FAILED;
}

/* The words as a change of settings: a preset is all of its settings and nothing else. */
static int read_words(int count, char **words, const char *support, struct settings *ret, struct err *err) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    for (int i = 0; i < count; i++) {
        bool is_preset = !strchr(words[i], '=') && strcmp(words[i], SETTING_AS_WRITTEN);
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        buf_puts(&text, i ? "," : "");
        if (strcmp(words[i], "eager") == 0) {
            buf_puts(&text, "scope=eager");
        } else if (is_preset) {
            int rc = preset_load(words[i], support, &preset, err);
            if (rc) return rc;
            CLEANUP(cleanup_free) char *settings = settings_text(&preset.settings);
            buf_printf(&text, SETTING_AS_WRITTEN "%s%s", preset.settings.count ? "," : "", preset.settings.count ? settings : "");
        } else {
            buf_puts(&text, words[i]);
        }
    }
    return settings_parse_change(buf_text(&text), ret, err);
}

int compare_command(int argc, char **argv, const char *support_dir) {
    struct err err;
    struct comparison comparison = {0};
    struct request request = {.what = "compare", .told = told, .ctx = &comparison};
    struct settings change = SETTINGS_INIT;
    int at = request_options(argc, argv, 1, &request);
    /* A job is named before the settings: a word alone is what to compare with. */
    if (at + 1 < argc && !strchr(argv[at], '=')) {
        request.name = argv[at];
        at = request_options(argc, argv, at + 1, &request);
    }
    if (at >= argc) {
        fputs("usage: inductop compare [JOB] [--group GROUP] [--force] KEY=VALUE[,KEY=VALUE]... | as-written | eager | PRESET\n", stderr);
        return REQUEST_USAGE;
    }
    CLEANUP(buf_done) struct buf against = BUF_INIT;
    for (int i = at; i < argc; i++) buf_printf(&against, "%s%s", i > at ? "," : "", argv[i]);
    comparison.against = buf_text(&against);
    int rc = read_words(argc - at, argv + at, support_dir, &change, &err) ? request_complain(&err, REQUEST_FAILED)
                                                                           : request_send(&request, &change);
    settings_done(&change);
    return rc;
}
