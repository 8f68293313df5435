/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/places.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/rank_set.h"
#include "engine/data/snapshot.h"
#include "engine/base/banned.h"

/* How often a rank met it, in each frame and under each of its settings. */
struct meeting {
    char *key;
    uint64_t count;
    UT_hash_handle hh;
};

struct place {
    char *key;
    size_t at;
    struct rank_set ranks;
    struct meeting *meetings;
    uint64_t count; /* of all meetings */
    bool is_eager, has_runs;
    int64_t runs;
    UT_hash_handle hh;
};

void places_init(struct places *places) {
    *places = (struct places){0};
    roll_init(&places->list, SNAPSHOT_GROUPED);
}

static void place_free(struct place *place) {
    struct meeting *meeting, *next;
    HASH_ITER(hh, place->meetings, meeting, next) {
        HASH_DEL(place->meetings, meeting);
        free(meeting->key);
        free(meeting);
    }
    rank_set_done(&place->ranks);
    free(place->key);
    free(place);
}

void places_done(struct places *places) {
    struct place *place, *next;
    HASH_ITER(hh, places->by_key, place, next) {
        HASH_DEL(places->by_key, place);
        place_free(place);
    }
    roll_done(&places->list);
}

static void shown_done(void *thing) {
    struct snapshot_break *shown = thing;
    free((char *)shown->file);
    free((char *)shown->frame);
    free((char *)shown->reason);
    free((char *)shown->code);
    free((char *)shown->kind);
    free((char *)shown->explanation);
    free((char *)shown->remedy);
    free((char *)shown->inside);
    free((char *)shown->ranks);
}

static char *dup(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? mem_strdup(text) : NULL;
}

static const char *text_of(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? text : "";
}

static struct place *find_or_add(struct places *places, const char *key) {
    struct place *place;
    HASH_FIND_STR(places->by_key, key, place);
    if (place || places->list.count == SNAPSHOT_GROUPED) return place;
    place = mem_new(sizeof *place);
    place->key = mem_strdup(key);
    place->at = places->list.count;
    HASH_ADD_KEYPTR(hh, places->by_key, place->key, strlen(place->key), place);
    roll_add(&places->list, shared_new(sizeof(struct snapshot_break), shown_done));
    return place;
}

/* `count` is how often so far: what is new is what it grew by. */
static void count(struct place *place, const struct event *event, const char *group) {
    int64_t unit = -1, told = 1, variant = -1;
    event_int(event, "unit", &unit);
    event_int(event, "variant", &variant);
    event_int(event, "count", &told);
    CLEANUP(cleanup_free)
    char *key = mem_printf("%d %lld %lld %s %s", event->rank, (long long)unit, (long long)variant,
                           group ? group : "", text_of(event, "frame"));
    struct meeting *meeting;
    HASH_FIND_STR(place->meetings, key, meeting);
    if (!meeting) {
        meeting = mem_new(sizeof *meeting);
        meeting->key = TAKE(key);
        HASH_ADD_KEYPTR(hh, place->meetings, meeting->key, strlen(meeting->key), meeting);
    }
    if (told < 0 || (uint64_t)told <= meeting->count) return;
    place->count += (uint64_t)told - meeting->count;
    meeting->count = (uint64_t)told;
}

/* One frame that runs eager because of it is enough to say so. */
static void take_facts(struct place *place, const struct event *event) {
    if (strcmp(text_of(event, "effect"), "eager") == 0) place->is_eager = true;
    if (event_int(event, "runs", &place->runs)) place->has_runs = true;
}

bool places_take(struct places *places, const struct event *event, const char *group) {
    int64_t line = 0;
    bool has_line = event_int(event, "line", &line);
    CLEANUP(cleanup_free)
    char *key = mem_printf("%s\n%lld\n%s", text_of(event, "file"), has_line ? (long long)line : -1,
                           text_of(event, "reason"));
    struct place *place = find_or_add(places, key);
    if (!place) return false;
    bool is_new = rank_set_add(&place->ranks, event->rank);
    count(place, event, group);
    take_facts(place, event);
    struct snapshot_break *shown = shared_new(sizeof *shown, shown_done);
    shown->file = dup(event, "file");
    shown->frame = dup(event, "frame");
    shown->reason = mem_strdup(text_of(event, "reason"));
    shown->code = dup(event, "code");
    shown->kind = dup(event, "class");
    shown->explanation = dup(event, "explanation");
    shown->remedy = dup(event, "remedy");
    shown->inside = dup(event, "inside");
    shown->is_framework = event_is_true(event, "framework");
    shown->is_meant = strcmp(text_of(event, "effect"), "ddp") == 0;
    shown->is_eager = place->is_eager;
    shown->has_runs = place->has_runs;
    shown->runs = place->runs;
    shown->has_line = has_line;
    shown->line = line;
    shown->count = place->count;
    shown->rank_count = place->ranks.count;
    shown->ranks = rank_set_text(&place->ranks);
    shown->last_t = event->t;
    roll_set(&places->list, place->at, shown);
    return is_new;
}
