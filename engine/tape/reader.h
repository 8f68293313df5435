/* Lines of a file, one block at a time: never more of it in memory than a block and a line. The
 * holder owns it: reader_open ... reader_done.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TAPE_READER_H
#define INDUCTOP_TAPE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"

struct reader {
    int fd;
    uint64_t offset; /* of the next block */
    struct buf block;
    size_t at;        /* in the block: the next line */
    bool is_skipping; /* the line before was too long: the rest of it is left out */
    bool is_at_end;   /* the last read found nothing more */
    uint64_t too_long;
};

/* The file must be a regular one. */
int reader_open(struct reader *reader, const char *path, struct err *err);
void reader_done(struct reader *reader); /* forgiving */

/* The next whole line, without its newline, lent until the next call; false when there is none
 * (yet). A line beyond EVENT_LINE_MAX is left out and counted. */
bool reader_next(struct reader *reader, const char **ret_line, size_t *ret_size);

/* From the beginning again. */
void reader_rewind(struct reader *reader);

/* There are bytes behind the last newline, and nothing more. */
bool reader_has_rest(const struct reader *reader);

uint64_t reader_size(const struct reader *reader);

/* The latest `t` among the lines at the end of the file, 0 when there is none. */
double reader_last_t(const struct reader *reader);

#endif
