/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tape/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/event/event.h"
#include "engine/base/banned.h"

enum { BLOCK = 128 << 10, TAIL_FIRST = 64 << 10, TAIL_MOST = 4 << 20, HEAD = 128 };

int reader_open(struct reader *reader, const char *path, struct err *err) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return err_set_errno(err, errno, "could not open tape '%s'", path);
    if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
        close(fd);
        return err_set(err, ERR_INVALID, "tape '%s' is no regular file", path);
    }
    *reader = (struct reader){.fd = fd};
    return 0;
}

void reader_done(struct reader *reader) {
    if (reader->fd > 0) close(reader->fd);
    buf_done(&reader->block);
    *reader = (struct reader){.fd = -1};
}

void reader_rewind(struct reader *reader) {
    buf_clear(&reader->block);
    *reader = (struct reader){.fd = reader->fd, .block = reader->block};
}

static bool read_block(struct reader *reader) {
    char bytes[BLOCK];
    ssize_t size;
    buf_drop(&reader->block, reader->at);
    reader->at = 0;
    do size = pread(reader->fd, bytes, sizeof bytes, (off_t)reader->offset);
    while (size < 0 && errno == EINTR);
    reader->is_at_end = size <= 0;
    if (size <= 0) return false;
    buf_add(&reader->block, bytes, (size_t)size);
    reader->offset += (uint64_t)size;
    return true;
}

/* What is left of a line that is too long goes; the line itself is counted once. */
static void skip(struct reader *reader) {
    if (!reader->is_skipping) reader->too_long++;
    reader->is_skipping = true;
    reader->at = reader->block.size;
}

bool reader_next(struct reader *reader, const char **ret_line, size_t *ret_size) {
    size_t looked = 0;
    for (;;) {
        size_t left = reader->block.size - reader->at;
        const char *begin = left ? reader->block.data + reader->at : NULL;
        const char *end = left > looked ? memchr(begin + looked, '\n', left - looked) : NULL;
        if (!end) {
            looked = left;
            if (left > EVENT_LINE_MAX || reader->is_skipping) skip(reader), looked = 0;
            if (!read_block(reader)) return false;
            continue;
        }
        reader->at += (size_t)(end - begin) + 1;
        looked = 0;
        if (reader->is_skipping) {
            reader->is_skipping = false;
            continue;
        }
        *ret_line = begin;
        *ret_size = (size_t)(end - begin);
        return true;
    }
}

bool reader_has_rest(const struct reader *reader) {
    return reader->is_at_end && !reader->is_skipping && reader->block.size > reader->at;
}

uint64_t reader_size(const struct reader *reader) {
    struct stat status;
    return fstat(reader->fd, &status) || status.st_size < 0 ? 0 : (uint64_t)status.st_size;
}

/* The time in the head of a line as we print it: {"v":1,"kind":"...","t":12.5,... */
static double head_t(const char *line, size_t size) {
    char head[HEAD + 1];
    size_t count = size < HEAD ? size : HEAD;
    memcpy(head, line, count);
    head[count] = 0;
    if (!has_prefix(head, "{\"v\":")) return 0;
    const char *t = strstr(head, ",\"t\":");
    return t ? strtod(t + 5, NULL) : 0;
}

static double latest_in(const char *bytes, size_t size, bool is_whole) {
    double latest = 0;
    const char *end = bytes + size, *line = is_whole ? bytes : memchr(bytes, '\n', size);
    if (line && !is_whole) line++;
    while (line && line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        double t = head_t(line, (size_t)((next ? next : end) - line));
        if (t > latest) latest = t;
        line = next ? next + 1 : NULL;
    }
    return latest;
}

double reader_last_t(const struct reader *reader) {
    uint64_t whole = reader_size(reader);
    double latest = 0;
    for (uint64_t tail = TAIL_FIRST; tail <= TAIL_MOST; tail *= 4) {
        bool is_whole = tail >= whole;
        uint64_t size = is_whole ? whole : tail;
        char *bytes = mem_new(size + 1);
        ssize_t count = pread(reader->fd, bytes, size, (off_t)(whole - size));
        if (count > 0) latest = latest_in(bytes, (size_t)count, is_whole);
        free(bytes);
        if (latest > 0 || is_whole) break;
    }
    return latest;
}
