/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wire/frame.h"

#include "engine/base/banned.h"

void frame_header(uint8_t ret_header[FRAME_HEADER_SIZE], uint8_t type, uint32_t size) {
    for (int i = 0; i < 4; i++) ret_header[i] = (uint8_t)(size >> 8 * i);
    ret_header[4] = type;
}

long frame_parse(const uint8_t *bytes, size_t size, struct frame *ret) {
    if (size < FRAME_HEADER_SIZE) return 0;
    uint32_t length = 0;
    for (int i = 0; i < 4; i++) length |= (uint32_t)bytes[i] << 8 * i;
    if (length > FRAME_PAYLOAD_MAX) return -1;
    if (size - FRAME_HEADER_SIZE < length) return 0;
    *ret = (struct frame){.type = bytes[4], .size = length, .payload = bytes + FRAME_HEADER_SIZE};
    return (long)(FRAME_HEADER_SIZE + length);
}

const char *frame_name(uint8_t type) {
    switch (type) {
#define FRAME(symbol, id, text) \
    case id: return #symbol;
#include "engine/wire/frames.def"
#undef FRAME
    default: return "unknown";
    }
}
