/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/request.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/cli/client.h"
#include "engine/run/session.h"
#include "engine/settings_json.h"
#include "engine/base/banned.h"

int request_complain(const struct err *err, int code) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    return code;
}

static bool has_tag(const struct event *event, const char *tag) {
    const char *text = event_text(event, "tag");
    return text && strcmp(text, tag) == 0;
}

static int follow(struct client *client, const struct request *request, const char *tag) {
    struct err err;
    int code = -1;
    while (code < 0) {
        struct frame frame;
        struct event event = EVENT_INIT;
        if (client_next(client, &frame, -1, &err)) return request_complain(&err, REQUEST_OWN);
        if (frame.type != FRAME_EVENT || event_parse((const char *)frame.payload, frame.size, 0, &event, NULL) < 0) continue;
        if (event.kind == EVENT_VARIANT || has_tag(&event, tag)) code = request->told(request->ctx, &event);
        event_done(&event);
    }
    return code;
}

static int ask(struct client *client, const struct request *request, const struct settings *change) {
    struct err err;
    CLEANUP(cleanup_free) char *tag = mem_printf("%s-%d", request->what, (int)getpid());
    json_t *command = json_pack("{si ss so ss}", "v", WIRE_VERSION, "do", request->what, request->is_forget ? "forget" : "change", settings_to_json(change), "tag", tag);
    if (request->group) json_object_set_new(command, "group", event_string(request->group));
    if (request->is_forced) json_object_set_new(command, "force", json_true());
    CLEANUP(cleanup_free) char *text = json_dumps(command, JSON_COMPACT);
    json_decref(command);
    if (client_send(client, FRAME_COMMAND, text, strlen(text), &err)) return request_complain(&err, REQUEST_OWN);
    return follow(client, request, tag);
}

int request_options(int argc, char **argv, int at, struct request *ret) {
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--force") == 0) ret->is_forced = true;
        else if (ret->can_forget && strcmp(argv[at], "--forget") == 0) ret->is_forget = true;
        else if (strcmp(argv[at], "--group") == 0 && at + 1 < argc) ret->group = argv[++at];
        else return argc;
    }
    return at;
}

int request_send(const struct request *request, const struct settings *change) {
    struct err err;
    struct session session;
    struct client client;
    if (session_open(&session, request->name, &err)) return request_complain(&err, REQUEST_OWN);
    int rc = client_open(&client, &session, &err);
    if (rc) {
        rc = request_complain(&err, REQUEST_OWN);
    } else {
        rc = ask(&client, request, change);
        client_done(&client);
    }
    session_done(&session);
    return rc;
}
