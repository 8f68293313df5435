/* The switches in a snapshot: what became of each, rank by rank.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/pairs.h"
#include "engine/data/snapshot_parts.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

struct frozen_switch {
    struct snapshot_switch shown;
    char *texts[6];
    uint8_t *by_rank;
};

static void switch_done(void *thing) {
    struct frozen_switch *one = thing;
    for (size_t i = 0; i < sizeof one->texts / sizeof one->texts[0]; i++) free(one->texts[i]);
    free(one->by_rank);
    shared_unref(one->shown.from);
    shared_unref(one->shown.to);
}

static char *dup(const char *text) {
    return text ? mem_strdup(text) : NULL;
}

static void set_texts(const struct store *store, struct frozen_switch *one, const struct switch_facts *facts) {
    struct snapshot_switch *shown = &one->shown;
    shown->group = one->texts[0] = mem_strdup(facts->group);
    shown->by = one->texts[1] = mem_strdup(facts->by);
    shown->reason = one->texts[2] = dup(facts->reason);
    shown->file = one->texts[3] = dup(facts->file);
    shown->tag = one->texts[4] =
        facts->tag ? json_dumps(facts->tag, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    shown->is_forget = facts->has_forgot;
    shown->change = one->texts[5] =
        words_of_switch(facts, facts->has_forgot ? store_variant_label(store, (uint32_t)facts->forgot) : NULL);
}

static void set_ranks(struct frozen_switch *one, const struct switch_facts *facts) {
    struct snapshot_switch *shown = &one->shown;
    one->by_rank = mem_array(facts->rank_room + 1, 1);
    if (facts->rank_room) memcpy(one->by_rank, facts->by_rank, facts->rank_room);
    shown->rank_room = facts->rank_room;
    shown->by_rank = one->by_rank;
    for (size_t i = 0; i < facts->rank_room; i++)
        if (facts->by_rank[i]) shown->by_status[facts->by_rank[i]]++;
}

static size_t group_size(const struct store *store, const char *group) {
    size_t size = 0;
    for (size_t i = 0; i < store->count; i++)
        size +=
            store_rank_is_shown(store, i) && strcmp(store->processes[i]->facts.group, group) == 0;
    return size;
}

/* Told by the engine, or by all ranks of a switch that the engine has no part in. */
static bool is_over(const struct switch_facts *facts, enum switch_status status) {
    bool is_planned = strcmp(facts->by, "set") == 0 || strcmp(facts->by, "at") == 0;
    if (is_planned) return status >= SWITCH_APPLIED;
    return facts->told >= SWITCH_APPLIED;
}

static struct frozen_switch *freeze(const struct store *store, const struct switch_facts *facts) {
    struct frozen_switch *one = shared_new(sizeof *one, switch_done);
    struct snapshot_switch *shown = &one->shown;
    set_texts(store, one, facts);
    set_ranks(one, facts);
    shown->seq = facts->seq;
    shown->id = facts->id;
    shown->has_line = facts->has_line;
    shown->line = facts->line;
    shown->has_at = facts->has_at;
    shown->at = (uint64_t)facts->at;
    shown->has_variant = facts->has_variant;
    shown->variant = (uint32_t)facts->variant;
    shown->ranks = group_size(store, facts->group);
    shown->status = switch_overall(facts, shown->ranks);
    shown->is_over = is_over(facts, shown->status);
    shown->is_tried_again = facts->is_tried_again;
    shown->t = facts->t;
    shown->last_t = facts->last_t;
    shown->from = pairs_new(facts->from);
    shown->to = pairs_new(facts->to);
    shown->lost_ms = facts->lost_ms;
    shown->swap_ms = facts->swap_ms;
    return one;
}

void freeze_switches(struct store *store) {
    struct roll *roll = &store->views->switches;
    size_t count = store->switches.count;
    size_t first = count > SNAPSHOT_SWITCHES ? count - SNAPSHOT_SWITCHES : 0;
    for (size_t i = first; i < count; i++) {
        struct switch_facts *facts = &store->switches.list[i];
        if (i < roll->total && !facts->is_changed) continue;
        facts->is_changed = false;
        if (i < roll->total)
            roll_set(roll, i - (size_t)(roll->total - roll->count), freeze(store, facts));
        else
            roll_add(roll, freeze(store, facts));
    }
}
