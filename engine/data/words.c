/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/data/switches.h"
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

char *words_of_switch(const struct switch_facts *facts, const char *forgot) {
    if (forgot) return mem_printf("let go of what was compiled under %s", forgot);
    if (strcmp(facts->by, "baseline") == 0)
        return mem_printf("measuring against %s", facts->against ? facts->against : "eager");
    return words_of_change(facts->from, facts->to);
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

/* ---- speedups ---- */

/* Those that differ for sure. */
static void add_phases(struct buf *text, json_t *phases) {
    const char *name, *before = "; ";
    json_t *phase;
    json_object_foreach(phases, name, phase) {
        double ratio = json_number_value(json_object_get(phase, "ratio"));
        double low = json_number_value(json_object_get(phase, "low"));
        double high = json_number_value(json_object_get(phase, "high"));
        if (low <= 1 && high >= 1) continue;
        buf_printf(text, "%s%s %.2f (%.2f to %.2f)", before, name, ratio, low, high);
        before = ", ";
    }
}

char *words_of_speedup(const struct event *event, const char *against) {
    double ratio, low = 0, high = 0, within;
    int64_t pairs = 0, even;
    const char *verdict = event_text(event, "verdict") ? event_text(event, "verdict") : "";
    struct buf text = BUF_INIT;
    event_number(event, "low", &low);
    event_number(event, "high", &high);
    event_int(event, "pairs", &pairs);
    if (!event_number(event, "ratio", &ratio)) {
        buf_printf(&text, "over %s: cannot be told, too few clean pairs (%lld)", against,
                   (long long)pairs);
        return buf_take(&text);
    }
    bool is_sure = strcmp(verdict, "measuring") != 0;
    buf_printf(&text, "%.2f over %s (95 %%: %.2f to %.2f, %lld pairs), %s", ratio, against, low,
               high, (long long)pairs, is_sure ? verdict : "cannot be told");
    if (strcmp(verdict, "tie") == 0 && event_number(event, "within", &within))
        buf_printf(&text, ": no difference larger than %.1f %%", 100 * within);
    add_phases(&text, json_object_get(event->body, "phases"));
    if (event_int(event, "break_even", &even))
        buf_printf(&text, "; pays after %lld steps", (long long)even);
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
