/* The rules of findings, for engine/tune/findings.c and rules_*.c alone: each looks at a snapshot and adds what it finds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUNE_RULES_H
#define INDUCTOP_TUNE_RULES_H

#include "engine/data/snapshot.h"

struct findings;

/* What a rule is given. */
struct look {
    struct findings *findings;
    const struct snapshot *snapshot;
    const struct rule *rule;
};

/* The texts are the finding's own, by mem_printf(); those that are left NULL are not told. */
struct finding {
    int rank; /* -1: of the job */
    char *text, *action, *evidence;
    double lost_s, gain; /* NaN: not known */

    const char *rule; /* both set by finding_add() */
    char *subject;
};

/* It holds: of what it is (one finding for each rule, rank and subject; lent, NULL: nothing more) and what it costs. NULL when that is
 * no news; else its texts are to be set, before the next one is added. */
struct finding *finding_add(const struct look *look, const char *subject, struct finding figures);

/* Somebody waits just now: the next look should not be long in coming. */
void finding_is_urgent(const struct look *look);

/* ---- what several rules ask */

enum { STEPS_LEAST = 20 }; /* clean steps before shares of them mean something */

/* Of the settings in force; NULL: none yet. */
const struct snapshot_use *rules_use(const struct snapshot_rank *rank);
bool rules_has_enough(const struct shares *shares);

/* ---- the rules */

void find_data_wait(const struct look *look);  /* rules_time.c */
void find_optimizer(const struct look *look);
void find_slower(const struct look *look);
void find_break_even(const struct look *look);

void find_recompiles(const struct look *look); /* rules_compile.c */
void find_limit(const struct look *look);
void find_not_compiled(const struct look *look);
void find_breaks(const struct look *look);
void find_guards(const struct look *look);
void find_numbers(const struct look *look);
void find_stuck(const struct look *look);

void find_waiting(const struct look *look);    /* rules_ranks.c */
void find_alone(const struct look *look);
void find_straggler(const struct look *look);
void find_skew(const struct look *look);

void find_growth(const struct look *look);     /* rules_memory.c */

#endif
