/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

/* ---- settings ---- */

static const char *value_of(const json_t *settings, const char *key) {
    const char *value = json_string_value(json_object_get(settings, key));
    return value ? value : "as written";
}

static void add_change(struct buf *text, const char *key, const char *from, const char *to) {
    if (strcmp(from, to) != 0)
        buf_printf(text, "%s%s %s to %s", text->size ? ", " : "", key, from, to);
}

char *words_of_change(const json_t *from, const json_t *to) {
    struct buf text = BUF_INIT;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)to, key, value)
        add_change(&text, key, value_of(from, key), value_of(to, key));
    json_object_foreach((json_t *)from, key, value) if (!json_object_get(to, key))
        add_change(&text, key, value_of(from, key), "as written");
    return buf_take(&text);
}

char *words_of_forget(const char *label) {
    return mem_printf("let go of what was compiled under %s", label);
}

/* ---- places ---- */

char *words_of_place(const struct event *event) {
    const char *file = event_text(event, "file");
    int64_t line;
    if (!file || !file[0]) return NULL;
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (!event_int(event, "line", &line)) return mem_strdup(base);
    return mem_printf("%s:%lld", base, (long long)line);
}

/* ---- causes ---- */

const char *words_cause(const char *cause) {
    const char *at = cause;
    while (isdigit((unsigned char)*at) || *at == '/' || (at > cause && *at == ':' && at[1] != ' '))
        at++;
    return at > cause && *at == ':' && at[1] == ' ' ? at + 2 : cause;
}

/* L['x'] becomes x, also inside of longer names. */
static void add_plain(struct buf *text, const char *from, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t rest = size - i;
        const char *quote = rest > 3 && memcmp(from + i, "L['", 3) == 0
                                ? memmem(from + i + 3, rest - 3, "']", 2)
                                : NULL;
        if (quote) {
            buf_add(text, from + i + 3, (size_t)(quote - from) - i - 3);
            i = (size_t)(quote - from) + 2;
        } else {
            buf_add(text, from + i++, 1);
        }
    }
}

char *words_of_cause(const struct event *event) {
    const char *words = event_text(event, "words"), *cause = event_text(event, "cause");
    if (words) return mem_strdup(words);
    if (!cause) return NULL;
    struct buf text = BUF_INIT;
    cause = words_cause(cause);
    add_plain(&text, cause, strcspn(cause, "\n"));
    return buf_take(&text);
}

char *words_without_numbers(const char *text) {
    struct buf plain = BUF_INIT;
    for (const char *at = text; *at;) {
        size_t digits = strspn(at, "0123456789");
        buf_add(&plain, digits ? "#" : at, 1);
        at += digits ? digits : 1;
    }
    return buf_take(&plain);
}
