/* Frames on their way into a socket: filled whole, sent in whatever pieces the socket takes. When
 * the connection dies, the frame that was cut is sent again from its beginning on the next one. One
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_OUTBOX_H
#define INDUCTOP_RANK_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUTBOX_ROOM = 160 << 10 };

struct outbox {
    size_t size, sent;
    uint8_t bytes[OUTBOX_ROOM];
};

/* Room left for the payload of one more frame; below 0: not even for a header. */
long outbox_room(const struct outbox *box);

/* Adds the header of a frame; returns where its `size` bytes of payload go, NULL: no room. */
uint8_t *outbox_add(struct outbox *box, uint8_t type, size_t size);

/* Room for a frame that brings its own header. NULL: no room. */
uint8_t *outbox_add_whole(struct outbox *box, size_t size);

enum outbox_result { OUTBOX_DEAD = -1, OUTBOX_BLOCKED, OUTBOX_EMPTY };

/* Sends what the socket takes, without waiting. Adds the bytes to `sent_bytes`. */
enum outbox_result outbox_send(struct outbox *box, int fd, uint64_t *sent_bytes);

/* The connection is gone: forgets what was sent whole, starts the cut frame anew. */
void outbox_rewind(struct outbox *box);
void outbox_clear(struct outbox *box);

#endif
