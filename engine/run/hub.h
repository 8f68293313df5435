/* The hub: one listening socket in the session, a connection (peer) for each rank and viewer, frames in and out.
 *
 * Transport only: what a frame means is the owner's business. Everything runs on one libuv loop and thread. A peer that sends
 * what is no frame is closed, nobody else notices. A peer that does not read gets HUB_QUEUE_MAX bytes; then what viewers are told
 * (EVENT, RANK_EVENT, RANK_STEPS, STATUS) is dropped for it and counted, a frame of any other type closes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_HUB_H
#define INDUCTOP_RUN_HUB_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engine/base/err.h"
#include "engine/wire/frame.h"

enum { HUB_QUEUE_MAX = 4 << 20 };

struct hub;
struct peer;

struct hub_ops {
    /* A whole frame came; the payload is valid during the call only. The peer may be closed in it. */
    void (*frame)(void *ctx, struct peer *peer, const struct frame *frame);
    /* The peer is going away; its `data` should be freed. Called once for every peer. */
    void (*gone)(void *ctx, struct peer *peer);
};

/* Listens on `path` (an old socket there is removed). NULL on failure. */
struct hub *hub_new(uv_loop_t *loop, const char *path, const struct hub_ops *ops, void *ctx, struct err *err);

/* Closes everything; the memory goes when the loop has run once more. Accepts NULL. */
void hub_free(struct hub *hub);

/* Sends a frame; false when it was dropped. */
bool peer_send(struct peer *peer, uint8_t type, const void *payload, size_t size);
void peer_close(struct peer *peer);

/* The owner's own pointer for a peer, NULL at first. */
void peer_set_data(struct peer *peer, void *data);
void *peer_data(const struct peer *peer);

/* Bytes sent to this peer that it has not read yet, and frames dropped for it. */
size_t peer_queued_bytes(const struct peer *peer);
uint64_t peer_dropped_count(const struct peer *peer);

#endif
