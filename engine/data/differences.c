/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/differences.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/snapshot.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

struct difference {
    char *key;
    size_t at; /* in the list */
    UT_hash_handle hh;
};

/* What an event is, for one kind of difference. */
struct met {
    char *subject, *detail, *words; /* detail: with the subject, what makes it one */
    bool is_not;                    /* this rank was asked the same and is not one of those */
};

void differences_init(struct differences *differences) {
    *differences = (struct differences){0};
    roll_init(&differences->list, SNAPSHOT_GROUPED);
}

void differences_done(struct differences *differences) {
    struct difference *difference, *next;
    HASH_ITER(hh, differences->by_key, difference, next) {
        HASH_DEL(differences->by_key, difference);
        free(difference->key);
        free(difference);
    }
    roll_done(&differences->list);
}

static const char *text_of(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? text : "";
}

static bool is_text(const struct event *event, const char *field, const char *text) {
    return strcmp(text_of(event, field), text) == 0;
}

/* ---- the kinds */

static bool met_recompile(const struct event *event, struct met *ret) {
    if (event->kind != EVENT_COMPILE || !is_text(event, "trigger", "recompile")) return false;
    CLEANUP(cleanup_free) char *words = words_of_cause(event);
    CLEANUP(cleanup_free) char *plain = words_without_numbers(words ? words : "");
    const char *id = event_text(event, "cause_id");
    bool is_decoded = id && strcmp(id, "unknown") != 0;
    ret->subject = mem_strdup(text_of(event, "frame"));
    ret->detail = is_decoded ? mem_printf("%s %s", id, text_of(event, "source")) : mem_strdup(plain);
    ret->words = mem_strdup(words ? words : "no cause was told");
    return true;
}

/* What follows a graph break is a function of its own: there the break is the difference. */
static bool met_compile(const struct event *event, struct met *ret) {
    int64_t variant = 0;
    const char *frame = text_of(event, "frame");
    bool is_new = is_text(event, "trigger", "first") || is_text(event, "trigger", "variant");
    if (event->kind != EVENT_COMPILE || !is_new || !frame[0] || strstr(frame, "torch_dynamo_resume_in_") == frame) return false;
    event_int(event, "variant", &variant);
    ret->subject = mem_strdup(frame);
    ret->detail = mem_printf("%lld", (long long)variant);
    return true;
}

static bool met_break(const struct event *event, struct met *ret) {
    if (event->kind != EVENT_BREAK || is_text(event, "effect", "ddp")) return false;
    char *place = words_of_place(event);
    ret->subject = place ? place : mem_strdup(text_of(event, "frame"));
    ret->detail = mem_strdup(text_of(event, "reason"));
    ret->words = mem_strdup(ret->detail);
    return true;
}

static bool met_miss(const struct event *event, struct met *ret) {
    const json_t *cache = json_object_get(event->body, "cache");
    bool is_miss = json_object_get(cache, "fx_miss"), is_hit = json_object_get(cache, "fx_hit");
    if (event->kind != EVENT_COMPILE || (!is_miss && !is_hit)) return false;
    ret->subject = mem_strdup(text_of(event, "frame"));
    ret->detail = mem_printf("%s %s", text_of(event, "trigger"), text_of(event, "id"));
    ret->is_not = !is_miss;
    return true;
}

static bool (*const kinds[DIFFERENCE_COUNT])(const struct event *event, struct met *ret) = {
    [DIFFERENCE_RECOMPILE] = met_recompile,
    [DIFFERENCE_COMPILE] = met_compile,
    [DIFFERENCE_BREAK] = met_break,
    [DIFFERENCE_CACHE] = met_miss,
};

/* ---- kept */

static void shown_done(void *thing) {
    struct snapshot_difference *shown = thing;
    free((char *)shown->key);
    free((char *)shown->group);
    free((char *)shown->subject);
    free((char *)shown->words);
    rank_set_done(&shown->did);
    rank_set_done(&shown->did_not);
}

static struct difference *find_or_add(struct differences *differences, const char *key) {
    struct difference *difference;
    HASH_FIND_STR(differences->by_key, key, difference);
    if (difference || differences->list.count == SNAPSHOT_GROUPED) return difference;
    difference = mem_new(sizeof *difference);
    difference->key = mem_strdup(key);
    difference->at = differences->list.count;
    HASH_ADD_KEYPTR(hh, differences->by_key, difference->key, strlen(difference->key), difference);
    roll_add(&differences->list, shared_new(sizeof(struct snapshot_difference), shown_done));
    return difference;
}

static void add(struct snapshot_difference *shown, const struct event *event, const struct met *met) {
    double ms = 0;
    if (met->is_not) {
        rank_set_add(&shown->did_not, event->rank);
        return;
    }
    event_number(event, "ms", &ms);
    rank_set_add(&shown->did, event->rank);
    shown->count++;
    shown->seconds += ms / 1e3;
}

static void take(struct differences *differences, enum difference_kind kind, const struct event *event, const char *group,
                 uint64_t step) {
    struct met met = {0};
    if (!kinds[kind](event, &met)) return;
    CLEANUP(cleanup_free) char *subject = met.subject, *detail = met.detail, *words = met.words;
    CLEANUP(cleanup_free) char *key = mem_printf("%d\n%s\n%s\n%s", (int)kind, group, subject, detail);
    struct difference *difference = find_or_add(differences, key);
    if (!difference) return;
    const struct snapshot_difference *before = roll_at(&differences->list, difference->at);
    struct snapshot_difference *shown = shared_new(sizeof *shown, shown_done);
    shown->key = mem_strdup(key);
    shown->kind = kind;
    shown->group = mem_strdup(group);
    shown->subject = mem_strdup(subject);
    shown->words = words ? mem_strdup(words) : NULL;
    shown->did = rank_set_dup(&before->did);
    shown->did_not = rank_set_dup(&before->did_not);
    shown->count = before->count;
    shown->seconds = before->seconds;
    shown->step = step;
    add(shown, event, &met);
    roll_set(&differences->list, difference->at, shown);
}

void differences_take(struct differences *differences, const struct event *event, const char *group, uint64_t step) {
    for (int kind = 0; kind < DIFFERENCE_COUNT; kind++) take(differences, (enum difference_kind)kind, event, group ? group : "", step);
}
