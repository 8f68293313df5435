/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

struct kept {
    char key[224];
    char *group, *line;
    uint64_t seq;
    UT_hash_handle hh;
};

/* Stands for file, line, frame, reason and variant. */
static uint32_t place_hash(const struct event *event) {
    static const char *const fields[] = {"file", "frame", "reason"};
    int64_t line = -1, variant = -1;
    struct buf place = BUF_INIT;
    event_int(event, "line", &line);
    event_int(event, "variant", &variant);
    buf_printf(&place, "%" PRId64 " %" PRId64, line, variant);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        buf_printf(&place, "\n%s",
                   event_text(event, fields[i]) ? event_text(event, fields[i]) : "");
    uint32_t hash = str_hash(place.data, place.size);
    buf_done(&place);
    return hash;
}

/* Stands for both sides of a speedup. */
static int64_t comparison_of(const struct event *event) {
    int64_t variant = 0, against = 0;
    event_int(event, "variant", &variant);
    event_int(event, "against", &against);
    return (against & INT32_MAX) << 32 | (variant & INT32_MAX);
}

/* What tells two things of one kind apart; false: events of this kind are no state. */
static bool key_of(const struct event *event, const char *group, char *key, size_t size) {
    int64_t number = 0;
    int rank = event->has_rank ? event->rank : -1;
    const char *text = "";
    switch (event->kind) {
    case EVENT_JOB: break;
    case EVENT_RANK:
    case EVENT_MEMORY:
    case EVENT_COMPILERS:
    case EVENT_BRIDGE: break;
    case EVENT_UNIT:
    case EVENT_ACTIVE: event_int(event, "unit", &number); break;
    case EVENT_VARIANT:
        event_int(event, "variant", &number);
        rank = -1;
        group = "";
        break;
    case EVENT_SPEEDUP: number = comparison_of(event); break;
    case EVENT_SWITCH:
        event_int(event, "id", &number);
        text = event_text(event, "by");
        break;
    case EVENT_BREAK:
        event_int(event, "unit", &number);
        number = (number & INT32_MAX) << 32 | place_hash(event);
        break;
    default: return false;
    }
    snprintf(key, size, "%d %d %" PRId64 " %s %s", (int)event->kind, rank, number, text ? text : "",
             group);
    return true;
}

void kept_add(struct kept **kept, const struct event *event, const char *group, const char *line,
              uint64_t seq) {
    char key[sizeof((*kept)->key)];
    if (!key_of(event, group, key, sizeof key)) return;
    struct kept *one;
    HASH_FIND_STR(*kept, key, one);
    if (!one && event->kind == EVENT_BREAK && HASH_COUNT(*kept) >= KEPT_BREAKS) return;
    if (!one) {
        one = mem_new(sizeof *one);
        snprintf(one->key, sizeof one->key, "%s", key);
        one->group = mem_strdup(group);
        HASH_ADD_STR(*kept, key, one);
    }
    free(one->line);
    one->line = mem_strdup(line);
    one->seq = seq;
}

void kept_each(const struct kept *kept,
               void (*each)(void *ctx, const char *group, const char *line, uint64_t seq),
               void *ctx) {
    for (const struct kept *one = kept; one; one = one->hh.next)
        each(ctx, one->group, one->line, one->seq);
}

void kept_free(struct kept **kept) {
    struct kept *one, *next;
    HASH_ITER(hh, *kept, one, next) {
        HASH_DEL(*kept, one);
        free(one->group);
        free(one->line);
        free(one);
    }
}
