/* Figures as a summary event tells them. Part of the store.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/store_parts.h"

#include "engine/base/banned.h"

static bool read_dropped(const json_t *drops, uint64_t ret[STORE_LOSS_COUNT]) {
    static const char *const names[] = {"steps", "events", "bad"};
    if (!json_is_object(drops)) return false;
    for (size_t i = 0; i < STORE_LOSS_COUNT; i++) {
        json_int_t value = json_integer_value(json_object_get(drops, names[i]));
        ret[i] = value > 0 ? (uint64_t)value : 0;
    }
    return true;
}

static void take_summary_rank(struct store *store, const json_t *told) {
    const json_t *rank = json_object_get(told, "rank"), *steps = json_object_get(told, "steps");
    const char *group = json_string_value(json_object_get(told, "group"));
    json_int_t number = json_integer_value(rank);
    if (!json_is_integer(rank) || number < 0 || number >= RANKS_MOST) return;
    struct process *process = store_process(store, group, (int)number);
    size_t i;
    json_t *use;
    if (json_is_integer(steps)) process->facts.steps = (uint64_t)json_integer_value(steps);
    read_dropped(json_object_get(told, "drops"), process->facts.dropped);
    json_array_foreach(json_object_get(told, "variants"), i, use) {
        json_int_t key = json_integer_value(json_object_get(use, "variant"));
        const char *label = json_string_value(json_object_get(use, "label"));
        store_label(store_need_variant(store, key > 0 ? (uint32_t)key : 0), label);
        process_told(process, i, use);
    }
}

void totals_take(struct store *store, const struct event *event) {
    size_t i;
    json_t *rank;
    json_array_foreach(json_object_get(event->body, "ranks"), i, rank)
        take_summary_rank(store, rank);
    read_dropped(json_object_get(event->body, "drops"), store->dropped);
    causes_set(&store->causes, json_object_get(event->body, "causes"));
}
