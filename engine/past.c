/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/mem.h"
#include "engine/kept.h"
#include "engine/wire/kinds.h"
#include "engine/base/banned.h"

enum { STEPS_LEAST = 16 };

struct told {
    uint64_t seq;
    size_t size;
    char *group, *line;
};

/* The last steps in a ring; what falls out of it goes, every `stride`-th, to the thinned ones. */
struct past_rank {
    char *key, *group;
    int rank;
    uint64_t count; /* steps so far */
    struct step_record last[PAST_STEPS];
    size_t thin_count;
    uint64_t stride, fallen;
    struct step_record thin[PAST_STEPS];
    UT_hash_handle hh;
};

struct past {
    struct kept *kept;
    struct told ring[PAST_EVENTS];
    size_t begin, count, bytes;
    uint64_t seq;
    struct past_rank *ranks, *latest; /* latest: most steps come in runs */
};

struct past *past_new(void) {
    return mem_new(sizeof(struct past));
}

static void drop_oldest(struct past *past) {
    struct told *told = &past->ring[past->begin];
    past->bytes -= told->size;
    free(told->group);
    free(told->line);
    *told = (struct told){0};
    past->begin = (past->begin + 1) % PAST_EVENTS;
    past->count--;
}

struct past *past_free(struct past *past) {
    struct past_rank *rank, *next;
    if (!past) return NULL;
    while (past->count) drop_oldest(past);
    kept_free(&past->kept);
    HASH_ITER(hh, past->ranks, rank, next) {
        HASH_DEL(past->ranks, rank);
        free(rank->key);
        free(rank->group);
        free(rank);
    }
    free(past);
    return NULL;
}

/* ---- events */

uint64_t past_event(struct past *past, const struct event *event, const char *group,
                    const char *line, size_t size) {
    past->seq++;
    kept_add(&past->kept, event, group, line, past->seq);
    if (event->kind < EVENT_KIND_COUNT && kind_get(event->kind)->rate == RATE_SAMPLE)
        return past->seq; /* the next one comes in a second */
    while (past->count && (past->count == PAST_EVENTS || past->bytes + size > PAST_EVENT_BYTES))
        drop_oldest(past);
    past->ring[(past->begin + past->count++) % PAST_EVENTS] =
        (struct told){.seq = past->seq,
                      .size = size,
                      .group = mem_strdup(group),
                      .line = mem_strndup(line, size)};
    past->bytes += size;
    return past->seq;
}

uint64_t past_seq(const struct past *past) {
    return past->seq;
}

struct walk {
    uint64_t since, before;
    bool (*each)(void *ctx, const struct past_line *line);
    void *ctx;
    bool is_stopped;
};

static void tell_kept(void *ctx, const char *group, const char *line, uint64_t seq) {
    struct walk *walk = ctx;
    if (walk->is_stopped || seq <= walk->since || seq >= walk->before) return;
    walk->is_stopped = !walk->each(walk->ctx, &(struct past_line){seq, group, line, strlen(line)});
}

bool past_each_event(const struct past *past, uint64_t since,
                     bool (*each)(void *ctx, const struct past_line *line), void *ctx) {
    uint64_t first = past->count ? past->ring[past->begin].seq : past->seq + 1;
    struct walk walk = {.since = since, .before = first, .each = each, .ctx = ctx};
    kept_each(past->kept, tell_kept, &walk);
    for (size_t i = 0; i < past->count && !walk.is_stopped; i++) {
        const struct told *told = &past->ring[(past->begin + i) % PAST_EVENTS];
        const struct past_line line = {told->seq, told->group, told->line, told->size};
        if (told->seq > since) walk.is_stopped = !each(ctx, &line);
    }
    return !walk.is_stopped;
}

/* ---- steps */

static struct past_rank *rank_of(struct past *past, const char *group, int number) {
    struct past_rank *rank = past->latest;
    if (rank && rank->rank == number && strcmp(rank->group, group) == 0) return rank;
    char *key = mem_printf("%d %s", number, group);
    HASH_FIND_STR(past->ranks, key, rank);
    if (!rank) {
        rank = mem_new(sizeof *rank);
        rank->key = mem_strdup(key);
        rank->group = mem_strdup(group);
        rank->rank = number;
        rank->stride = 1;
        HASH_ADD_KEYPTR(hh, past->ranks, rank->key, strlen(rank->key), rank);
    }
    free(key);
    return past->latest = rank;
}

static void add_thin(struct past_rank *rank, const struct step_record *record) {
    if (rank->fallen++ % rank->stride) return;
    if (rank->thin_count == PAST_STEPS) {
        for (size_t i = 0; i < PAST_STEPS / 2; i++) rank->thin[i] = rank->thin[2 * i];
        rank->thin_count = PAST_STEPS / 2;
        rank->stride *= 2;
        if ((rank->fallen - 1) % rank->stride) return;
    }
    rank->thin[rank->thin_count++] = *record;
}

void past_steps(struct past *past, const char *group, int number, const void *records,
                size_t count) {
    struct past_rank *rank = rank_of(past, group, number);
    const char *at = records;
    for (size_t i = 0; i < count; i++, at += sizeof(struct step_record)) {
        struct step_record *place = &rank->last[rank->count % PAST_STEPS];
        if (rank->count++ >= PAST_STEPS) add_thin(rank, place);
        memcpy(place, at, sizeof *place);
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The last ones, and half of the room or more for those before. */
static size_t gather(const struct past_rank *rank, size_t most, struct step_record *ret) {
    size_t kept = least(least(rank->count, PAST_STEPS), most - least(rank->thin_count, most / 2));
    size_t thin = least(rank->thin_count, most - kept), count = 0;
    for (size_t i = 0; i < thin; i++) ret[count++] = rank->thin[i * rank->thin_count / thin];
    for (size_t i = kept; i > 0; i--) ret[count++] = rank->last[(rank->count - i) % PAST_STEPS];
    return count;
}

bool past_each_rank(const struct past *past, size_t most,
                    bool (*each)(void *ctx, const char *group, int rank,
                                 const struct step_record *records, size_t count),
                    void *ctx) {
    struct step_record records[2 * PAST_STEPS];
    size_t ranks = HASH_COUNT(past->ranks), share = ranks ? most / ranks : 0;
    if (share > 2 * PAST_STEPS) share = 2 * PAST_STEPS;
    if (share < STEPS_LEAST) share = STEPS_LEAST;
    for (const struct past_rank *rank = past->ranks; rank; rank = rank->hh.next) {
        size_t count = gather(rank, share, records);
        if (count && !each(ctx, rank->group, rank->rank, records, count)) return false;
    }
    return true;
}
