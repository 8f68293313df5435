/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/outbox.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/wire/frame.h"
#include "engine/base/banned.h"

enum { SEND_MAX = 64 << 10 };

long outbox_room(const struct outbox *box) {
    return (long)(OUTBOX_ROOM - box->size) - FRAME_HEADER_SIZE;
}

uint8_t *outbox_add_whole(struct outbox *box, size_t size) {
    if (OUTBOX_ROOM - box->size < size) return NULL;
    uint8_t *at = box->bytes + box->size;
    box->size += size;
    return at;
}

uint8_t *outbox_add(struct outbox *box, uint8_t type, size_t size) {
    uint8_t *at = outbox_add_whole(box, FRAME_HEADER_SIZE + size);
    if (!at) return NULL;
    frame_header(at, type, (uint32_t)size);
    return at + FRAME_HEADER_SIZE;
}

enum outbox_result outbox_send(struct outbox *box, int fd, uint64_t *sent_bytes) {
    while (box->sent < box->size) {
        size_t size = box->size - box->sent;
        if (size > SEND_MAX) size = SEND_MAX;
        ssize_t done = send(fd, box->bytes + box->sent, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? OUTBOX_BLOCKED
                                                                               : OUTBOX_DEAD;
        box->sent += (size_t)done;
        *sent_bytes += (uint64_t)done;
    }
    outbox_clear(box);
    return OUTBOX_EMPTY;
}

void outbox_rewind(struct outbox *box) {
    size_t at = 0;
    struct frame frame;
    for (long size; (size = frame_parse(box->bytes + at, box->size - at, &frame)) > 0;
         at += (size_t)size)
        if (at + (size_t)size > box->sent) break;
    memmove(box->bytes, box->bytes + at, box->size - at);
    box->size -= at;
    box->sent = 0;
}

void outbox_clear(struct outbox *box) {
    box->size = box->sent = 0;
}
