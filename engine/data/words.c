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

/* What torch says between "tensor 'x' " and its figures, and what it means. */
static const struct mismatch {
    const char *infix, *words, *remedy;
} mismatches[] = {
    {" size mismatch at index ", "size of",
     "One dynamic version serves all sizes: dynamic=on. Or keep the size: drop_last=True, "
     "padding."},
    {" stride mismatch at index ", "stride of",
     "Give it the same memory layout every step, for example by contiguous()."},
    {" rank mismatch. ", "dimensions of", "Give it the same number of dimensions every step."},
    {" dtype mismatch. ", "dtype of", "Give it the same dtype every step."},
    {" device index mismatch. ", "device of", "Keep it on one device."},
    {" dispatch key set mismatch. ", "kind of",
     "Inference mode, autocast or a tensor subclass came or went: each needs its own version."},
    {" requires_grad mismatch. ", "requires_grad of",
     "Training and evaluation each need their own version: once each is as it should be."},
};

static const struct global {
    const char *beginning, *words, *remedy;
} globals[] = {
    {"GLOBAL_STATE changed: ", "global state: ",
     "Grad mode, autocast or threads changed: each state needs its own version."},
    {"___check_obj_id(", "another object: ",
     "An object that is made anew every step is looked at by a guard: keep one."},
    {"___check_type_id(", "another type: ", NULL},
};

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

/* Begins with a tensor's name in quotes, which may hold quotes itself. */
static void add_tensor(struct buf *text, const char *cause, const char *infix) {
    const char *name = memmem(cause, (size_t)(infix - cause), "'", 1);
    name = name ? name + 1 : cause;
    const char *end = infix > name && infix[-1] == '\'' ? infix - 1 : infix;
    add_plain(text, name, (size_t)(end - name));
}

static size_t line_size(const char *text) {
    return strcspn(text, "\n");
}

static void add_figures(struct buf *text, const char *behind) {
    const char *expected = strstr(behind, "xpected "), *actual = strstr(behind, ", actual ");
    if (!expected) return;
    expected += strlen("xpected ");
    if (has_prefix(expected, "requires_grad=")) expected += strlen("requires_grad=");
    size_t size = actual && actual > expected ? (size_t)(actual - expected) : line_size(expected);
    buf_puts(text, ": ");
    buf_add(text, expected, size);
    if (!actual) return;
    actual += strlen(", actual ");
    buf_puts(text, ", now ");
    buf_add(text, actual, line_size(actual));
}

static bool add_mismatch(struct buf *text, const char *cause, const char **ret_remedy) {
    for (size_t i = 0; i < ARRAY_SIZE(mismatches); i++) {
        const char *infix = strstr(cause, mismatches[i].infix);
        if (!infix) continue;
        const char *behind = infix + strlen(mismatches[i].infix);
        buf_printf(text, "%s ", mismatches[i].words);
        add_tensor(text, cause, infix);
        if (isdigit((unsigned char)*behind))
            buf_printf(text, "[%.*s]", (int)strspn(behind, "0123456789"), behind);
        add_figures(text, behind);
        *ret_remedy = mismatches[i].remedy;
        return true;
    }
    return false;
}

static bool add_global(struct buf *text, const char *cause, const char **ret_remedy) {
    for (size_t i = 0; i < ARRAY_SIZE(globals); i++) {
        size_t size = strlen(globals[i].beginning);
        if (strncmp(cause, globals[i].beginning, size) != 0) continue;
        bool is_call = globals[i].beginning[size - 1] == '(';
        buf_puts(text, globals[i].words);
        add_plain(text, cause + size,
                  is_call ? strcspn(cause + size, ",)\n") : line_size(cause + size));
        *ret_remedy = globals[i].remedy;
        return true;
    }
    return false;
}

/* A condition on a Python value that held before: "L['n'] == 3". */
static bool add_value(struct buf *text, const char *cause, const char **ret_remedy) {
    const char *equals = strstr(cause, " == ");
    size_t line = line_size(cause);
    if (!equals || (size_t)(equals - cause) >= line) return false;
    const char *value = equals + 4;
    const char *comment = strstr(value, "  #");
    size_t size = comment && comment < cause + line ? (size_t)(comment - value)
                                                    : (size_t)(cause + line - value);
    buf_puts(text, "value of ");
    add_plain(text, cause, (size_t)(equals - cause));
    buf_puts(text, ": was ");
    add_plain(text, value, size);
    *ret_remedy =
        "A Python number that changes makes a version for each value: make it a tensor, or "
        "dynamic=on.";
    return true;
}

char *words_of_cause(const char *cause, const char **ret_remedy) {
    struct buf text = BUF_INIT;
    *ret_remedy = NULL;
    cause = words_cause(cause);
    if (!add_mismatch(&text, cause, ret_remedy) && !add_global(&text, cause, ret_remedy) &&
        !add_value(&text, cause, ret_remedy))
        add_plain(&text, cause, line_size(cause));
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
