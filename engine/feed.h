/* The door for screens: one job as a picture that moves. A source, the engine of a running job or a
 * tape, fills a store of the feed's own; feed_snapshot() freezes it. Live, attached and replayed
 * are one interface; what only one kind can do says so.
 *
 *     feed_attach() or feed_tape()
 *     feed_turn()         on every turn of the loop: what time it is now
 *     feed_snapshot()     the picture at that time, for panels
 *     feed_facts()        where the picture comes from, and whether it is fresh
 *     feed_propose() ...  what a person asks for
 *
 * Times are nanoseconds of one clock that runs on: CLOCK_MONOTONIC for a running job (whose own
 * times are), any for a tape. Loop thread only. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_FEED_H
#define INDUCTOP_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/data/snapshot.h"
#include "engine/run/session.h"
#include "engine/setup/settings.h"
#include "engine/wire/source.h"

struct feed;

struct feed_options {
    uv_loop_t *loop;               /* of a running job; a tape needs none */
    const struct session *session; /* lent as long as the feed lives; of a running job */
    bool is_attached;              /* the job runs already, see engine/run/viewer.h */
    int (*start_engine)(const struct session *session, struct err *err); /* may be NULL */

    /* Something was told or the state changed: a picture taken now may differ. Often: draw at the
     * next turn, not here. May be NULL. The feed must not be freed in it. */
    void (*changed)(void *ctx);
    void *ctx;
};

struct feed_facts {
    bool is_tape;
    enum source_state state;
    const char *reason; /* why it is lost or ended; never NULL, may be empty */
    double now;         /* the moment that a snapshot shows, seconds since the start of the job */
    uint64_t bad;       /* frames or lines that could not be read */
    const char *bad_text;

    /* of a running job */
    bool is_readonly, is_in_charge;
    const char *baseline; /* off, auto, on */
    int screens;          /* that look at it */
    unsigned losses;      /* how often the engine was lost */
    uint64_t missed_events,
        missed_steps;      /* that could not be told to this screen: it did not read */
    const char *did, *tag; /* the last command that was taken (not a proposal), its tag as JSON
                              text; NULL: none */
    uint64_t did_count;

    /* of a tape */
    double length, speed, progress; /* progress: of the seek under way, 1 without one */
    bool has_step;
    uint64_t step;
};

struct feed *feed_attach(const struct feed_options *options);
int feed_tape(const struct feed_options *options, const char *path, struct feed **ret,
              struct err *err);

/* The memory of a running job's goes when the loop has run once more. Accepts NULL. Snapshots stay
 * good. */
void feed_free(struct feed *feed);

/* Returns true when a tape has more to tell at once: turn again soon. */
bool feed_turn(struct feed *feed, uint64_t now_ns);

/* A reference for the caller: snapshot_unref(). */
const struct snapshot *feed_snapshot(struct feed *feed);

/* Lent until the next turn. */
struct feed_facts feed_facts(const struct feed *feed);

/* The table that stands at the end of a job, of what is known now: engine/data/summary.h. Adds to
 * `ret`. */
void feed_summary(const struct feed *feed, int width, struct buf *ret);

/* What a person asks for; fails when no engine is connected, and always on a tape. `group` NULL:
 * the only one. `tag` comes back in what becomes of it: snapshot_switch.tag of a proposal, a
 * problem event when something is refused, facts.did else. */
int feed_propose(struct feed *feed, const struct settings *change, const char *group,
                 const char *tag, struct err *err);
int feed_forget(struct feed *feed, const struct settings *settings, const char *group,
                const char *tag, struct err *err); /* lets go of what was compiled under them */
int feed_baseline(struct feed *feed, const char *group, const char *tag, struct err *err);

/* Compares what is in force with a change of it. */
int feed_compare(struct feed *feed, const struct settings *change, const char *group,
                 const char *tag, struct err *err);
int feed_take_over(struct feed *feed, const char *tag, struct err *err);

/* Of a tape (engine/tape/replay.h); nothing happens on a running job. */
void feed_play(struct feed *feed, bool is_playing);
void feed_set_speed(struct feed *feed, double speed);
void feed_seek(struct feed *feed, double t);
void feed_seek_step(struct feed *feed, uint64_t step);
void feed_step(struct feed *feed, int64_t steps);

#endif
