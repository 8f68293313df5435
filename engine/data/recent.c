/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/recent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/snapshot.h"
#include "engine/base/banned.h"

struct entry {
    struct snapshot_event shown;
    struct line line; /* owns the texts */
    struct rank_set ranks;
};

static void entry_done(void *thing) {
    struct entry *entry = thing;
    telling_line_done(&entry->line);
    rank_set_done(&entry->ranks);
    free((char *)entry->shown.ranks);
}

/* `old` is what it joins or replaces, or NULL. */
static struct entry *entry_new(const struct roll *recent, const struct event *event,
                               const struct line *line, const struct entry *old) {
    struct entry *entry = shared_new(sizeof *entry, entry_done);
    struct snapshot_event *shown = &entry->shown;
    entry->line = *line;
    shown->seq = old ? old->shown.seq : recent->total;
    shown->kind = event->kind;
    shown->level = line->level;
    shown->t = old ? old->shown.t : event->t;
    shown->has_step = line->has_step;
    shown->step = line->step;
    shown->what = line->what;
    shown->text = line->text;
    shown->place = line->place;
    shown->ms = old ? fmax(old->shown.ms, line->ms) : line->ms; /* NaN gives way */
    return entry;
}

static void put(struct roll *recent, struct entry *entry, size_t at) {
    struct snapshot_event *shown = &entry->shown;
    shown->rank_count = entry->ranks.count;
    shown->rank = rank_set_first(&entry->ranks);
    shown->ranks = rank_set_text(&entry->ranks);
    if (at < recent->count)
        roll_set(recent, at, entry);
    else
        roll_add(recent, entry);
}

/* The place of the newest line with this key, recent->count: none. `rank` -1: whoever told it. */
static size_t find(const struct roll *recent, const struct line *line, double t, int rank) {
    size_t back = 0;
    for (size_t i = recent->count; i-- > 0 && back++ < RECENT_BACK;) {
        const struct entry *entry = roll_at(recent, i);
        if (strcmp(entry->line.key, line->key) != 0) continue;
        if (rank >= 0 &&
            (rank_set_has(&entry->ranks, rank) || fabs(t - entry->shown.t) > RECENT_BACK_S))
            break;
        return i;
    }
    return recent->count;
}

void recent_add(struct roll *recent, const struct event *event, struct line *line) {
    size_t at = event->has_rank ? find(recent, line, event->t, event->rank) : recent->count;
    const struct entry *old = at < recent->count ? roll_at(recent, at) : NULL;
    if (old && old->shown.has_step) line->has_step = true, line->step = old->shown.step;
    struct entry *entry = entry_new(recent, event, line, old);
    if (old) entry->ranks = rank_set_dup(&old->ranks);
    if (event->has_rank) rank_set_add(&entry->ranks, event->rank);
    put(recent, entry, at);
    *line = (struct line){0};
}

void recent_set(struct roll *recent, const struct event *event, struct line *line,
                const struct rank_set *ranks) {
    size_t at = find(recent, line, event->t, -1);
    const struct entry *old = at < recent->count ? roll_at(recent, at) : NULL;
    struct entry *entry = entry_new(recent, event, line, old);
    entry->ranks = rank_set_dup(ranks);
    put(recent, entry, at);
    *line = (struct line){0};
}
