/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

struct kept {
    char key[160];
    char *line;
    UT_hash_handle hh;
};

/* What tells two things of one kind apart; false: events of this kind are no state. */
static bool key_of(const struct event *event, char *key, size_t size) {
    int64_t number = 0;
    int rank = event->has_rank ? event->rank : -1;
    const char *text = "";
    switch (event->kind) {
    case EVENT_JOB: break;
    case EVENT_RANK:
        text = event_text(event, "group");
        break;
    case EVENT_UNIT: event_int(event, "unit", &number); break;
    case EVENT_VARIANT:
        event_int(event, "variant", &number);
        rank = -1;
        break;
    case EVENT_SPEEDUP: event_int(event, "variant", &number); break;
    case EVENT_SWITCH:
        event_int(event, "id", &number);
        text = event_text(event, "by");
        break;
    default: return false;
    }
    snprintf(key, size, "%d %d %" PRId64 " %s", (int)event->kind, rank, number, text ? text : "");
    return true;
}

void kept_add(struct kept **kept, const struct event *event, const char *line) {
    char key[sizeof((*kept)->key)];
    if (!key_of(event, key, sizeof key)) return;
    struct kept *one;
    HASH_FIND_STR(*kept, key, one);
    if (!one) {
        one = mem_new(sizeof *one);
        snprintf(one->key, sizeof one->key, "%s", key);
        HASH_ADD_STR(*kept, key, one);
    }
    free(one->line);
    one->line = mem_strdup(line);
}

void kept_each(const struct kept *kept, void (*each)(void *ctx, const char *line), void *ctx) {
    for (const struct kept *one = kept; one; one = one->hh.next) each(ctx, one->line);
}

void kept_free(struct kept **kept) {
    struct kept *one, *next;
    HASH_ITER(hh, *kept, one, next) {
        HASH_DEL(*kept, one);
        free(one->line);
        free(one);
    }
}
