/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/send.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/cli/client.h"
#include "engine/cli/printer.h"
#include "engine/event/event.h"
#include "engine/run/session.h"
#include "engine/setup/settings.h"
#include "engine/base/banned.h"

enum { EXIT_NOT_APPLIED = 1, EXIT_USAGE = 2, EXIT_OWN = 125 };

static int complain(const struct err *err, int code) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    return code;
}

static json_t *change_json(const struct settings *change) {
    json_t *object = json_object();
    for (size_t i = 0; i < change->count; i++)
        json_object_set_new(object, change->pairs[i].key, event_string(change->pairs[i].value));
    return object;
}

static bool has_tag(const struct event *event, const char *tag) {
    const char *text = event_text(event, "tag");
    return text && strcmp(text, tag) == 0;
}

static bool is_final(const char *status) {
    static const char *const open[] = {"proposed", "ready", "committed"};
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        if (strcmp(status, open[i]) == 0) return false;
    return true;
}

/* Prints what is told of our proposal until it has ended. */
static int follow(struct client *client, const char *tag) {
    struct printer *printer = printer_new();
    struct buf lines = BUF_INIT;
    struct err err;
    int code = -1;
    while (code < 0) {
        struct frame frame;
        struct event event = EVENT_INIT;
        if (client_next(client, &frame, -1, &err)) {
            code = complain(&err, EXIT_OWN);
            break;
        }
        if (frame.type != FRAME_EVENT || event_parse((const char *)frame.payload, frame.size, 0, &event, NULL) < 0) continue;
        if (event.kind == EVENT_SWITCH && has_tag(&event, tag)) {
            const char *status = event_text(&event, "status");
            printer_event(printer, &event, &lines);
            fputs(buf_text(&lines), stdout);
            fflush(stdout);
            buf_clear(&lines);
            if (!event.has_rank && is_final(status) && !event_is_true(&event, "again")) code = strcmp(status, "applied") ? EXIT_NOT_APPLIED : 0;
        }
        event_done(&event);
    }
    buf_done(&lines);
    printer_free(printer);
    return code;
}

static int ask(struct client *client, const struct settings *change, const char *group) {
    struct err err;
    CLEANUP(cleanup_free) char *tag = mem_printf("send-%d", (int)getpid());
    json_t *command = json_pack("{si ss so ss}", "v", WIRE_VERSION, "do", "propose", "change", change_json(change), "tag", tag);
    if (group) json_object_set_new(command, "group", event_string(group));
    CLEANUP(cleanup_free) char *text = json_dumps(command, JSON_COMPACT);
    json_decref(command);
    if (client_send(client, FRAME_COMMAND, text, strlen(text), &err)) return complain(&err, EXIT_OWN);
    return follow(client, tag);
}

int send_command(int argc, char **argv) {
    struct err err;
    struct session session;
    const char *name = NULL, *group = NULL;
    struct settings change = SETTINGS_INIT;
    int at = 1;
    if (at < argc && argv[at][0] != '-' && !strchr(argv[at], '=') && strcmp(argv[at], SETTING_AS_WRITTEN)) name = argv[at++];
    if (at + 1 < argc && strcmp(argv[at], "--group") == 0) group = argv[at + 1], at += 2;
    if (at >= argc || argv[at][0] == '-') {
        fputs("usage: inductop send [JOB] [--group GROUP] KEY=VALUE[,KEY=VALUE]... | as-written\n", stderr);
        return EXIT_USAGE;
    }
    struct buf words = BUF_INIT;
    for (int i = at; i < argc; i++) buf_printf(&words, "%s%s", i > at ? "," : "", argv[i]);
    int rc = settings_parse_change(buf_text(&words), &change, &err);
    buf_done(&words);
    if (rc) return complain(&err, EXIT_NOT_APPLIED);
    struct client client;
    if (session_open(&session, name, &err)) rc = complain(&err, EXIT_OWN);
    else {
        if (client_open(&client, &session, &err)) rc = complain(&err, EXIT_OWN);
        else {
            rc = ask(&client, &change, group);
            client_done(&client);
        }
        session_done(&session);
    }
    settings_done(&change);
    return rc;
}
