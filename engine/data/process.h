/* One rank of the store with its units and uses: the part of the store that events of a rank go to.
 * Only the store's own sources use it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_PROCESS_H
#define INDUCTOP_DATA_PROCESS_H

#include <uthash.h>

#include "engine/data/curve.h"
#include "engine/data/memory.h"
#include "engine/data/pace.h"
#include "engine/data/series.h"
#include "engine/data/snapshot.h"
#include "engine/data/spans.h"
#include "engine/data/store.h"
#include "engine/data/traffic.h"

struct use {
    struct store_use facts;
    struct series ms; /* of clean steps */
    struct spans compiles;
    double compile_base; /* seconds that were told as a total, less those of `compiles` */
    char **breaks;       /* one text for each different one */
    size_t breaks_count, breaks_room;
    bool has_rss;
    uint64_t rss;        /* of its last step */
    uint64_t told_clean; /* clean steps that the told median stands for, 0: none was told */
    double told_median;
    uint64_t median_count; /* of `ms` when `median_ms` was made */
    double median_ms;      /* for snapshots */
};

struct process {
    char *key; /* group and rank number */
    struct store_rank facts;
    char *texts[9]; /* what facts points to */
    struct store_unit *units;
    struct use **uses;
    size_t use_last; /* most events are of the use of the event before */
    bool has_exit, has_local_rank;
    int64_t exit, local_rank;
    struct {
        bool is_on;
        double t; /* since when, or when the last one ended; NaN: none was told */
        char *why; /* it is compiled again; NULL: not told */
        bool has_unit;
        int64_t unit;
        char part[16], phase[16]; /* "": not told */
        double last_ms; /* what the frame took when it was compiled before; NaN: not known */
    } compiling;
    struct {
        uint64_t key; /* frame and part */
        double ms;
    } took[64]; /* the last compilations, in turn */
    size_t took_next;
    size_t group; /* its place among the store's groups */
    struct pace pace;
    struct traffic traffic;
    struct memory memory;
    struct curve curve; /* only when the store keeps views */

    /* For snapshots: what was frozen last, NULL where something changed since. */
    const struct snapshot_rank *frozen;
    const struct snapshot_identity *identity;
    const struct snapshot_units *units_frozen;
    UT_hash_handle hh;
};

/* `key` and `group` are copied. */
struct process *process_new(const char *key, const char *group, int rank);
void process_free(struct process *process);

/* Another key and group. */
void process_rename(struct process *process, const char *key, const char *group);

/* Any event that names this rank, steps apart. */
void process_take(struct process *process, const struct event *event);

/* A step that ended at `t`. */
void process_step(struct process *process, const struct step_record *record, double t);

/* Figures as a summary tells them for its `i`-th variant: they replace those that are there. */
void process_told(struct process *process, size_t i, const json_t *use);

/* Forgets what was frozen of it. */
void process_changed(struct process *process);

#endif
