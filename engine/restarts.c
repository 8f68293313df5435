/* Elastic restarts: the ranks of a new round begin with what the start file says; what a person chose since is offered to them anew.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/parts.h"
#include "engine/base/banned.h"

/* A group's key is RUN/RESTART/ROLE. False for a lone process. */
static bool split(const char *key, size_t *ret_run, long *ret_restart, const char **ret_role) {
    const char *first = strchr(key, '/'), *second = first ? strchr(first + 1, '/') : NULL;
    char *end;
    if (!second || strncmp(key, "pid/", 4) == 0) return false;
    *ret_run = (size_t)(first - key);
    *ret_restart = strtol(first + 1, &end, 10);
    *ret_role = second + 1;
    return end == second;
}

/* The group of the round before this one, or NULL. */
static const char *round_before(const struct store *store, const char *key) {
    const char *found = NULL, *role, *other_role;
    size_t run, other_run;
    long restart, other, best = -1;
    if (!split(key, &run, &restart, &role)) return NULL;
    for (size_t i = 0; i < store_rank_count(store); i++) {
        const char *group = store_rank(store, i)->group;
        if (!split(group, &other_run, &other, &other_role) || other >= restart || other <= best) continue;
        if (other_run != run || strncmp(group, key, run) || strcmp(other_role, role)) continue;
        best = other;
        found = group;
    }
    return found;
}

/* Was the last switch that was applied there asked for while it ran? */
static bool has_choice(const struct store *store, const char *group) {
    bool is_choice = false;
    for (size_t i = 0; i < store_switch_count(store); i++) {
        const struct switch_facts *facts = store_switch(store, i);
        if (strcmp(facts->group, group) || store_switch_status(store, i) != SWITCH_APPLIED) continue;
        if (strcmp(facts->by, "baseline")) is_choice = strcmp(facts->by, "viewer") == 0 || strcmp(facts->by, "engine") == 0;
    }
    return is_choice;
}

void restart_offer(struct engine *engine, const struct guest *guest) {
    const char *before = round_before(engine->store, guest->group);
    if (!before || proposer_is_busy(engine->proposer, guest->group_index) || !has_choice(engine->store, before)) return;
    for (size_t i = 0; i < store_switch_count(engine->store); i++)
        if (strcmp(store_switch(engine->store, i)->group, guest->group) == 0) return; /* something was asked for here already */
    proposer_propose(engine->proposer,
                     &(struct proposal){.group = guest->group_index, .by = "engine", .from = json_object(),
                                        .schedule = json_pack("[[iO]]", 0, store_current(engine->store, before))});
}
