/* The stress test of the gate and the agreement: rank processes that step at random speeds, an
 * engine that proposes without pause, and a supervisor that stops, kills and restarts all of them
 * at the worst moments. Everything is logged; verify.py says whether the logs add up.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_STRESS_H
#define INDUCTOP_STRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/run/agreement.h"
#include "engine/wire/page.h"

/* What the harness itself shares between its processes; the protocol knows nothing of it. */
struct sim {
    _Atomic uint64_t begun[PAGE_SLOTS], done[PAGE_SLOTS]; /* steps of each rank */
    _Atomic int live[PAGE_SLOTS]; /* 0: no process, 1: starting, 2: stepping */
    _Atomic int quit[PAGE_SLOTS];
    _Atomic int stop, ghosts; /* ghosts: engines that were replaced and go on all the same */
    _Atomic uint64_t proposals, opened, result[AGREEMENT_RESULT_COUNT], killed_at_points,
        ghosts_made;
};

struct stress {
    const char *dir;
    int ranks, window; /* window: how many steps a rank may be ahead of the slowest */
    bool calm;         /* nobody is stopped or killed */
    uint64_t goal, seed;
    double limit_s;
    struct sim *sim;
    struct page *page;
    char socket_path[100];
};
extern struct stress stress;

/* What a rank says in its hello. */
struct stress_hello {
    uint64_t nonce;
    uint32_t group, slot, gen, pid;
};

#define STRESS_KEY "stress/0"

void run_rank(int rank) __attribute__((noreturn));
void run_engine(void) __attribute__((noreturn));

/* Chance: one generator a process. */
void chance_init(uint64_t seed);
uint64_t chance_bits(void);
double chance_unit(void); /* 0 to 1 */
bool chance(double probability);

void nap_us(double us);
int open_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
