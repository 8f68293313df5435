/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/causes.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/rank_set.h"
#include "engine/data/snapshot.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

#define OTHER_CAUSES "other causes"

/* What one reason came to; `at` is its place in the list. */
struct cause {
    char *key;
    size_t at;
    struct rank_set ranks;
    UT_hash_handle hh;
};

void causes_init(struct causes *causes) {
    *causes = (struct causes){0};
    roll_init(&causes->list, SNAPSHOT_GROUPED);
}

void causes_done(struct causes *causes) {
    struct cause *cause, *next;
    HASH_ITER(hh, causes->by_key, cause, next) {
        HASH_DEL(causes->by_key, cause);
        rank_set_done(&cause->ranks);
        free(cause->key);
        free(cause);
    }
    roll_done(&causes->list);
}

static void shown_done(void *thing) {
    struct snapshot_cause *shown = thing;
    free((char *)shown->frame);
    free((char *)shown->cause);
    free((char *)shown->words);
    free((char *)shown->ranks);
}

/* The figures come last, behind a colon. */
static char *key_of(const char *frame, const char *words) {
    const char *figures = strstr(words, ": ");
    size_t head = figures ? (size_t)(figures - words) : 0;
    CLEANUP(cleanup_free) char *rest = words_without_numbers(words + head);
    return mem_printf("%s\n%.*s%s", frame, (int)head, words, rest);
}

static struct cause *find_or_add(struct causes *causes, const char *key) {
    struct cause *cause;
    HASH_FIND_STR(causes->by_key, key, cause);
    if (cause) return cause;
    if (causes->list.count == SNAPSHOT_GROUPED) {
        HASH_FIND_STR(causes->by_key, OTHER_CAUSES, cause);
        return cause;
    }
    cause = mem_new(sizeof *cause);
    bool is_last = causes->list.count == SNAPSHOT_GROUPED - 1;
    cause->key = mem_strdup(is_last ? OTHER_CAUSES : key);
    cause->at = causes->list.count;
    HASH_ADD_KEYPTR(hh, causes->by_key, cause->key, strlen(cause->key), cause);
    roll_add(&causes->list, shared_new(sizeof(struct snapshot_cause), shown_done));
    return cause;
}

/* What is to be said of a reason, texts lent. */
static void show(struct causes *causes, struct cause *cause, struct snapshot_cause *next) {
    struct snapshot_cause *shown = shared_new(sizeof *shown, shown_done);
    bool is_other = strcmp(cause->key, OTHER_CAUSES) == 0;
    struct shared shared = shown->shared;
    *shown = *next;
    shown->shared = shared;
    shown->frame = mem_strdup(is_other ? "" : next->frame);
    shown->cause = mem_strdup(is_other ? OTHER_CAUSES : next->cause);
    shown->words =
        is_other ? mem_strdup(OTHER_CAUSES) : words_of_cause(next->cause, &shown->remedy);
    shown->ranks = rank_set_text(&cause->ranks);
    shown->rank_count = cause->ranks.count;
    roll_set(&causes->list, cause->at, shown);
}

static struct cause *cause_of(struct causes *causes, const char *frame, const char *text) {
    const char *remedy;
    CLEANUP(cleanup_free) char *words = words_of_cause(text, &remedy);
    CLEANUP(cleanup_free) char *key = key_of(frame, words);
    return find_or_add(causes, key);
}

void causes_take(struct causes *causes, const struct event *event, uint64_t step) {
    const char *trigger = event_text(event, "trigger"), *text = event_text(event, "cause"),
               *frame = event_text(event, "frame");
    double ms = 0;
    if (!trigger || strcmp(trigger, "recompile") != 0) return;
    text = text ? words_cause(text) : "no cause was told";
    frame = frame ? frame : "";
    struct cause *cause = cause_of(causes, frame, text);
    struct snapshot_cause next = *(struct snapshot_cause *)roll_at(&causes->list, cause->at);
    event_number(event, "ms", &ms);
    rank_set_add(&cause->ranks, event->rank);
    next.frame = frame;
    next.cause = text;
    next.remedy = NULL;
    next.count++;
    next.seconds += ms / 1e3;
    next.last_rank = event->rank;
    next.last_t = event->t;
    next.has_last_step = true;
    next.last_step = step;
    show(causes, cause, &next);
}

json_t *causes_json(const struct causes *causes) {
    json_t *array = json_array();
    for (size_t i = 0; i < causes->list.count; i++) {
        const struct snapshot_cause *shown = roll_at(&causes->list, i);
        json_t *one =
            json_pack("{s:o, s:o, s:I, s:f, s:s, s:i, s:f}", "frame", event_string(shown->frame),
                      "cause", event_string(shown->cause), "count", (json_int_t)shown->count,
                      "seconds", shown->seconds, "ranks", shown->ranks, "last_rank",
                      shown->last_rank, "last_t", shown->last_t);
        if (shown->has_last_step)
            json_object_set_new(one, "last_step", json_integer((json_int_t)shown->last_step));
        json_array_append_new(array, one);
    }
    return array;
}

static void set_one(struct causes *causes, const json_t *one) {
    const char *frame = json_string_value(json_object_get(one, "frame"));
    const char *text = json_string_value(json_object_get(one, "cause"));
    const char *ranks = json_string_value(json_object_get(one, "ranks"));
    const json_t *step = json_object_get(one, "last_step");
    if (!text) return;
    struct cause *cause = strcmp(text, OTHER_CAUSES) ? cause_of(causes, frame ? frame : "", text)
                                                     : find_or_add(causes, OTHER_CAUSES);
    struct snapshot_cause next = {
        .frame = frame ? frame : "",
        .cause = text,
        .count = (uint64_t)json_integer_value(json_object_get(one, "count")),
        .seconds = json_number_value(json_object_get(one, "seconds")),
        .last_rank = (int)json_integer_value(json_object_get(one, "last_rank")),
        .last_t = json_number_value(json_object_get(one, "last_t")),
        .has_last_step = json_is_integer(step),
        .last_step = (uint64_t)json_integer_value(step),
    };
    rank_set_parse(&cause->ranks, ranks ? ranks : "");
    show(causes, cause, &next);
}

void causes_set(struct causes *causes, const json_t *array) {
    size_t i;
    json_t *one;
    json_array_foreach(array, i, one) set_one(causes, one);
}
