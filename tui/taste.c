/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/taste.h"

#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/setup/file.h"
#include "engine/base/banned.h"

enum { BYTES_MAX = 64 * 1024 };

/* The value in a line of this key, else NULL. */
static const char *value_in(const char *line, const char *key) {
    size_t size = strlen(key);
    return strncmp(line, key, size) == 0 && line[size] == ' ' ? line + size + 1 : NULL;
}

static const char *behind(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

char *taste_get(const char *key) {
    CLEANUP(cleanup_free) char *path = file_of_user("screen");
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    if (!path || file_read(path, BYTES_MAX, &text, NULL)) return NULL;
    for (const char *line = buf_text(&text); *line; line = behind(line)) {
        const char *value = value_in(line, key);
        if (value) return mem_strndup(value, strcspn(value, "\n"));
    }
    return NULL;
}

int taste_put(const char *key, const char *value, struct err *err) {
    CLEANUP(cleanup_free) char *path = file_of_user("screen");
    CLEANUP(buf_done) struct buf before = BUF_INIT;
    CLEANUP(buf_done) struct buf after = BUF_INIT;
    if (!path) return err_set(err, ERR_MISSING, "neither XDG_CONFIG_HOME nor HOME is set");
    if (file_read(path, BYTES_MAX, &before, NULL)) buf_clear(&before);
    for (const char *line = buf_text(&before); *line; line = behind(line))
        if (!value_in(line, key)) buf_printf(&after, "%.*s\n", (int)strcspn(line, "\n"), line);
    if (*value) buf_printf(&after, "%s %s\n", key, value);
    return file_replace(path, buf_text(&after), after.size, err);
}
