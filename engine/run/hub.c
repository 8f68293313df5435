/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/hub.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

enum { BACKLOG = 512, READ_SIZE = 64 << 10 };

struct peer {
    uv_pipe_t pipe;
    struct hub *hub;
    struct peer *next, *before;
    struct buf in;
    void *data;
    uint64_t dropped;
    bool closing;
};

struct hub {
    uv_pipe_t listener;
    const struct hub_ops *ops;
    void *ctx;
    struct peer *peers;
    bool closing, closed;
    char room[READ_SIZE];
};

struct send {
    uv_write_t request;
    uint8_t header[FRAME_HEADER_SIZE];
    char payload[];
};

static void free_hub(struct hub *hub) {
    if (hub->closing && hub->closed && !hub->peers) free(hub);
}

static void peer_closed(uv_handle_t *handle) {
    struct peer *peer = handle->data;
    struct hub *hub = peer->hub;
    if (peer->before) peer->before->next = peer->next;
    else hub->peers = peer->next;
    if (peer->next) peer->next->before = peer->before;
    buf_done(&peer->in);
    free(peer);
    free_hub(hub);
}

void peer_close(struct peer *peer) {
    if (peer->closing) return;
    peer->closing = true;
    peer->hub->ops->gone(peer->hub->ctx, peer);
    uv_close((uv_handle_t *)&peer->pipe, peer_closed);
}

static void parse(struct peer *peer) {
    size_t used = 0;
    while (!peer->closing) {
        struct frame frame;
        long n = frame_parse((const uint8_t *)peer->in.data + used, peer->in.size - used, &frame);
        if (n < 0) peer_close(peer);
        if (n <= 0) break;
        used += (size_t)n;
        peer->hub->ops->frame(peer->hub->ctx, peer, &frame);
    }
    buf_drop(&peer->in, used);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret) {
    struct peer *peer = handle->data;
    (void)wanted;
    *ret = uv_buf_init(peer->hub->room, READ_SIZE);
}

static void got(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes) {
    struct peer *peer = stream->data;
    if (size < 0) {
        peer_close(peer);
        return;
    }
    buf_add(&peer->in, bytes->base, (size_t)size);
    parse(peer);
}

static void new_peer(uv_stream_t *listener, int status) {
    struct hub *hub = listener->data;
    if (status < 0) return;
    struct peer *peer = mem_new(sizeof *peer);
    peer->hub = hub;
    uv_pipe_init(listener->loop, &peer->pipe, 0);
    peer->pipe.data = peer;
    peer->next = hub->peers;
    if (hub->peers) hub->peers->before = peer;
    hub->peers = peer;
    if (uv_accept(listener, (uv_stream_t *)&peer->pipe) ||
        uv_read_start((uv_stream_t *)&peer->pipe, give_room, got))
        peer_close(peer);
}

static void sent(uv_write_t *request, int status) {
    struct peer *peer = request->handle->data;
    free(request->data);
    if (status < 0) peer_close(peer);
}

/* What a viewer may miss; anything else that is lost would leave the other side with half a truth. */
static bool can_be_lost(uint8_t type) {
    return type == FRAME_EVENT || type == FRAME_RANK_EVENT || type == FRAME_RANK_STEPS || type == FRAME_STATUS;
}

bool peer_send(struct peer *peer, uint8_t type, const void *payload, size_t size) {
    if (peer->closing) return false;
    if (size > FRAME_PAYLOAD_MAX || peer_queued_bytes(peer) > HUB_QUEUE_MAX) {
        peer->dropped++;
        if (!can_be_lost(type)) peer_close(peer);
        return false;
    }
    struct send *send = mem_new(sizeof *send + size);
    frame_header(send->header, type, (uint32_t)size);
    if (size) memcpy(send->payload, payload, size);
    send->request.data = send;
    uv_buf_t parts[2] = {uv_buf_init((char *)send->header, FRAME_HEADER_SIZE),
                         uv_buf_init(send->payload, (unsigned)size)};
    if (uv_write(&send->request, (uv_stream_t *)&peer->pipe, parts, size ? 2 : 1, sent) == 0) return true;
    free(send);
    peer_close(peer);
    return false;
}

void peer_set_data(struct peer *peer, void *data) {
    peer->data = data;
}

void *peer_data(const struct peer *peer) {
    return peer->data;
}

size_t peer_queued_bytes(const struct peer *peer) {
    return uv_stream_get_write_queue_size((const uv_stream_t *)&peer->pipe);
}

uint64_t peer_dropped_count(const struct peer *peer) {
    return peer->dropped;
}

struct hub *hub_new(uv_loop_t *loop, const char *path, const struct hub_ops *ops, void *ctx, struct err *err) {
    struct hub *hub = mem_new(sizeof *hub);
    hub->ops = ops;
    hub->ctx = ctx;
    uv_pipe_init(loop, &hub->listener, 0);
    hub->listener.data = hub;
    unlink(path);
    int rc = uv_pipe_bind(&hub->listener, path);
    if (rc == 0) rc = uv_listen((uv_stream_t *)&hub->listener, BACKLOG, new_peer);
    if (rc == 0) return hub;
    err_set(err, ERR_SYSTEM, "could not listen on '%s': %s", path, uv_strerror(rc));
    hub_free(hub);
    return NULL;
}

static void listener_closed(uv_handle_t *handle) {
    struct hub *hub = handle->data;
    hub->closed = true;
    free_hub(hub);
}

void hub_free(struct hub *hub) {
    if (!hub || hub->closing) return;
    hub->closing = true;
    for (struct peer *peer = hub->peers, *next; peer; peer = next) {
        next = peer->next;
        peer_close(peer);
    }
    uv_close((uv_handle_t *)&hub->listener, listener_closed);
}
