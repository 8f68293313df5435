/* A growing run of bytes, always with a NUL behind it. The holder owns it: buf_init ... buf_done.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_BUF_H
#define INDUCTOP_BASE_BUF_H

#include <stddef.h>

#include "engine/base/attr.h"

struct buf {
    char *data; /* NULL until something was added */
    size_t size, room;
};

#define BUF_INIT {NULL, 0, 0}

void buf_init(struct buf *buf);
void buf_done(struct buf *buf);
void buf_clear(struct buf *buf); /* empties, keeps the room */
void buf_add(struct buf *buf, const void *bytes, size_t size);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) ATTR_PRINTF(2, 3);
void buf_drop(struct buf *buf, size_t size);  /* takes bytes off the front */
const char *buf_text(const struct buf *buf);  /* never NULL */
char *buf_take(struct buf *buf);              /* hands the memory out (never NULL), leaves buf empty */

#endif
