/* What a screen shows and findings look at: a frozen view of the store. Read-only and counted: who
 * keeps one holds a reference, and it stays whole whatever the store does meanwhile, also when the
 * store is gone. What did not change is shared with the snapshot before, so one costs what changed
 * and not what is kept.
 *
 * Missing is never 0: a number that is not known is NaN, a text NULL, and where 0 may be meant
 * there is a has_... beside it. Counts of things that were told count from 0. All texts may hold
 * anything that a job can write, UTF-8 apart: nothing here is made safe for a terminal. Times are
 * seconds since the start of the job. One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SNAPSHOT_H
#define INDUCTOP_DATA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/curve.h"
#include "engine/data/growth.h"
#include "engine/data/rank_set.h"
#include "engine/data/shared.h"
#include "engine/data/shares.h"
#include "engine/data/switch_status.h"
#include "engine/data/traffic.h"
#include "engine/wire/kinds.h"

struct store;

enum {
    SNAPSHOT_EVENTS = 500,
    SNAPSHOT_COMPILES = 500,
    SNAPSHOT_SWITCHES = 200,
    SNAPSHOT_GROUPED = 500, /* causes, breaks, problems, findings: each */
    SNAPSHOT_OUTPUTS = 500,
};

/* Key and value; in order of the key. */
struct snapshot_pair {
    const char *key, *value;
};

struct snapshot_pairs {
    struct shared shared;
    size_t count;
    struct snapshot_pair pairs[];
};

struct snapshot_job {
    struct shared shared;
    const char *name, *command, *start, *state; /* command: its words with blanks between */
    bool has_exit, has_signal, has_restart;
    int64_t exit, signal, restart;
};

struct snapshot_speedup {
    const char *verdict; /* measuring, faster, slower, tie; NULL: never measured */
    bool has_ratio;      /* never a ratio without its interval */
    double ratio, low, high;
    double within; /* no difference larger than this: 0.012 is 1.2 %; NaN: not told */
    int64_t pairs;
    uint32_t against; /* compared with these settings; not of those over eager */
};

/* ---- ranks ---- */

/* What a process said of itself. */
struct snapshot_identity {
    struct shared shared;
    const char *group, *host, *python, *torch, *device, *state, *reason, *switching;
    const char *collectives; /* why nothing is told of them; NULL: they are, or there are none */
    bool has_pid, has_world, has_restart, has_exit, has_local_rank;
    int64_t pid, world, restart, exit, local_rank;
};

struct snapshot_unit {
    int64_t unit;
    const char *name, *file, *origin, *target;
    const char *wraps; /* "DistributedDataParallel(Net)", where it wraps another */
    bool has_line, has_whole;
    int64_t line, whole; /* whole: the first unit of those that are one with it */
};

struct snapshot_units {
    struct shared shared;
    size_t count;
    struct snapshot_unit units[];
};

enum { ACTIVE_FRAMES = 16 };

struct snapshot_active_frame {
    const char *frame, *state, *why;
    bool has_step;
    int64_t step;
};

/* Is compiled code in effect: what a rank saw of units that are one, the first of which is `unit`.
 */
struct snapshot_active {
    struct shared shared;
    int64_t unit, units;
    const char *name, *state, *why;
    const char *trouble; /* NULL: there is none */
    int64_t since;       /* steps that were done when it came to be so */
    bool has_looked;     /* looked, calls, compiled, entered: in the steps that were looked at */
    int64_t looked, calls, compiled, entered;
    double lookup_us;         /* all look-ups of compiled code in a step; NaN: not told */
    int64_t skipped, limited; /* frames */
    bool has_ran;
    uint32_t ran;    /* settings that the code which ran was compiled under */
    const char *ids; /* of that code */
    const struct snapshot_pairs *settings; /* setting to what became of it; NULL: not told */
    size_t frame_count;
    struct snapshot_active_frame frames[ACTIVE_FRAMES]; /* the worst first */
};

/* One rank under one set of settings. */
struct snapshot_use {
    uint32_t variant;
    uint64_t steps, clean, compiles, recompiles, breaks;
    bool is_let_go;   /* what was compiled under it is not there any more */
    double median_ms; /* of its clean steps, up to 1024 of them, evenly spread */
    double compile_s; /* NaN without a compile */
    double rss_peak;
    double torch_peak;        /* of the device, else of the CPU; memory.h */
    double memory_over_eager; /* that over eager's */
    struct shares shares;
    struct snapshot_speedup speedup; /* over eager */
    struct snapshot_speedup versus;  /* over other settings, the last told */
};

/* One training process. `rank` is not unique: after an elastic restart the same number comes back
 * in another group. */
struct snapshot_rank {
    struct shared shared;
    int rank;
    size_t group;  /* in snapshot.groups */
    bool is_shown; /* it told a step, or is not just asleep or refused */
    const struct snapshot_identity *who;
    const struct snapshot_units *units;
    size_t active_count;
    const struct snapshot_active *const *actives; /* in `held` */
    const struct shared_list *held;
    double t;       /* of its last event */
    uint64_t steps; /* told */
    bool has_step;  /* step, step_t, variant: from here on of the last step */
    uint64_t step;
    double step_t; /* when it ended */
    bool has_variant;
    uint32_t variant;                   /* settings in force */
    double ms, median_ms, p95_ms, rate; /* pace.h */
    size_t clean;                       /* steps that median and p95 come from */
    double compiling_t;                 /* a compilation is under way since; NaN: none is */
    char compiling[48];                 /* of what: "Net, backward"; "": not told */
    char compiling_phase[16];           /* as in compile events; "": not told */
    double compiling_last_ms;           /* what the same took before; NaN: not known */
    const char *compiling_why;          /* again, why; NULL: not told */
    double compilers_cpu_ms, compilers_rss, compilers_peak; /* what compiles for it in other processes */
    int64_t compilers;                    /* processes that do so now; their figures: NaN, not told */
    double compiled_t;                  /* when one last began or ended; NaN: none was told */
    double data_ms, forward_ms, backward_ms, optimizer_ms; /* of the last step */
    double own_ms, own_all_ms; /* inductop itself: in a clean step, mean; in all so far */
    uint64_t compiles, recompiles, breaks; /* over all variants */
    double compile_s;                      /* NaN without a compile */
    double rss, rss_peak, cpu_bytes, cpu_peak, device_bytes, device_peak;
    double allocs;                     /* in the last step */
    bool cpu_is_counted, cpu_is_whole; /* cpu_...: what torch's CPU allocator tells; memory.h */
    uint64_t cpu_since;
    double cpu_most;                               /* the most of any step */
    double reserved, reserved_peak, retries, ooms; /* of the devices */
    struct growth_figures growth, rss_growth;      /* of torch's memory; of the process's */
    struct traffic_figures traffic;                /* its collectives in a step */
    double rss_over_eager;           /* rss less that of its last eager step; NaN when none ran */
    struct snapshot_speedup speedup; /* of the settings in force */
    uint64_t dropped[3];             /* enum store_loss: steps, events, bad */
    struct curve_view curve;
    size_t use_count;
    const struct snapshot_use *uses; /* in the order of first use */
};

enum snapshot_activity {
    ACTIVITY_ASLEEP,   /* no rank of a training */
    ACTIVITY_REFUSED,  /* not hooked, who->reason says why */
    ACTIVITY_STARTING, /* hooked, no step yet */
    ACTIVITY_TRAINING,
    ACTIVITY_COMPILING,
    ACTIVITY_SWITCHING, /* in the first step under new settings: compiles */
    ACTIVITY_QUIET,     /* no step for much longer than one takes */
    ACTIVITY_STALLED,   /* connection lost, the process lives */
    ACTIVITY_FINISHED,
    ACTIVITY_EXITED,
    ACTIVITY_LOST,
    ACTIVITY_COUNT
};

/* ---- groups ---- */

/* The ranks that switch together. */
struct snapshot_group {
    struct shared shared;
    const char *key;
    bool has_world;
    uint64_t world;      /* ranks that it says it has */
    size_t rank_count;   /* shown ones */
    size_t hooked;       /* of them: those that can be looked into */
    size_t running;      /* of them: those that are neither over nor lost nor refused */
    const size_t *ranks; /* in snapshot.ranks, by rank number */
    bool has_step;
    uint64_t step_least, step_most; /* of those that run; of all when none does */
    bool has_variant;
    uint32_t variant;                      /* of most of its ranks */
    size_t agreeing;                       /* ranks whose last step ran under it */
    const struct snapshot_pairs *settings; /* in force; never NULL, empty: as written */
    const struct snapshot_pairs *evidence; /* unit to what ran in the first step under them; NULL:
                                              nothing was switched yet */
    double median_ms, rate;                /* median over the ranks */
    bool has_slowest;
    size_t slowest;       /* in snapshot.ranks: the largest median_ms */
    double slowest_ratio; /* over the group's median */
    bool has_last;        /* at least two of its ranks that run told their time in collectives */
    size_t last;          /* in snapshot.ranks: the one that the others wait for (traffic.h) */
    double skew_ms;       /* what the rank that waits most waits for it in a step */
};

struct snapshot_variant {
    uint32_t variant;
    const char *label;
    const struct snapshot_pairs *settings; /* NULL: not told yet */
    bool is_eager;
    size_t ranks;                                        /* that used it */
    size_t current;                                      /* that run under it now */
    uint64_t steps, clean, compiles, recompiles, breaks; /* the most of a rank */
    double median_ms;                                    /* median over the ranks */
    double compile_s;                                    /* the most of a rank */
    bool is_let_go;                                      /* by all ranks that used it */
    double rss_peak;                                     /* the most of a rank */
    double torch_peak, memory_over_eager;                /* the most of a rank */
    struct snapshot_speedup speedup; /* over eager, of the rank whose ratio is in the middle */
    int speedup_rank;                /* which; -1: none */
    double break_even; /* steps after which it pays over eager; NaN: never, or not known */
    struct snapshot_speedup versus; /* over other settings, the last told, likewise */
};

/* ---- switches ---- */

struct snapshot_switch {
    struct shared shared;
    uint64_t seq; /* the number of the switch in the order first told; stays */
    const char *group, *by, *reason, *file, *tag; /* group "": not known; tag: JSON text */
    int64_t id, line;
    bool has_at, has_line;
    uint64_t at;
    uint32_t variant;
    bool has_variant;
    enum switch_status status; /* over all ranks */
    bool is_over, is_tried_again;
    double t, last_t;                       /* first and last told of */
    const struct snapshot_pairs *from, *to; /* NULL: not told */
    const char *change; /* "dynamic auto to on, scope as written to whole", "measuring against
                           eager"; never NULL */
    size_t ranks;       /* of its group */
    size_t by_status[SWITCH_STATUS_COUNT]; /* how many ranks said what last */
    size_t rank_room;
    const uint8_t *by_rank;  /* enum switch_status by rank number */
    double lost_ms, swap_ms; /* the most of a rank */
    bool is_measurement;     /* no change of a person's: blocks of a comparison, in turns */
    bool is_forget;          /* no change: what was compiled under other settings was let go */
};

/* ---- lists ---- */

enum snapshot_level { LEVEL_PLAIN, LEVEL_GOOD, LEVEL_NOTE, LEVEL_BAD };

/* A line of the list of events. What several ranks say at about the same time is one line. */
struct snapshot_event {
    struct shared shared;
    uint64_t seq; /* counts all lines from 0; stays when the line changes */
    enum event_kind kind;
    enum snapshot_level level;
    double t;
    bool has_step;
    uint64_t step;
    int rank; /* the first, -1: of none */
    size_t rank_count;
    const char *ranks; /* "0,1", "0-511"; "": of none */
    const char *what;  /* "recompile", "switch 3", "graph break", "rank", "problem" */
    const char *text;  /* one line */
    const char *place; /* "train.py:41", or NULL */
    double ms;         /* what it took or cost, the most of a rank */
};

struct snapshot_compile {
    struct shared shared;
    uint64_t seq;
    double t; /* when it ended */
    int rank;
    bool has_step, has_unit;
    uint64_t step; /* in which */
    int64_t unit;
    const char *unit_name; /* or NULL */
    uint32_t variant;
    const char *id, *frame, *trigger, *cause, *failed;
    const char *cause_id, *words, *source, *remedy, *file; /* of a decoded cause, or NULL */
    bool has_line;
    int64_t line;
    double ms;
    const struct snapshot_pairs *cache, *graph, *limits; /* as told, numbers as text; or NULL */
    double dynamo_ms, aot_ms, inductor_ms, codegen_ms, backend_ms, rest_ms;
};

/* Recompilations for one reason: causes that differ in numbers only are one. */
struct snapshot_cause {
    struct shared shared;
    const char *key; /* what makes it one: frame, row of the table of causes, source; for no eyes */
    const char *frame, *cause; /* as torch said it last, without the id in front; or NULL */
    const char *id, *source;   /* which row of the table of causes, what changed; or NULL */
    const char *words;         /* the same in plain words: "size of x[0]: 8, now 6" */
    const char *remedy;        /* a sentence, or NULL */
    const char *file;          /* the user's, or NULL */
    bool has_line;
    int64_t line;
    uint64_t count;
    double seconds;
    size_t rank_count;
    const char *ranks;
    int last_rank;
    double last_t;
    bool has_last_step;
    uint64_t last_step;
    uint32_t last_variant;
    bool is_back; /* it came again long after, under the same settings */
};

/* A place where the graph breaks. */
struct snapshot_break {
    struct shared shared;
    const char *file, *frame, *reason, *code;
    const char *kind, *explanation, *remedy; /* class of torch's registry and its texts, or NULL */
    const char *inside;                      /* where in a library, or NULL */
    bool is_framework;                       /* in code of a library */
    bool is_eager;                           /* a whole frame runs eager because of it */
    bool is_meant;                           /* an intended split of DDP: not counted as a break */
    bool has_line, has_runs;
    int64_t line;
    int64_t runs;   /* in one call of its unit, when last looked at */
    uint64_t count; /* how often it was compiled, over all ranks */
    size_t rank_count;
    const char *ranks;
    double last_t;
};

enum difference_kind {
    DIFFERENCE_RECOMPILE, /* compiled again; words: why */
    DIFFERENCE_COMPILE,   /* compiled for the first time under some settings */
    DIFFERENCE_BREAK,     /* the graph breaks there; words: why */
    DIFFERENCE_CACHE,     /* was not in the cache */
    DIFFERENCE_COUNT
};

/* What ranks of a group met: where some did and others did not, they differ. */
struct snapshot_difference {
    struct shared shared;
    enum difference_kind kind;
    const char *key; /* what makes it one; for no eyes */
    const char *group;
    const char *subject;     /* frame, or place of a break */
    const char *words;       /* or NULL */
    struct rank_set did;     /* by rank number */
    struct rank_set did_not; /* those that were seen not to, where that is told */
    uint64_t count;          /* how often, over all ranks */
    double seconds;          /* over all ranks */
    uint64_t step;           /* of the last */
};

struct snapshot_problem {
    struct shared shared;
    double t; /* of the last */
    int rank; /* -1: of none */
    const char *what, *text, *hint;
    uint64_t count; /* how often it was said */
};

struct snapshot_finding {
    struct shared shared;
    double t;
    int rank;
    const char *rule, *subject; /* one finding for each; of recompiles the cause's key; or NULL */
    const char *text, *action, *evidence;
    double lost_s, gain;
    uint64_t count;
};

/* Most seconds lost first, what is not known last; then in the order in which they were told. For
 * qsort() of pointers. */
int snapshot_finding_order(const void *a, const void *b);

struct snapshot_output {
    struct shared shared;
    double t;
    int rank;
    const char *stream, *text;
};

/* ---- the whole ---- */

/* Lists stand in the order in which their things were first told. The totals count also those that
 * are not kept any more. */
struct snapshot {
    struct shared shared;
    uint64_t version;               /* another number when anything but `now` differs */
    double now;                     /* the moment that it shows */
    const struct snapshot_job *job; /* NULL: not told */

    size_t rank_count;    /* shown ones, by group and rank number */
    size_t process_count; /* behind them those that are only asleep or refused */
    const struct snapshot_rank *const *ranks;
    size_t group_count;
    const struct snapshot_group *const *groups;
    size_t variant_count;
    const struct snapshot_variant *variants;

    size_t switch_count, event_count, compile_count, cause_count, break_count, difference_count,
        problem_count, finding_count, output_count;
    const struct snapshot_switch *const *switches;
    const struct snapshot_event *const *events;
    const struct snapshot_compile *const *compiles;
    const struct snapshot_cause *const *causes;
    const struct snapshot_break *const *breaks;
    const struct snapshot_difference *const *differences;
    const struct snapshot_problem *const *problems;
    const struct snapshot_finding *const *findings;
    const struct snapshot_output *const *outputs;
    uint64_t switch_total, event_total, compile_total, problem_total, output_total;
    uint64_t dropped[3]; /* enum store_loss: steps, events, bad; over all ranks */

    const struct shared *held[16]; /* private: what the pointers above point into */
};

/* Freezes what is known; `now` is the moment to show. When nothing changed since the snapshot
 * before and `now` is the same, that one is handed out again. The caller holds a reference:
 * snapshot_unref(). The store must keep views, store_keep_views(), or findings: then curves, events
 * and outputs are empty. */
const struct snapshot *snapshot_take(struct store *store, double now);

const struct snapshot *snapshot_ref(const struct snapshot *snapshot);
void snapshot_unref(const struct snapshot *snapshot); /* accepts NULL */

/* What a rank is doing at snapshot.now. */
enum snapshot_activity snapshot_activity(const struct snapshot *snapshot,
                                         const struct snapshot_rank *rank);
const char *snapshot_activity_name(enum snapshot_activity activity); /* "training", ... */

/* It has finished, exited or is lost. */
bool snapshot_is_over(const struct snapshot_rank *rank);

/* Its use of these settings, NULL: none. */
const struct snapshot_use *snapshot_use(const struct snapshot_rank *rank, uint32_t variant);

/* Seconds since its last step ended; NaN without one. */
double snapshot_idle_s(const struct snapshot *snapshot, const struct snapshot_rank *rank);

/* Steps a second at snapshot.now: falls once no step comes any more. NaN: not known. */
double snapshot_rate(const struct snapshot *snapshot, const struct snapshot_rank *rank);

/* NULL when there is none. */
const struct snapshot_variant *snapshot_variant(const struct snapshot *snapshot, uint32_t variant);
const struct snapshot_rank *snapshot_rank(const struct snapshot *snapshot, const char *group,
                                          int rank);

/* The value of a key; NULL when it is absent. `pairs` may be NULL. */
const char *snapshot_pair(const struct snapshot_pairs *pairs, const char *key);

/* The group's switch that is not over (attempts that are made again are none); NULL when there is
 * none. */
const struct snapshot_switch *snapshot_pending(const struct snapshot *snapshot, const char *group);

/* Is it in turns between two sets of settings just now? `group` NULL: no. */
bool snapshot_is_measuring(const struct snapshot *snapshot, const char *group);

#endif
