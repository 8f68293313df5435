/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/cli/engine_process.h"
#include "engine/base/banned.h"

enum { CONNECT_MS = 5000 };

static int try_connect(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CLEANUP(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || strlen(path) >= sizeof address.sun_path) return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) return -1;
    return TAKE_FD(fd);
}

/* Tries until the engine, which may just be starting, listens. */
static int connect_within(const struct session *session, struct err *err) {
    CLEANUP(cleanup_free) char *path = session_path(session, "sock");
    uint64_t end = clock_now_ns() + CONNECT_MS * UINT64_C(1000000);
    bool started = false;
    for (;;) {
        int fd = try_connect(path);
        if (fd >= 0) return fd;
        if (session_is_ended(session)) {
            err_set(err, ERR_MISSING, "the job of session '%s' has ended", session->name);
            return -1;
        }
        if (!started && !session_has_engine(session)) {
            if (engine_process_start(session, err)) return -1;
            started = true;
        }
        if (clock_now_ns() > end) break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    err_set(err, ERR_MISSING, "the engine of session '%s' does not answer", session->name);
    return -1;
}

int client_open(struct client *ret, const struct session *session, struct err *err) {
    struct client client = {.fd = connect_within(session, err)};
    if (client.fd < 0) return -ERR_MISSING;
    static const char hello[] = "{\"v\":1,\"role\":\"viewer\"}";
    int rc = client_send(&client, FRAME_HELLO, hello, sizeof hello - 1, err);
    if (rc) client_done(&client);
    else *ret = client;
    return rc;
}

void client_done(struct client *client) {
    if (client->fd >= 0) close(client->fd);
    buf_done(&client->in);
    *client = (struct client){.fd = -1};
}

int client_send(struct client *client, uint8_t type, const char *payload, size_t size, struct err *err) {
    struct buf out = BUF_INIT;
    uint8_t header[FRAME_HEADER_SIZE];
    frame_header(header, type, (uint32_t)size);
    buf_add(&out, header, sizeof header);
    buf_add(&out, payload, size);
    int rc = 0;
    for (size_t at = 0; at < out.size && !rc;) {
        ssize_t n = send(client->fd, out.data + at, out.size - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) rc = err_set_errno(err, errno, "could not write to the engine");
        else at += (size_t)n;
    }
    buf_done(&out);
    return rc;
}

int client_next(struct client *client, struct frame *ret, int timeout_ms, struct err *err) {
    buf_drop(&client->in, client->used);
    client->used = 0;
    for (;;) {
        long n = client->in.size ? frame_parse((const uint8_t *)client->in.data, client->in.size, ret) : 0;
        if (n < 0) return err_set(err, ERR_SYNTAX, "the engine sent what is no frame");
        if (n > 0) {
            client->used = (size_t)n;
            return 0;
        }
        struct pollfd ready = {.fd = client->fd, .events = POLLIN};
        int rc = poll(&ready, 1, timeout_ms);
        if (rc < 0 && errno == EINTR) continue;
        if (rc == 0) return err_set(err, ERR_LIMIT, "the engine did not answer in time");
        char part[16384];
        ssize_t got = recv(client->fd, part, sizeof part, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return err_set(err, ERR_MISSING, "the engine went away");
        buf_add(&client->in, part, (size_t)got);
    }
}
