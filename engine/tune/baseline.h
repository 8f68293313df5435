/* When to compare the settings in force with others, and what came of it: the state machine behind
 * --baseline, `b` and `inductop compare`, one for each group of ranks. Without input or output: its
 * owner tells it steps, asks it now and then whether it wants a schedule, brings that schedule to
 * the ranks, and takes the results away.
 *
 *     baseline_rank(), baseline_gone()    who takes part
 *     baseline_step()                     every step of every rank
 *     baseline_applied()                  a switch by set, at or viewer was applied
 *     baseline_ask()                      a person wants the present settings compared with others
 *     baseline_want()                     true: propose this schedule (schedule_json() is its form
 *                                         on the wire), of baseline_other() and the settings in
 *                                         force, then answer by baseline_agreed(),
 *                                         baseline_refused() or baseline_dropped(). One for each
 *                                         stage of the judge
 *     baseline_next()                     results, one event at a time, until it returns false
 *     baseline_end()                      the job is over
 *
 * on: compares each variant with eager once, the one that the job began with too. auto: only those
 * that a switch brought, once each. baseline_ask() compares the present one with any other, again
 * if need be, also when it is off. Nothing is compared with what nobody named.
 *
 * It wants a schedule when every rank has run BASELINE_CLEAN_STEPS clean steps in the variant that
 * is in force, and that is not the other one. A try that is refused, dropped or gives less than
 * STATS_PAIRS_LEAST pairs on every rank is made again after 5, 10, 20 and 40 s while the variant is
 * in force; after BASELINE_TRIES tries it is given up, and a problem event says why. What a person
 * asked for is tried once: the reason is for the person. It never asks while it waits for an answer
 * or while a schedule runs. A schedule that was dropped half way still gives its results when a
 * rank had pairs enough. Memory headroom is its owner's to judge: refuse.
 *
 * One owner, one thread. Times are seconds since the job's start.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUNE_BASELINE_H
#define INDUCTOP_TUNE_BASELINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/event.h"
#include "engine/tune/judge.h"

enum { BASELINE_CLEAN_STEPS = 10, BASELINE_TRIES = 5, BASELINE_BACK_OFF_S = 5 };

enum baseline_mode { BASELINE_OFF, BASELINE_AUTO, BASELINE_ON };

struct baseline;

/* What the owner knows when it asks. */
struct baseline_now {
    double t;
    uint32_t variant; /* settings in force in the group */
    bool is_eager;    /* they are: scope=eager, or as written in a job that compiles nothing */
    size_t ranks;     /* that must take part; 0: those that were told */
    uint64_t room;    /* steps until the next switch of the plan, from the highest step told;
                         UINT64_MAX: none is planned */
};

/* -1 for a text that is no mode; NULL is off. */
int baseline_mode_find(const char *text);

/* `eager`: key of the eager settings. `seed`: of the random orders. */
struct baseline *baseline_new(enum baseline_mode mode, uint32_t eager, uint64_t seed);
struct baseline *baseline_free(struct baseline *baseline); /* returns NULL */

void baseline_rank(struct baseline *baseline, int rank);

/* Finished, lost or exited: nobody waits for it any more. */
void baseline_gone(struct baseline *baseline, int rank);

/* A rank that was not told before takes part from now on. `times` count when it is `clean`. */
void baseline_step(struct baseline *baseline, int rank, uint64_t step,
                   const struct judge_times *times, uint32_t variant, bool clean);

void baseline_applied(struct baseline *baseline, uint32_t variant);
void baseline_ask(struct baseline *baseline, uint32_t other);

/* Key of what is being compared with, or was last. */
uint32_t baseline_other(const struct baseline *baseline);

/* True: `ret` is wanted, and nothing else until it was answered. */
bool baseline_want(struct baseline *baseline, const struct baseline_now *now, struct schedule *ret);

/* The answers: it begins at step `start` (S); it never began; another switch ended it. */
void baseline_agreed(struct baseline *baseline, uint64_t start);
void baseline_refused(struct baseline *baseline, double t, const char *reason);
void baseline_dropped(struct baseline *baseline, double t, const char *reason);

/* Something was asked for or wanted, and is not over yet. */
bool baseline_is_busy(const struct baseline *baseline);

/* Takes out the next event (speedup of a rank, or problem): the caller does event_done(). */
bool baseline_next(struct baseline *baseline, double t, struct event *ret);

/* A schedule that runs ends here with what it has. */
void baseline_end(struct baseline *baseline);

/* [[offset, settings], ...] for PREPARE; `other` and `current` are objects of settings and only
 * lent. A new reference. */
json_t *schedule_json(const struct schedule *schedule, json_t *other, json_t *current);

#endif
