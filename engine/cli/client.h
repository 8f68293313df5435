/* A blocking connection to a session's engine, for commands that ask and wait (send, attach later).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_CLIENT_H
#define INDUCTOP_CLI_CLIENT_H

#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/run/session.h"
#include "engine/wire/frame.h"

struct client {
    int fd;
    struct buf in;
    size_t used; /* of `in`: the frame handed out last */
};

/* Connects and says hello as a viewer. Without an engine, starts one that takes over (the old one was killed). */
int client_open(struct client *ret, const struct session *session, struct err *err);
void client_done(struct client *client);

int client_send(struct client *client, uint8_t type, const char *payload, size_t size, struct err *err);

/* Waits for the next frame; lent until the next call. `timeout_ms` -1: for ever. Fails when the engine goes away or nothing
 * comes in time (ERR_MISSING, ERR_LIMIT). */
int client_next(struct client *client, struct frame *ret, int timeout_ms, struct err *err);

#endif
