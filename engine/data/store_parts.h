/* The store's parts, for its own sources alone: store.c, totals.c, views.c and snapshot*.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_STORE_PARTS_H
#define INDUCTOP_DATA_STORE_PARTS_H

#include <uthash.h>

#include "engine/data/causes.h"
#include "engine/data/differences.h"
#include "engine/data/places.h"
#include "engine/data/process.h"
#include "engine/data/roll.h"
#include "engine/data/store.h"

enum { PROBLEMS_KEPT = 100 };

struct variant {
    uint32_t key;
    char *label;
    json_t *settings;
    const struct snapshot_pairs *frozen; /* of the settings, NULL: not made */
    UT_hash_handle hh;
};

/* The ranks that switch together, and what is in force there. */
struct group {
    char *key;
    size_t index;           /* in the order in which they were first heard of */
    json_t *settings, *ran; /* ran: unit to what ran in the first step under them, or NULL */
    const struct snapshot_pairs *settings_frozen, *ran_frozen;
    UT_hash_handle hh;
};

/* What snapshots need beyond the figures. */
struct views {
    bool for_screens; /* curves, lines of events and what the job wrote, too */
    struct roll events, compiles, switches, problems, findings, outputs;
    struct places places;
    struct differences differences;
    const struct snapshot *last;
    size_t chunks_each; /* of the curves */
};

struct store {
    struct process **processes, *by_key;
    size_t count, room;
    struct process **latest; /* by rank number */
    size_t latest_room;
    struct variant *variants;
    struct group *groups;
    struct switches switches;
    struct causes causes;
    struct store_problem problems[PROBLEMS_KEPT];
    uint64_t problem_total;
    uint64_t dropped[STORE_LOSS_COUNT];
    json_t *job, *as_written;
    const struct snapshot_job *job_frozen;
    struct views *views; /* NULL: none are kept */
    uint64_t version;    /* another one after each change */
    double t;
};

/* store.c */
struct group *store_group(struct store *store, const char *key);

/* NULL for a number that cannot be a rank's. */
struct process *store_process(struct store *store, const char *group, int rank);

/* Any event may be the first that names a variant. */
struct variant *store_need_variant(struct store *store, uint32_t key);
void store_label(struct variant *variant, const char *label); /* NULL or empty: as it is */

/* Nothing is compiled under it. */
bool is_eager_variant(const struct store *store, const struct process *process, uint32_t variant);
double memory_of_use_over_eager(const struct store *store, const struct process *process,
                                const struct use *use);

/* totals.c */
void totals_take(struct store *store, const struct event *event);

/* views.c: all accept a store without views. Before the event reaches the rank: is it news? After
 * it: the lists. */
bool views_is_news(const struct store *store, const struct process *process,
                   const struct event *event);
void views_take(struct store *store, struct process *process, const struct event *event,
                const char *group, bool is_news);
void views_switch(struct store *store, const struct event *event, const struct switch_facts *facts);
void views_process(struct store *store, struct process *process); /* it is new */
void views_free(struct store *store);

#endif
