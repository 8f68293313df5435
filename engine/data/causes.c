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

enum { BACK_AFTER_STEPS = 20 };

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
    free((char *)shown->key);
    free((char *)shown->frame);
    free((char *)shown->id);
    free((char *)shown->source);
    free((char *)shown->cause);
    free((char *)shown->words);
    free((char *)shown->remedy);
    free((char *)shown->file);
    free((char *)shown->ranks);
}

/* What is decoded is told apart by the row of the table of causes and by what changed; a text that
 * is not, by all but its figures, which come last, behind a colon. */
static char *key_of(const struct snapshot_cause *cause) {
    if (cause->id && strcmp(cause->id, "unknown") != 0)
        return mem_printf("%s\n%s\n%s", cause->frame, cause->id,
                          cause->source ? cause->source : "");
    const char *figures = strstr(cause->words, ": ");
    size_t head = figures ? (size_t)(figures - cause->words) : 0;
    CLEANUP(cleanup_free) char *rest = words_without_numbers(cause->words + head);
    return mem_printf("%s\n%.*s%s", cause->frame, (int)head, cause->words, rest);
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

static const char *dup(const char *text) {
    return text ? mem_strdup(text) : NULL;
}

/* What is to be said of a reason, texts lent. */
static void show(struct causes *causes, struct cause *cause, const struct snapshot_cause *next) {
    struct snapshot_cause *shown = shared_new(sizeof *shown, shown_done);
    bool is_other = strcmp(cause->key, OTHER_CAUSES) == 0;
    struct shared shared = shown->shared;
    *shown = *next;
    shown->shared = shared;
    shown->key = mem_strdup(cause->key);
    shown->frame = mem_strdup(is_other ? "" : next->frame);
    shown->id = is_other ? NULL : dup(next->id);
    shown->source = is_other ? NULL : dup(next->source);
    shown->cause = is_other ? mem_strdup(OTHER_CAUSES) : dup(next->cause);
    shown->words = mem_strdup(is_other ? OTHER_CAUSES : next->words);
    shown->remedy = is_other ? NULL : dup(next->remedy);
    shown->file = is_other ? NULL : dup(next->file);
    shown->has_line = !is_other && next->has_line;
    shown->ranks = rank_set_text(&cause->ranks);
    shown->rank_count = cause->ranks.count;
    roll_set(&causes->list, cause->at, shown);
}

/* The figures of one that is there already: of what follows, texts are new. */
static struct snapshot_cause figures_of(struct causes *causes, const struct cause *cause) {
    struct snapshot_cause figures = {0};
    const struct snapshot_cause *before = roll_at(&causes->list, cause->at);
    figures.count = before->count;
    figures.seconds = before->seconds;
    figures.last_step = before->last_step;
    figures.last_variant = before->last_variant;
    figures.is_back = before->is_back;
    return figures;
}

/* The backward of a version that was compiled again: lost with it. */
static void add_backward(struct causes *causes, const struct event *event,
                         const struct snapshot_cause *told) {
    struct cause *cause;
    CLEANUP(cleanup_free) char *key = key_of(told);
    double ms = 0;
    HASH_FIND_STR(causes->by_key, key, cause);
    if (!cause || !event_number(event, "ms", &ms)) return;
    struct snapshot_cause next = *(struct snapshot_cause *)roll_at(&causes->list, cause->at);
    next.seconds += ms / 1e3;
    show(causes, cause, &next);
}

void causes_take(struct causes *causes, const struct event *event, uint64_t step) {
    const char *trigger = event_text(event, "trigger"), *text = event_text(event, "cause");
    const char *frame = event_text(event, "frame");
    CLEANUP(cleanup_free) char *words = words_of_cause(event);
    double ms = 0;
    int64_t variant = 0;
    event_int(event, "variant", &variant);
    struct snapshot_cause told = {
        .frame = frame ? frame : "",
        .id = event_text(event, "cause_id"),
        .source = event_text(event, "source"),
        .cause = text ? words_cause(text) : NULL,
        .words = words ? words : "no cause was told",
        .remedy = event_text(event, "remedy"),
        .file = event_text(event, "file"),
        .last_rank = event->rank,
        .last_t = event->t,
        .has_last_step = true,
        .last_step = step,
        .last_variant = (uint32_t)variant,
    };
    if (trigger && told.id && strcmp(trigger, "backward") == 0) add_backward(causes, event, &told);
    if (!trigger || strcmp(trigger, "recompile") != 0) return;
    told.has_line = event_int(event, "line", &told.line);
    CLEANUP(cleanup_free) char *key = key_of(&told);
    struct cause *cause = find_or_add(causes, key);
    struct snapshot_cause figures = figures_of(causes, cause);
    event_number(event, "ms", &ms);
    rank_set_add(&cause->ranks, event->rank);
    told.count = figures.count + 1;
    told.seconds = figures.seconds + ms / 1e3;
    bool is_same = figures.count && figures.last_variant == told.last_variant;
    told.is_back = figures.is_back || (is_same && step >= figures.last_step + BACK_AFTER_STEPS);
    show(causes, cause, &told);
}

static void set_text(json_t *one, const char *name, const char *text) {
    if (text) json_object_set_new(one, name, event_string(text));
}

json_t *causes_json(const struct causes *causes) {
    json_t *array = json_array();
    for (size_t i = 0; i < causes->list.count; i++) {
        const struct snapshot_cause *shown = roll_at(&causes->list, i);
        json_t *one =
            json_pack("{s:o, s:o, s:I, s:f, s:s, s:i, s:f}", "frame", event_string(shown->frame),
                      "words", event_string(shown->words), "count", (json_int_t)shown->count,
                      "seconds", shown->seconds, "ranks", shown->ranks, "last_rank",
                      shown->last_rank, "last_t", shown->last_t);
        set_text(one, "cause", shown->cause);
        set_text(one, "cause_id", shown->id);
        set_text(one, "source", shown->source);
        set_text(one, "remedy", shown->remedy);
        set_text(one, "file", shown->file);
        if (shown->has_line) json_object_set_new(one, "line", json_integer(shown->line));
        if (shown->has_last_step)
            json_object_set_new(one, "last_step", json_integer((json_int_t)shown->last_step));
        json_array_append_new(array, one);
    }
    return array;
}

static const char *text_in(const json_t *one, const char *name) {
    return json_string_value(json_object_get(one, name));
}

static void set_one(struct causes *causes, const json_t *one) {
    const char *frame = text_in(one, "frame"), *ranks = text_in(one, "ranks");
    const json_t *step = json_object_get(one, "last_step"), *line = json_object_get(one, "line");
    struct snapshot_cause told = {
        .frame = frame ? frame : "",
        .id = text_in(one, "cause_id"),
        .source = text_in(one, "source"),
        .cause = text_in(one, "cause"),
        .words = text_in(one, "words"),
        .remedy = text_in(one, "remedy"),
        .file = text_in(one, "file"),
        .has_line = json_is_integer(line),
        .line = json_integer_value(line),
        .count = (uint64_t)json_integer_value(json_object_get(one, "count")),
        .seconds = json_number_value(json_object_get(one, "seconds")),
        .last_rank = (int)json_integer_value(json_object_get(one, "last_rank")),
        .last_t = json_number_value(json_object_get(one, "last_t")),
        .has_last_step = json_is_integer(step),
        .last_step = (uint64_t)json_integer_value(step),
    };
    if (!told.words) told.words = told.cause;
    if (!told.words) return;
    CLEANUP(cleanup_free) char *key = key_of(&told);
    struct cause *cause =
        find_or_add(causes, strcmp(told.words, OTHER_CAUSES) ? key : OTHER_CAUSES);
    rank_set_parse(&cause->ranks, ranks ? ranks : "");
    show(causes, cause, &told);
}

void causes_set(struct causes *causes, const json_t *array) {
    size_t i;
    json_t *one;
    json_array_foreach(array, i, one) set_one(causes, one);
}
