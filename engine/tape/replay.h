/* A tape (JSON lines, as --record writes them) as a source, with its own time: it can be paused,
 * stepped, sped up and moved. Without a loop: the owner calls replay_turn() now and then.
 *
 *     replay_open()     looks at the file's end for how long it is; tells nothing yet
 *     replay_turn()     tells what its time has reached since the turn before
 *     replay_seek_...   the next turns tell all up to there at full speed; a time that lies behind
 *                       begins anew (source_sink.again)
 *
 * A turn reads REPLAY_TURN_BYTES at most, so a tape of any size never holds the loop up, and no
 * more of it is in memory than one line and one block; while a seek is not done yet replay_facts()
 * says so, with how far it is. The file may grow while it is read. Lines that cannot be read are
 * counted and left out; an unfinished line at the end counts as one. Lines are told in the order of
 * the file, each when its `t` is reached: one that is late is told at once.
 *
 * Time comes from the caller alone: no clock is asked. One owner, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TAPE_REPLAY_H
#define INDUCTOP_TAPE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/wire/source.h"

enum { REPLAY_TURN_BYTES = 1 << 20 };

#define REPLAY_SPEED_LEAST 0.01
#define REPLAY_SPEED_MOST 1000.0

struct replay;

struct replay_facts {
    enum source_state state; /* live (plays), catching up (seeks), paused, ended (at its end) */
    double t;                /* where it stands, in seconds since the start of the job */
    double length;           /* the latest time on the tape */
    double speed;
    bool has_step;
    uint64_t step;        /* the highest that any rank ended so far */
    double progress;      /* of the seek that is under way, 0 to 1; 1 without one */
    uint64_t bad;         /* lines that could not be read */
    const char *bad_text; /* why not, of the first one; NULL without one */
    uint64_t lines;       /* told so far */
};

/* Begins paused at 0; the sink is copied. */
int replay_open(const char *path, const struct source_sink *sink, struct replay **ret,
                struct err *err);
struct replay *replay_free(struct replay *replay); /* returns NULL */

/* `now_ns` is any clock that runs on. Returns true when more could be told at once: call it again
 * soon. */
bool replay_turn(struct replay *replay, uint64_t now_ns);

void replay_play(struct replay *replay, bool is_playing);

/* Held within REPLAY_SPEED_LEAST and REPLAY_SPEED_MOST. */
void replay_set_speed(struct replay *replay, double speed);

/* To a time; beyond the end is the end. */
void replay_seek(struct replay *replay, double t);

/* To the moment when any rank has ended this step; a step that never comes is the end. */
void replay_seek_step(struct replay *replay, uint64_t step);

/* `steps` further from where it stands (or where it is going), or back when below 0; pauses. */
void replay_step(struct replay *replay, int64_t steps);

struct replay_facts replay_facts(const struct replay *replay);

#endif
