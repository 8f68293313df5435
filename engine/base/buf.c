/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

void buf_init(struct buf *buf) {
    *buf = (struct buf)BUF_INIT;
}

void buf_done(struct buf *buf) {
    free(buf->data);
    buf_init(buf);
}

void buf_clear(struct buf *buf) {
    buf->size = 0;
    if (buf->data) buf->data[0] = 0;
}

static void need(struct buf *buf, size_t more) {
    size_t want = buf->size + more + 1;
    if (want <= buf->room) return;
    size_t room = buf->room ? buf->room : 64;
    while (room < want) room *= 2;
    buf->data = mem_resize(buf->data, room, 1);
    buf->room = room;
}

void buf_add(struct buf *buf, const void *bytes, size_t size) {
    need(buf, size);
    if (size) memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
    buf->data[buf->size] = 0;
}

void buf_puts(struct buf *buf, const char *text) {
    buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) return;
    need(buf, (size_t)length);
    va_start(args, format);
    vsnprintf(buf->data + buf->size, (size_t)length + 1, format, args);
    va_end(args);
    buf->size += (size_t)length;
}

void buf_drop(struct buf *buf, size_t size) {
    if (size >= buf->size) {
        buf_clear(buf);
        return;
    }
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

const char *buf_text(const struct buf *buf) {
    return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf) {
    need(buf, 0);
    buf->data[buf->size] = 0;
    char *data = buf->data;
    buf_init(buf);
    return data;
}
