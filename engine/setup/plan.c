/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#include "engine/base/banned.h"

#define STEP_MAX (UINT64_C(1) << 53) /* exact in JSON */

void plan_init(struct plan *plan) {
    *plan = (struct plan)PLAN_INIT;
}

void plan_done(struct plan *plan) {
    for (size_t i = 0; i < plan->count; i++) settings_done(&plan->entries[i].change);
    free(plan->entries);
    plan_init(plan);
}

int plan_add(struct plan *plan, uint64_t step, enum plan_by by, const struct settings *change,
             struct err *err) {
    if (plan->count == PLAN_MAX)
        return err_set(err, ERR_LIMIT, "more than %d changes are planned", PLAN_MAX);
    if (plan->count == plan->room) {
        plan->room = plan->room ? 2 * plan->room : 8;
        plan->entries = mem_resize(plan->entries, plan->room, sizeof plan->entries[0]);
    }
    size_t at = plan->count++;
    for (; at > 0 && plan->entries[at - 1].step > step; at--)
        plan->entries[at] = plan->entries[at - 1];
    plan->entries[at] = (struct plan_entry){.step = step, .by = by};
    settings_copy(&plan->entries[at].change, change);
    return 0;
}

int plan_parse_set(struct plan *plan, const char *text, struct err *err) {
    CLEANUP(settings_done) struct settings change = SETTINGS_INIT;
    int rc = settings_parse_change(text, &change, err);
    return rc < 0 ? rc : plan_add(plan, 0, PLAN_SET, &change, err);
}

int plan_parse_at(struct plan *plan, const char *text, struct err *err) {
    CLEANUP(settings_done) struct settings change = SETTINGS_INIT;
    const char *colon = strchr(text, ':');
    uint64_t step = 0;
    CLEANUP(cleanup_free)
    char *number = mem_strndup(text, colon ? (size_t)(colon - text) : strlen(text));
    if (!colon || !str_to_u64(number, &step) || step > STEP_MAX) {
        int code =
            err_set(err, ERR_SYNTAX, "step '%s' is no whole number with ':' behind it", number);
        err_hint(err, "Write STEP:KEY=VALUE[,KEY=VALUE], for example 100:mode=max-autotune.");
        return code;
    }
    int rc = settings_parse_change(colon + 1, &change, err);
    return rc < 0 ? rc : plan_add(plan, step, PLAN_AT, &change, err);
}

int plan_check(const struct plan *plan, struct err *err) {
    CLEANUP(settings_done) struct settings at_once = SETTINGS_INIT;
    for (size_t i = 0; i < plan->count; i++) {
        settings_merge(&at_once, &plan->entries[i].change);
        bool is_last = i + 1 == plan->count || plan->entries[i + 1].step != plan->entries[i].step;
        if (!is_last) continue;
        int rc = settings_check_set(&at_once, err);
        if (rc < 0) return err_wrap(err, "at step %" PRIu64, plan->entries[i].step), rc;
        settings_clear(&at_once);
    }
    return 0;
}

const char *plan_by_name(enum plan_by by) {
    return by == PLAN_SET ? "set" : "at";
}
