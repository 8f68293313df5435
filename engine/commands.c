/* What viewers ask for, and what becomes of proposals.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/settings_json.h"
#include "engine/base/banned.h"

enum { HOLD_MS = 5000 };

/* ---- telling */

static json_t *settings_of_schedule(const json_t *schedule) {
    return json_array_get(json_array_get(schedule, json_array_size(schedule) - 1), 1);
}

/* What a comparison's schedule compares `to` with; NULL: it is none. */
static char *against_of(const json_t *schedule, const json_t *to) {
    char *label = NULL;
    size_t i;
    json_t *entry;
    json_array_foreach(schedule, i, entry) {
        const json_t *settings = json_array_get(entry, 1);
        if (label || json_equal(settings, to)) continue;
        struct settings set = SETTINGS_INIT;
        settings_from_json(&set, settings);
        label = settings_label(&set);
        settings_done(&set);
    }
    return label;
}

void command_told(void *ctx, const struct proposal *proposal) {
    struct engine *engine = ctx;
    json_t *to = settings_of_schedule(proposal->schedule);
    struct event event = event_make(EVENT_SWITCH, engine_time(engine), "{sI ss sO sO sI ss}", "id",
                                    (json_int_t)proposal->id, "by", proposal->by, "from", proposal->from, "to", to,
                                    "variant", (json_int_t)settings_json_key(to), "status", proposal->status);
    if (proposal->reason) json_object_set_new(event.body, "reason", event_string(proposal->reason));
    if (proposal->tag) json_object_set(event.body, "tag", proposal->tag);
    CLEANUP(cleanup_free) char *against = against_of(proposal->schedule, to);
    if (against) json_object_set_new(event.body, "against", event_string(against));
    if (proposal->forget) json_object_set_new(event.body, "forgot", json_integer((json_int_t)settings_json_key(proposal->forget)));
    if (proposal->freed) json_object_set(event.body, "freed", proposal->freed);
    if (proposal->again) json_object_set_new(event.body, "again", json_true());
    if (proposal->at) json_object_set_new(event.body, "at", json_integer((json_int_t)proposal->at));
    char group[PAGE_KEY_ROOM];
    page_group_key(&engine->page->group[proposal->group], group);
    engine_tell(engine, &event, group);
    baselines_told(engine->baselines, proposal);
    if (proposal->is_over && strcmp(proposal->status, "failed") == 0 && strcmp(proposal->by, "engine"))
        proposer_propose(engine->proposer,
                         &(struct proposal){.group = proposal->group, .by = "engine", .from = json_incref(to),
                                            .schedule = json_pack("[[iO]]", 0, proposal->from)});
}

/* One rank of many: a screen shows whom the agreement waits for. */
void command_ready(void *ctx, const struct proposal *proposal, const struct peer *peer) {
    struct engine *engine = ctx;
    const struct guest *guest = peer_data(peer);
    struct event event = event_make(EVENT_SWITCH, engine_time(engine), "{sI ss ss}", "id", (json_int_t)proposal->id, "by",
                                    proposal->by, "status", "ready");
    event_set_rank(&event, guest->rank);
    engine_tell(engine, &event, guest->group);
}

/* ---- taking */

static void refuse(struct engine *engine, const json_t *command, const char *reason) {
    json_t *change = json_object_get(command, "change"), *tag = json_object_get(command, "tag");
    struct event event = event_make(EVENT_SWITCH, engine_time(engine), "{si ss sO* ss so}", "id", 0, "by", "viewer", "to",
                                    json_is_object(change) ? change : NULL, "status", "refused", "reason",
                                    event_string(reason));
    if (tag) json_object_set(event.body, "tag", tag);
    engine_tell(engine, &event, NULL);
}

/* Somebody trains and will connect: ranks find a new engine by themselves, within some tenths of a second. */
static bool will_connect(const struct engine *engine) {
    for (int i = 0; i < PAGE_GROUPS; i++)
        for (int k = 0; k < PAGE_SLOTS; k++) {
            uint64_t seat = atomic_load(&engine->page->group[i].slot[k].seat);
            if (page_seat_pid(seat) && page_is_alive(page_seat_pid(seat))) return true;
        }
    return false;
}

/* The group meant: the one named, else the only one that has living ranks. NULL, with a reason, when that is not clear. */
static const struct guest *find_group(const struct engine *engine, const char *name, const char **ret_reason) {
    const struct guest *found = NULL;
    for (const struct guest *guest = engine->guests; guest; guest = guest->next) {
        if (guest->role != GUEST_RANK || guest->is_over || (name && strcmp(name, guest->group))) continue;
        if (found && strcmp(found->group, guest->group)) {
            *ret_reason = "more than one group of ranks runs: name one with --group";
            return NULL;
        }
        found = guest;
    }
    if (!found) *ret_reason = name ? "no rank of that group is connected" : "no rank is connected: nothing trains (yet)";
    return found;
}

/* Seconds that this group's ranks compiled at the most for one set of settings; and whether `variant` was used before. */
static double longest_compile_s(const struct store *store, const char *group, uint32_t variant, bool *ret_is_known) {
    double longest = 0;
    *ret_is_known = false;
    for (size_t i = 0; i < store_rank_count(store); i++) {
        const struct store_rank *rank = store_rank(store, i);
        for (size_t k = 0; strcmp(rank->group, group) == 0 && k < rank->use_count; k++) {
            const struct store_use *use = store_use(store, i, k);
            if (use->variant == variant && !use->is_let_go) *ret_is_known = true;
            if (use->compile_s > longest) longest = use->compile_s;
        }
    }
    return longest;
}

/* A rank that compiles while the others wait in a collective must not outlast their patience. */
static bool is_too_slow(const struct engine *engine, const struct guest *member, uint32_t variant, char *room, size_t size) {
    double least = 0;
    bool is_known;
    for (const struct guest *guest = engine->guests; guest; guest = guest->next) {
        double timeout = json_number_value(json_object_get(guest->identity, "timeout_s"));
        if (strcmp(guest->group, member->group) == 0 && timeout > 0 && (least == 0 || timeout < least)) least = timeout;
    }
    double expected = longest_compile_s(engine->store, member->group, variant, &is_known);
    if (is_known || least == 0 || expected <= least / 3) return false;
    snprintf(room, size, "it may compile for %.0f s, and the ranks' collectives give up after %.0f s; --force does it all the same",
             expected, least);
    return true;
}

/* Settings stay as they are; what was compiled under others goes. */
static void forget(struct engine *engine, const struct guest *member, const json_t *command, json_t *settings) {
    const json_t *pending = proposer_pending(engine->proposer, member->group_index);
    const json_t *now = pending ? pending : store_current(engine->store, member->group);
    uint32_t key = settings_json_key(settings);
    bool is_known;
    longest_compile_s(engine->store, member->group, key, &is_known);
    const char *reason = !key               ? "what the script compiles is its own"
                         : key == settings_json_key(now) ? "these settings are in force"
                         : !is_known          ? "nothing ran under these settings here"
                                              : NULL;
    if (reason) {
        refuse(engine, command, reason);
        return;
    }
    proposer_propose(engine->proposer, &(struct proposal){.group = member->group_index,
                                                          .by = "viewer",
                                                          .from = json_deep_copy(now),
                                                          .schedule = json_pack("[[io]]", 0, json_deep_copy(now)),
                                                          .tag = json_incref(json_object_get(command, "tag")),
                                                          .forget = json_incref(settings)});
}

/* The settings that a command means: its change over `from`. Checked for its group, with the reason when they cannot be. */
static int settings_meant(const struct engine *engine, const struct guest *member, const json_t *command, const json_t *from,
                          struct settings *ret, struct err *err) {
    struct settings asked = SETTINGS_INIT;
    int rc = 0;
    settings_from_json(ret, from);
    settings_from_json(&asked, json_object_get(command, "change"));
    settings_merge(ret, &asked);
    for (size_t i = 0; i < asked.count && !rc; i++) rc = settings_check(asked.pairs[i].key, asked.pairs[i].value, err);
    if (rc == 0) rc = settings_check_set(ret, err);
    if (rc == 0 && !json_is_true(json_object_get(command, "force")) &&
        is_too_slow(engine, member, settings_key(ret), err->message, sizeof err->message))
        rc = -ERR_REFUSED;
    settings_done(&asked);
    return rc;
}

static void propose(struct engine *engine, const json_t *command) {
    const char *reason = NULL;
    const json_t *change = json_object_get(command, "change");
    json_t *forgotten = json_object_get(command, "forget");
    const struct guest *member = find_group(engine, json_string_value(json_object_get(command, "group")), &reason);
    if (json_is_true(json_object_get(engine->start, "readonly"))) reason = "this job runs with --readonly";
    else if (!json_is_object(forgotten) && (!json_is_object(change) || !json_object_size(change))) reason = "nothing to change";
    if (reason || !member) {
        refuse(engine, command, reason);
        return;
    }
    if (forgotten) {
        forget(engine, member, command, forgotten);
        return;
    }
    struct settings set = SETTINGS_INIT;
    struct err err;
    const json_t *pending = proposer_pending(engine->proposer, member->group_index);
    const json_t *from = pending ? pending : store_current(engine->store, member->group);
    if (settings_meant(engine, member, command, from, &set, &err)) {
        refuse(engine, command, err.message);
    } else {
        proposer_propose(engine->proposer,
                         &(struct proposal){.group = member->group_index, .by = "viewer", .from = json_deep_copy(from),
                                            .schedule = json_pack("[[io]]", 0, settings_to_json(&set)),
                                            .tag = json_incref(json_object_get(command, "tag"))});
    }
    settings_done(&set);
}

/* A command that came before the ranks did waits for them. */
struct held {
    struct held *next;
    json_t *command;
    uint64_t until_ns;
};

static void hold(struct engine *engine, json_t *command) {
    struct held *held = mem_new(sizeof *held), **at = &engine->held;
    held->command = json_incref(command);
    held->until_ns = clock_now_ns() + HOLD_MS * UINT64_C(1000000);
    while (*at) at = &(*at)->next;
    *at = held;
}

static bool has_rank(const struct engine *engine) {
    for (const struct guest *guest = engine->guests; guest; guest = guest->next)
        if (guest->role == GUEST_RANK) return true;
    return false;
}

void command_turn(struct engine *engine) {
    while (engine->held && (has_rank(engine) || clock_now_ns() > engine->held->until_ns)) {
        struct held *held = engine->held;
        engine->held = held->next;
        propose(engine, held->command);
        json_decref(held->command);
        free(held);
    }
}

void command_end(struct engine *engine) {
    while (engine->held) {
        struct held *held = engine->held;
        engine->held = held->next;
        json_decref(held->command);
        free(held);
    }
}

static const char *take_proposal(struct engine *engine, struct guest *guest, json_t *command) {
    const char *objection = viewers_objection(engine->viewers, guest);
    if (objection) return objection;
    if (!has_rank(engine) && will_connect(engine)) hold(engine, command);
    else propose(engine, command);
    return NULL;
}

/* Compares what is in force in the group with eager, or with a change of it. */
static const char *compare(struct engine *engine, struct guest *guest, json_t *command, bool is_eager) {
    static char text[sizeof((struct err *)0)->message];
    const char *reason = viewers_objection(engine->viewers, guest);
    struct settings set = SETTINGS_INIT;
    struct err err;
    if (!reason && json_is_true(json_object_get(engine->start, "readonly"))) reason = "this job runs with --readonly";
    if (reason) return reason;
    const struct guest *member = find_group(engine, json_string_value(json_object_get(command, "group")), &reason);
    if (!member) return reason;
    if (!is_eager && settings_meant(engine, member, command, store_current(engine->store, member->group), &set, &err)) {
        snprintf(text, sizeof text, "%s", err.message);
        reason = text;
    } else {
        json_t *other = is_eager ? NULL : settings_to_json(&set);
        reason = baselines_ask(engine->baselines, member, other, json_object_get(command, "tag"));
        json_decref(other);
    }
    settings_done(&set);
    if (!reason) viewers_did(engine->viewers, guest, command);
    return reason;
}

static const char *take_baseline(struct engine *engine, struct guest *guest, json_t *command) {
    return compare(engine, guest, command, true);
}

static const char *take_compare(struct engine *engine, struct guest *guest, json_t *command) {
    return compare(engine, guest, command, false);
}

static const char *take_over(struct engine *engine, struct guest *guest, json_t *command) {
    viewers_take_over(engine->viewers, guest);
    viewers_did(engine->viewers, guest, command);
    return NULL;
}

static const char *take_status(struct engine *engine, struct guest *guest, json_t *command) {
    viewers_did(engine->viewers, guest, command);
    return NULL;
}

/* Each returns NULL, or why it is refused. */
static const struct {
    const char *name;
    const char *(*take)(struct engine *engine, struct guest *guest, json_t *command);
} commands[] = {
    {"propose", take_proposal}, {"baseline", take_baseline}, {"compare", take_compare}, {"take over", take_over}, {"status", take_status}};

void command_take(struct engine *engine, struct guest *guest, const struct frame *frame) {
    json_t *command = json_loadb((const char *)frame->payload, frame->size, 0, NULL);
    const char *what = json_string_value(json_object_get(command, "do")), *reason = "this command is not known";
    for (size_t i = 0; what && i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i].name, what) == 0) reason = commands[i].take(engine, guest, command);
    if (!what) peer_close(guest->peer);
    else if (reason) viewers_refuse(engine->viewers, guest, command, reason);
    json_decref(command);
}
