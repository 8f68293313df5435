/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/switches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

static const char *const names[SWITCH_STATUS_COUNT] = {
    [SWITCH_UNTOLD] = "proposed", [SWITCH_PROPOSED] = "proposed",
    [SWITCH_READY] = "ready",     [SWITCH_COMMITTED] = "committed",
    [SWITCH_APPLIED] = "applied", [SWITCH_NOT_REACHED] = "not reached",
    [SWITCH_ABORTED] = "aborted", [SWITCH_REFUSED] = "refused",
    [SWITCH_MISSED] = "missed",   [SWITCH_FAILED] = "failed",
};

const char *switch_status_name(enum switch_status status) {
    return names[status];
}

static enum switch_status status_of(const struct event *event) {
    const char *text = event_text(event, "status");
    for (int i = SWITCH_PROPOSED; text && i < SWITCH_STATUS_COUNT; i++)
        if (strcmp(names[i], text) == 0) return (enum switch_status)i;
    return SWITCH_UNTOLD;
}

void switches_init(struct switches *switches) {
    *switches = (struct switches){0};
}

void switches_done(struct switches *switches) {
    for (size_t i = 0; i < switches->count; i++) {
        struct switch_facts *facts = &switches->list[i];
        free(facts->group);
        free(facts->by);
        free(facts->against);
        free(facts->reason);
        free(facts->file);
        free(facts->place);
        free(facts->by_rank);
        rank_set_done(&facts->ranks);
        json_decref(facts->from);
        json_decref(facts->to);
        json_decref(facts->tag);
        json_decref(facts->ran);
    }
    free(switches->list);
    switches_init(switches);
}

/* In the start file 0 is the first place. */
static bool is_id(const char *by, int64_t id) {
    return id != 0 || strcmp(by, "set") == 0 || strcmp(by, "at") == 0;
}

static bool is_same(const struct switch_facts *facts, const char *group, const char *by,
                    int64_t id) {
    if (facts->id != id || strcmp(facts->by, by) != 0 || !is_id(by, id)) return false;
    return !group || !facts->group[0] || strcmp(facts->group, group) == 0;
}

static struct switch_facts *find_or_add(struct switches *switches, const char *group,
                                        const char *by, int64_t id) {
    for (size_t i = switches->count; i-- > 0;)
        if (is_same(&switches->list[i], group, by, id)) return &switches->list[i];
    if (switches->count == switches->room) {
        switches->room = switches->room ? 2 * switches->room : 16;
        switches->list = mem_resize(switches->list, switches->room, sizeof switches->list[0]);
    }
    struct switch_facts *facts = &switches->list[switches->count];
    *facts = (struct switch_facts){.seq = switches->count++,
                                   .id = id,
                                   .by = mem_strdup(by),
                                   .group = mem_strdup(""),
                                   .lost_ms = NAN,
                                   .swap_ms = NAN};
    return facts;
}

static void set_text(char **place, const char *text) {
    if (!text || !text[0]) return;
    free(*place);
    *place = mem_strdup(text);
}

static void set_status(struct switch_facts *facts, const struct event *event) {
    enum switch_status status = status_of(event);
    if (!event->has_rank) {
        facts->told = status;
        return;
    }
    size_t rank = (size_t)event->rank;
    if (rank >= RANKS_MOST) return;
    if (rank >= facts->rank_room) {
        size_t room = rank + 1 > 2 * facts->rank_room ? rank + 1 : 2 * facts->rank_room;
        facts->by_rank = mem_resize(facts->by_rank, room, 1);
        memset(facts->by_rank + facts->rank_room, 0, room - facts->rank_room);
        facts->rank_room = room;
    }
    facts->by_rank[rank] = (uint8_t)status;
}

static void set_json(json_t **place, json_t *value) {
    if (!value || json_is_null(value)) return;
    json_incref(value);
    json_decref(*place);
    *place = value;
}

static void set_most(double *place, const struct event *event, const char *field) {
    double value;
    if (event_number(event, field, &value)) *place = fmax(*place, value); /* NaN gives way */
}

static void set_place(struct switch_facts *facts, const struct event *event) {
    char *place = words_of_place(event);
    if (!place) return;
    free(facts->place);
    facts->place = place;
    set_text(&facts->file, event_text(event, "file"));
    facts->has_line = event_int(event, "line", &facts->line);
}

struct switch_facts *switches_take(struct switches *switches, const struct event *event,
                                   const char *group) {
    int64_t id = 0;
    event_int(event, "id", &id);
    const char *by = event_text(event, "by");
    size_t before = switches->count;
    struct switch_facts *facts = find_or_add(switches, group, by ? by : "", id);
    if (switches->count > before) facts->t = event->t;
    facts->last_t = event->t;
    facts->is_changed = true;
    if (event->has_rank) rank_set_add(&facts->ranks, event->rank);
    if (!facts->group[0]) set_text(&facts->group, group);
    json_t *to = json_object_get(event->body, "to"), *from = json_object_get(event->body, "from");
    if (json_is_object(to)) set_json(&facts->to, to);
    if (json_is_object(from)) set_json(&facts->from, from);
    set_text(&facts->against, event_text(event, "against"));
    set_json(&facts->tag, json_object_get(event->body, "tag"));
    set_json(&facts->ran, json_object_get(event->body, "ran"));
    facts->has_at |= event_int(event, "at", &facts->at);
    facts->has_variant |= event_int(event, "variant", &facts->variant);
    facts->has_forgot |= event_int(event, "forgot", &facts->forgot);
    facts->is_tried_again |= event_is_true(event, "again");
    set_most(&facts->lost_ms, event, "lost_ms");
    set_most(&facts->swap_ms, event, "swap_ms");
    set_text(&facts->reason, event_text(event, "reason"));
    set_place(facts, event);
    set_status(facts, event);
    return facts;
}

enum switch_status switch_overall(const struct switch_facts *facts, size_t ranks) {
    size_t counts[SWITCH_STATUS_COUNT] = {0};
    enum switch_status furthest = facts->told;
    for (size_t i = 0; i < facts->rank_room; i++) {
        enum switch_status status = (enum switch_status)facts->by_rank[i];
        counts[status]++;
        if (status > furthest) furthest = status;
    }
    if (furthest > SWITCH_APPLIED || facts->told == SWITCH_APPLIED) return furthest;
    if (counts[SWITCH_APPLIED] >= (ranks ? ranks : 1)) return SWITCH_APPLIED;
    if (counts[SWITCH_APPLIED]) return SWITCH_COMMITTED;
    return furthest;
}
