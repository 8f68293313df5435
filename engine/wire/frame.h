/* Frames: what goes through the session's sockets, in both directions.
 *
 *     u32 length of the payload (little-endian), u8 type, payload
 *
 * A payload has 1 MiB at most. Unknown types are skipped and counted by the receiver; a frame that is too long ends that
 * connection and nothing else. Nothing here allocates; safe from any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_FRAME_H
#define INDUCTOP_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1, FRAME_HEADER_SIZE = 5, FRAME_PAYLOAD_MAX = 1 << 20, EVENT_MAX = 64 << 10 };

enum frame_type {
#define FRAME(symbol, id, text) FRAME_##symbol = id,
#include "engine/wire/frames.def"
#undef FRAME
};

struct frame {
    uint8_t type;
    uint32_t size;          /* of the payload */
    const uint8_t *payload; /* points into the caller's bytes */
};

/* Writes the five bytes before a payload of `size` bytes. */
void frame_header(uint8_t ret_header[FRAME_HEADER_SIZE], uint8_t type, uint32_t size);

/* Looks for a whole frame at the start of `bytes`. Returns the bytes it takes (header and payload), 0 when more are needed,
 * -1 when this cannot be a frame. `ret` is set only when the result is above 0. */
long frame_parse(const uint8_t *bytes, size_t size, struct frame *ret);

/* Name for messages; "unknown" for an id that is none. */
const char *frame_name(uint8_t type);

#endif
