/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/send.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/cli/printer.h"
#include "engine/cli/request.h"
#include "engine/base/banned.h"

static bool is_final(const char *status) {
    static const char *const open[] = {"proposed", "ready", "committed"};
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        if (strcmp(status, open[i]) == 0) return false;
    return true;
}

/* Prints what is told of our proposal until it has ended. */
static int told(void *ctx, const struct event *event) {
    struct printer *printer = ctx;
    struct buf lines = BUF_INIT;
    if (event->kind == EVENT_VARIANT) printer_event(printer, event, &lines); /* labels: says nothing */
    if (event->kind != EVENT_SWITCH) {
        buf_done(&lines);
        return -1;
    }
    const char *status = event_text(event, "status");
    printer_event(printer, event, &lines);
    fputs(buf_text(&lines), stdout);
    fflush(stdout);
    buf_done(&lines);
    if (event->has_rank || !is_final(status) || event_is_true(event, "again")) return -1;
    return strcmp(status, "applied") ? REQUEST_FAILED : 0;
}

int send_command(int argc, char **argv) {
    struct err err;
    struct request request = {.what = "propose", .can_forget = true, .told = told};
    struct settings change = SETTINGS_INIT;
    struct buf words = BUF_INIT;
    int at = 1;
    if (at < argc && argv[at][0] != '-' && !strchr(argv[at], '=') && strcmp(argv[at], SETTING_AS_WRITTEN)) request.name = argv[at++];
    at = request_options(argc, argv, at, &request);
    if (at >= argc) {
        fputs("usage: inductop send [JOB] [--group GROUP] [--force] KEY=VALUE[,KEY=VALUE]... | as-written\n"
              "       inductop send [JOB] [--group GROUP] --forget KEY=VALUE[,KEY=VALUE]...  lets go of what was compiled under these\n",
              stderr);
        return REQUEST_USAGE;
    }
    for (int i = at; i < argc; i++) buf_printf(&words, "%s%s", i > at ? "," : "", argv[i]);
    int rc = REQUEST_FAILED;
    if (settings_parse_change(buf_text(&words), &change, &err)) {
        request_complain(&err, rc);
    } else {
        struct printer *printer = printer_new();
        request.ctx = printer;
        rc = request_send(&request, &change);
        printer_free(printer);
    }
    buf_done(&words);
    settings_done(&change);
    return rc;
}
