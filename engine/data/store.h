/* The store: all that is known of a job. It is the only writer; it takes events in order, from
 * wherever they come (hub, tape).
 *
 * A rank is a process: the pair of its group and its rank number. After an elastic restart the same
 * number in a new group is another one, and both stay. An event names its rank only by number: the
 * caller that knows the connection passes the group; with NULL (a tape) it is the process that last
 * said hello with that number (asleep and refused ones do not count there). What is told of a
 * number before any hello becomes that of the first. A rank's variants are its uses: what was seen
 * while these settings were in force.
 *
 * How each figure comes from the events (each use counts those of its rank and `variant`):
 *
 *     steps        step events
 *     clean        step events with clean: true and an ms
 *     median       of `ms` over those (kept to 7 digits; beyond 262,144 steps over every second,
 *                  fourth, ... of them)
 *     compile_s    of all compile events, the wall time [t - ms / 1000, t] that at least one of
 *                  them covers: one compilation inside of another counts once
 *     compiles     compile events, failed ones too
 *     recompiles   compile events with trigger: recompile
 *     breaks       different (unit, frame, file, line, reason) among break events, without the
 *                  intended splits of DDP. Their variant is
 *                  their field `variant`, or without one the variant that the rank last told of in
 *                  a step, compile, break or applied switch
 *     peak_rss     largest `rss` of a step event
 *     peak_cpu     largest `cpu_peak` of a step event with clean: true
 *     peak_device  largest `device_peak` of a step event in which it is above that of the rank's
 *                  step before
 *     memory_over_eager
 *                  peak_device over that of the eager settings; on a CPU the same of peak_cpu, if
 *                  the rank's bridge counts from the beginning (no `since`)
 *     speedup      the last speedup event
 *
 * What is lost on the way is told by store_dropped() and stands beside the figures. A summary event
 * replaces the figures that it holds, losses included: who comes late gets the totals by one, and
 * what is told afterwards counts on from there. Of a use whose median was told so, that median
 * holds until as many clean steps were seen here.
 *
 * One owner, one thread; what is handed out is lent until the next store_take() or store_step().
 * What a screen needs beyond the figures (step times over the whole life, lists of events and
 * compiles) is kept only after store_keep_views(), what findings look at after
 * store_keep_findings() too; both are seen through snapshot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_STORE_H
#define INDUCTOP_DATA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/memory.h"
#include "engine/data/shares.h"
#include "engine/data/switches.h"
#include "engine/event/event.h"

struct store;

enum store_loss {
    LOSS_STEPS,  /* step records: gaps in their numbers */
    LOSS_EVENTS, /* events that the rank could not queue, or the engine could not hand on */
    LOSS_BAD,    /* events that could not be read */
    STORE_LOSS_COUNT
};

/* What compiles for a rank in other processes, as its compilers event tells. */
struct store_compilers {
    bool is_told;
    double cpu_ms;
    int64_t processes, rss, rss_peak;
};

/* Texts are NULL, and has_... false, for what was not told. */
struct store_rank {
    const char *group;
    int rank;
    const char *host, *python, *torch, *device, *state, *reason, *switching, *collectives;
    bool has_pid, has_world, has_restart, has_step, has_variant;
    int64_t pid, world, restart;
    uint64_t step;    /* the highest that ended */
    uint32_t variant; /* last told of */
    double t;         /* of its last event */
    uint64_t steps;   /* step events */
    uint64_t dropped[STORE_LOSS_COUNT];
    size_t unit_count, use_count;
    struct store_compilers compilers;
};

struct store_unit {
    int64_t unit;
    const char *name, *file, *origin, *target;
    const char *wraps; /* "DistributedDataParallel(Net)" */
    bool has_line, has_whole;
    int64_t line, whole; /* whole: the first unit of those that are one with it */
};

struct store_speedup {
    bool has_ratio;
    double ratio, low, high;
    double within; /* no difference larger than this; NaN: not told */
    int64_t pairs;
    const char *verdict; /* a literal; NULL: there was no speedup event */
    uint32_t against;    /* compared with these settings; not of those over eager */
};

struct store_use {
    uint32_t variant;
    uint64_t steps, clean, compiles, recompiles, breaks;
    double compile_s;
    bool is_let_go; /* what was compiled under it is not there any more */
    bool has_peak_rss;
    uint64_t peak_rss;
    struct memory_peaks peaks;
    struct shares shares;
    struct store_speedup speedup; /* over eager */
    struct store_speedup versus;  /* over other settings, the last told */
};

struct store_problem {
    double t;
    int rank; /* -1: of none */
    const char *what, *text, *hint;
};

enum { STORE_QUICK_MEDIAN = 1024 };

struct store *store_new(void);
struct store *store_free(struct store *store); /* returns NULL */

/* From now on also what snapshots show. Call it before anything is told. */
void store_keep_views(struct store *store);

/* Instead of that: what findings look at, without curves, lines of events and what the job wrote. */
void store_keep_findings(struct store *store);

/* Takes one event; what it needs of it is copied, or kept by JSON reference: do not change the body
 * afterwards. */
void store_take(struct store *store, const struct event *event, const char *group);

/* A step of a rank, as the step event that event_from_step() makes of it. */
void store_step(struct store *store, const struct step_record *record, int rank, const char *group,
                uint64_t start_ns);

/* Recompiles by cause, as in the field `causes` of a summary: a new reference. */
json_t *store_causes(const struct store *store);

/* Findings, as in the field `findings` of a summary: a new reference. Empty without views. */
json_t *store_findings(const struct store *store);

/* All that was lost of a rank so far. */
void store_set_dropped(struct store *store, const char *group, int rank,
                       const uint64_t dropped[STORE_LOSS_COUNT]);

/* `count` more things are lost. `rank` -1: of no rank. */
void store_dropped(struct store *store, const char *group, int rank, enum store_loss loss,
                   uint64_t count);
uint64_t store_dropped_total(const struct store *store, enum store_loss loss);

/* In the order in which they were first heard of. */
size_t store_rank_count(const struct store *store);
const struct store_rank *store_rank(const struct store *store, size_t i);
const struct store_unit *store_unit(const struct store *store, size_t rank, size_t i);
const struct store_use *store_use(const struct store *store, size_t rank, size_t i);

/* The rank of this number in this group, or NULL. */
const struct store_rank *store_find_rank(const struct store *store, const char *group, int rank);

/* It told a step, or is not just asleep or refused. */
bool store_rank_is_shown(const struct store *store, size_t i);

/* NaN without a clean step. */
double store_use_median_ms(const struct store *store, size_t rank, size_t i);

/* Of STORE_QUICK_MEDIAN of its clean steps, evenly spread: costs the same however long it ran. */
double store_use_quick_median_ms(const struct store *store, size_t rank, size_t i);

/* Peak memory over that of eager, NaN unless both were seen; see memory.h. */
double store_use_memory_over_eager(const struct store *store, size_t rank, size_t i);

/* Never NULL: "as written" for 0, "variant N" until its label is told. The settings are an object,
 * or NULL until told. */
const char *store_variant_label(const struct store *store, uint32_t variant);
json_t *store_variant_settings(const struct store *store, uint32_t variant);

/* The settings in force in a group, an object of key to value, empty for as written: `to` of the
 * last applied switch, but for those of a baseline, which end where they began. A group that is not
 * known: as written. */
json_t *store_current(const struct store *store, const char *group);

size_t store_switch_count(const struct store *store);
const struct switch_facts *store_switch(const struct store *store, size_t i);

/* Over all ranks of its group. */
enum switch_status store_switch_status(const struct store *store, size_t i);

/* The last 100; the total counts all. */
size_t store_problem_count(const struct store *store);
const struct store_problem *store_problem(const struct store *store, size_t i);
uint64_t store_problem_total(const struct store *store);

/* Fields of the last job event, or NULL. */
json_t *store_job(const struct store *store);

/* Time of the latest event. */
double store_time(const struct store *store);

#endif
