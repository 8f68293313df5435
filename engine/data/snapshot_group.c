/* The groups in a snapshot: their ranks, steps, settings in force, the slowest.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/pairs.h"
#include "engine/data/snapshot_parts.h"
#include "engine/data/stats.h"
#include "engine/base/banned.h"

struct frozen_group {
    struct snapshot_group shown;
    char *key;
    size_t *ranks;
};

static void group_done(void *thing) {
    struct frozen_group *group = thing;
    shared_unref(group->shown.settings);
    shared_unref(group->shown.evidence);
    free(group->key);
    free(group->ranks);
}

double middle(double *values, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    stats_sort(values, known);
    return stats_median(values, known);
}

static bool is_state(const struct snapshot_rank *rank, const char *state) {
    return rank->who->state && strcmp(rank->who->state, state) == 0;
}

bool snapshot_is_over(const struct snapshot_rank *rank) {
    return is_state(rank, "finished") || is_state(rank, "exited") || is_state(rank, "lost");
}

static void add_rank(struct snapshot_group *group, const struct snapshot_rank *rank) {
    bool is_refused = is_state(rank, "refused");
    group->running += !snapshot_is_over(rank) && !is_refused;
    group->hooked += rank->who->state && !is_refused;
    if (rank->who->has_world && rank->who->world > 0) {
        group->has_world = true;
        group->world = (uint64_t)rank->who->world;
    }
}

/* Of those that run; of all when none does. */
static void set_steps(struct snapshot_group *group, const struct snapshot_rank *const *ranks) {
    for (size_t i = 0; i < group->rank_count; i++) {
        const struct snapshot_rank *rank = ranks[group->ranks[i]];
        if (!rank->has_step || (group->running && snapshot_is_over(rank))) continue;
        if (!group->has_step || rank->step < group->step_least) group->step_least = rank->step;
        if (!group->has_step || rank->step > group->step_most) group->step_most = rank->step;
        group->has_step = true;
    }
}

static size_t agreeing(const struct snapshot_group *group, const struct snapshot_rank *const *ranks,
                       uint32_t variant) {
    size_t count = 0;
    for (size_t i = 0; i < group->rank_count; i++) {
        const struct snapshot_rank *rank = ranks[group->ranks[i]];
        count += rank->has_variant && rank->variant == variant;
    }
    return count;
}

/* Nearly always all ranks have the same: then one look is enough. */
static void set_variant(struct snapshot_group *group, const struct snapshot_rank *const *ranks) {
    for (size_t i = 0; i < group->rank_count && 2 * group->agreeing <= group->rank_count; i++) {
        const struct snapshot_rank *rank = ranks[group->ranks[i]];
        if (!rank->has_variant || (group->has_variant && rank->variant == group->variant)) continue;
        size_t count = agreeing(group, ranks, rank->variant);
        if (count <= group->agreeing) continue;
        group->has_variant = true;
        group->variant = rank->variant;
        group->agreeing = count;
    }
}

static void set_pace(struct snapshot_group *group, const struct snapshot_rank *const *ranks,
                     double *scratch) {
    group->median_ms = group->rate = group->slowest_ratio = NAN;
    for (size_t i = 0; i < group->rank_count; i++) scratch[i] = ranks[group->ranks[i]]->median_ms;
    group->median_ms = middle(scratch, group->rank_count);
    for (size_t i = 0; i < group->rank_count; i++) scratch[i] = ranks[group->ranks[i]]->rate;
    group->rate = middle(scratch, group->rank_count);
    for (size_t i = 0; i < group->rank_count; i++) {
        size_t at = group->ranks[i];
        if (isnan(ranks[at]->median_ms)) continue;
        if (!group->has_slowest || ranks[at]->median_ms > ranks[group->slowest]->median_ms)
            group->slowest = at;
        group->has_slowest = true;
    }
    if (group->has_slowest)
        group->slowest_ratio = ranks[group->slowest]->median_ms / group->median_ms;
}

/* Ranks that are over would stand still in the comparison. */
static void set_last(struct snapshot_group *group, const struct snapshot_rank *const *ranks) {
    size_t count = 0;
    double most = NAN;
    group->skew_ms = NAN;
    for (size_t i = 0; i < group->rank_count; i++) {
        size_t at = group->ranks[i];
        double ms = ranks[at]->traffic.meeting_ms;
        if (isnan(ms) || snapshot_is_over(ranks[at])) continue;
        if (!count || ms < ranks[group->last]->traffic.meeting_ms) group->last = at;
        most = fmax(most, ms);
        count++;
    }
    group->has_last = count > 1;
    if (group->has_last) group->skew_ms = most - ranks[group->last]->traffic.meeting_ms;
}

static const struct snapshot_pairs *pairs_of(const struct snapshot_pairs **frozen,
                                             const json_t *object) {
    if (!*frozen) *frozen = pairs_new(object);
    return shared_ref(*frozen);
}

static struct frozen_group *new_group(struct store *store, struct group *group, size_t size) {
    struct frozen_group *frozen = shared_new(sizeof *frozen, group_done);
    struct snapshot_group *shown = &frozen->shown;
    shown->key = frozen->key = mem_strdup(group->key);
    shown->ranks = frozen->ranks = mem_array(size, sizeof frozen->ranks[0]);
    shown->settings =
        pairs_of(&group->settings_frozen, group->settings ? group->settings : store->as_written);
    shown->evidence = pairs_of(&group->ran_frozen, group->ran);
    return frozen;
}

const struct shared_list *freeze_groups(struct store *store,
                                        const struct snapshot_rank *const *ranks, size_t count) {
    size_t group_count = HASH_COUNT(store->groups), index = 0;
    size_t *sizes = mem_array(group_count + 1, sizeof sizes[0]);
    double *scratch = mem_array(count + 1, sizeof scratch[0]);
    struct shared_list *list = shared_list_new(group_count);
    for (size_t i = 0; i < count; i++) sizes[ranks[i]->group]++;
    for (struct group *group = store->groups; group; group = group->hh.next, index++)
        shared_list_add(list, new_group(store, group, sizes[index]));
    for (size_t i = 0; i < count; i++) {
        struct frozen_group *group = list->things[ranks[i]->group];
        group->ranks[group->shown.rank_count++] = i;
        add_rank(&group->shown, ranks[i]);
    }
    for (size_t i = 0; i < group_count; i++) {
        struct frozen_group *group = list->things[i];
        set_steps(&group->shown, ranks);
        set_variant(&group->shown, ranks);
        set_pace(&group->shown, ranks, scratch);
        set_last(&group->shown, ranks);
    }
    free(sizes);
    free(scratch);
    return list;
}
