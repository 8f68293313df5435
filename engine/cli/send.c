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
        if (event.kind == EVENT_VARIANT) printer_event(printer, &event, &lines); /* labels: says nothing */
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

struct request {
    const char *name, *group;
    bool is_forced, is_forget;
};

static int ask(struct client *client, const struct settings *change, const struct request *request) {
    struct err err;
    CLEANUP(cleanup_free) char *tag = mem_printf("send-%d", (int)getpid());
    json_t *command = json_pack("{si ss so ss}", "v", WIRE_VERSION, "do", "propose", request->is_forget ? "forget" : "change", change_json(change), "tag", tag);
    if (request->group) json_object_set_new(command, "group", event_string(request->group));
    if (request->is_forced) json_object_set_new(command, "force", json_true());
    CLEANUP(cleanup_free) char *text = json_dumps(command, JSON_COMPACT);
    json_decref(command);
    if (client_send(client, FRAME_COMMAND, text, strlen(text), &err)) return complain(&err, EXIT_OWN);
    return follow(client, tag);
}

/* Reads [JOB] [--group GROUP] [--force] [--forget]; returns the place of the first setting. */
static int read_request(int argc, char **argv, struct request *ret) {
    int at = 1;
    *ret = (struct request){0};
    if (at < argc && argv[at][0] != '-' && !strchr(argv[at], '=') && strcmp(argv[at], SETTING_AS_WRITTEN)) ret->name = argv[at++];
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--force") == 0) ret->is_forced = true;
        else if (strcmp(argv[at], "--forget") == 0) ret->is_forget = true;
        else if (strcmp(argv[at], "--group") == 0 && at + 1 < argc) ret->group = argv[++at];
        else return argc;
    }
    return at;
}

static int send_to(const struct request *request, const struct settings *change) {
    struct err err;
    struct session session;
    struct client client;
    if (session_open(&session, request->name, &err)) return complain(&err, EXIT_OWN);
    int rc = client_open(&client, &session, &err);
    if (rc) {
        rc = complain(&err, EXIT_OWN);
    } else {
        rc = ask(&client, change, request);
        client_done(&client);
    }
    session_done(&session);
    return rc;
}

int send_command(int argc, char **argv) {
    struct err err;
    struct request request;
    struct settings change = SETTINGS_INIT;
    struct buf words = BUF_INIT;
    int at = read_request(argc, argv, &request);
    if (at >= argc) {
        fputs("usage: inductop send [JOB] [--group GROUP] [--force] KEY=VALUE[,KEY=VALUE]... | as-written\n"
              "       inductop send [JOB] [--group GROUP] --forget KEY=VALUE[,KEY=VALUE]...  lets go of what was compiled under these\n",
              stderr);
        return EXIT_USAGE;
    }
    for (int i = at; i < argc; i++) buf_printf(&words, "%s%s", i > at ? "," : "", argv[i]);
    int rc = settings_parse_change(buf_text(&words), &change, &err) ? complain(&err, EXIT_NOT_APPLIED) : send_to(&request, &change);
    buf_done(&words);
    settings_done(&change);
    return rc;
}
