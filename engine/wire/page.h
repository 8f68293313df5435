/* The decision page: one file, mapped by the engine and by all ranks of a host. It holds the only
 * truth about who switches when, so it survives the death of any of them. What is sent through
 * sockets beside it is advice and may be lost or late.
 *
 * A group is the ranks that must agree. Its word says what was decided last; each rank has a slot:
 * the steps it has done, and at which count it must look up (`look`). Words are step:40 | id:22 |
 * low:2, their low 32 bits are what a futex waits on.
 *
 * The rules that keep a decision from splitting (each was seen to fail when taken out):
 *
 *  1 Ids come from the page's counter before anyone is asked. Every attempt has a new one; none is
 *    ever used twice.
 *  2 A rank votes only when nothing older is pending with it: no gate whose outcome it has not
 *    read, no switch still to come.
 *  3 The engine reads W = word before it asks, and with the votes of all swaps W -> OPEN(id), from
 *    exactly W. Gates come after that.
 *  4 A gate is armed only while the page shows OPEN(id) and the slot's last vote is id. REST ->
 *    GATE, then the step is read again and the gate raised while the step has reached it. A failed
 *    swap means stale, never a gate.
 *  5 A rank at its gate obeys the word. While it is OPEN it waits, and when the wait ends without
 *    a decision it swaps OPEN -> ABORTED first and then obeys. It never goes on by itself.
 *  6 A decision is one swap OPEN(id) -> COMMITTED(S, id). When it fails, the proposal is what the
 *    word says.
 *  7 Waits have an absolute deadline, and the word is read again behind them.
 *  8 Who comes late is seen first, then takes its step, then reads the word and aborts an open one.
 *  9 The page is made whole under another name and linked; never truncated, never replaced; it has
 *    a nonce.
 * 10 A forked child writes to no slot that anyone reads.
 * 11 Not connected is not dead: a seat is freed by its holder, or when its process is gone.
 *
 * Nothing here allocates or blocks (page_wait() apart). All functions are safe from any thread and
 * process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_PAGE_H
#define INDUCTOP_WIRE_PAGE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"

/* ---- words */

typedef uint64_t page_word;

enum { PAGE_ID_BITS = 22, PAGE_LOW_BITS = 24 };
#define PAGE_ID_MAX ((UINT32_C(1) << PAGE_ID_BITS) - 1)
#define PAGE_STEP_NEVER ((UINT64_C(1) << 40) - 1)

/* Low bits of a group's word, and of a slot's look. */
enum page_state { PAGE_NONE, PAGE_OPEN, PAGE_COMMITTED, PAGE_ABORTED };
enum page_look { LOOK_IDLE, LOOK_PREPARE, LOOK_GATE, LOOK_SWITCH };

static inline page_word page_pack(uint64_t step, uint32_t id, unsigned low) {
    return step << PAGE_LOW_BITS | (page_word)id << 2 | low;
}
static inline uint64_t page_step(page_word word) {
    return word >> PAGE_LOW_BITS;
}
static inline uint32_t page_id(page_word word) {
    return (uint32_t)(word >> 2) & PAGE_ID_MAX;
}
static inline unsigned page_low(page_word word) {
    return (unsigned)word & 3;
}

#define PAGE_REST page_pack(PAGE_STEP_NEVER, 0, LOOK_IDLE) /* a look with nothing pending */

/* ---- the page */

enum { PAGE_GROUPS = 256, PAGE_SLOTS = 64, PAGE_KEY_ROOM = 96, PAGE_LINE = 64 };

struct page_slot {
    _Alignas(PAGE_LINE) _Atomic uint64_t step; /* steps done; written by the training thread only */
    _Atomic page_word look; /* at which count to look up, why, for which proposal */
    _Atomic uint64_t seat;  /* gen:32 | pid:32; gen counts who had the slot, pid 0: nobody */
    _Atomic uint32_t voted; /* id of the rank's last vote */
    _Atomic uint32_t force; /* id of the last proposal that was committed and taken; 0: none */
    _Atomic uint32_t rank;
};
static_assert(sizeof(struct page_slot) == PAGE_LINE, "a slot is one cache line");

struct page_group {
    _Alignas(PAGE_LINE) _Atomic page_word word; /* the decision */
    _Atomic page_word last; /* last COMMITTED word that `word` no longer shows */
    _Atomic uint64_t hash;  /* of the key; 0: free, 1: being taken over */
    _Atomic uint32_t world; /* ranks that the group says it has */
    _Atomic uint32_t named; /* the key is complete */
    _Atomic uint64_t key[PAGE_KEY_ROOM / 8];
    struct page_slot slot[PAGE_SLOTS];
};

struct page {
    uint64_t magic, nonce;   /* the nonce tells whether two parties map the same page */
    _Atomic uint32_t ids;    /* last id given out */
    _Atomic uint32_t keeper; /* pid of who takes over a dead group just now */
    struct page_group group[PAGE_GROUPS];
};

/* Maps the page at `path`, makes it when there is none. page_close() unmaps, and accepts NULL. */
int page_open(const char *path, struct page **ret_page, struct err *err);
void page_close(struct page *page);

/* A new id; 0 when all have been used. */
uint32_t page_new_id(struct page *page);

/* ---- groups and seats */

struct page_seat {
    uint32_t group, slot, gen;
};

/* Finds or claims the group of `key` and takes the seat of `rank` in it. A group whose processes
 * are all gone may be taken over when none is free. Fails when the seat's holder lives, or when
 * everything is taken. Seats are counted per host, so rank modulo 64 is the slot. */
int page_take_seat(struct page *page, const char *key, uint32_t rank, uint32_t world,
                   struct page_seat *ret_seat, struct err *err);

/* Gives the seat up, unless somebody else has it by now. */
void page_leave_seat(struct page *page, const struct page_seat *seat);

/* Index of the group with this key, -1 when there is none. */
int page_find_group(const struct page *page, const char *key);

/* Key text of a group, empty when it has none. */
void page_group_key(const struct page_group *group, char ret_key[PAGE_KEY_ROOM]);

static inline uint32_t page_seat_gen(uint64_t seat) {
    return (uint32_t)(seat >> 32);
}
static inline uint32_t page_seat_pid(uint64_t seat) {
    return (uint32_t)seat;
}

/* False only when there is no such process. */
bool page_is_alive(uint32_t pid);

/* ---- deciding */

/* The one swap: OPEN(id) -> `to`, unless somebody decided before. Wakes the waiting. Returns the
 * word behind it. */
page_word page_decide(struct page_group *group, uint32_t id, page_word to);
page_word page_abort(struct page_group *group, uint32_t id);

void page_wake(struct page_group *group);

/* Sleeps while the word is `seen`, until `deadline_ns` (CLOCK_MONOTONIC) at most. 0 (look again),
 * or an errno. */
int page_wait(struct page_group *group, page_word seen, uint64_t deadline_ns);

/* Rule 4. Returns the gate's count, which the slot's rank has not reached yet, or 0: stale. */
uint64_t page_arm(struct page_group *group, struct page_slot *slot, uint32_t id, unsigned ahead);

/* An OPEN that is found by an engine at its start belongs to nobody: it is aborted. Returns its id,
 * 0: there was none. */
uint32_t page_settle_open(struct page_group *group);

/* ---- for tests: built with -DPAGE_RULES_REMOVABLE, INDUCTOP_WITHOUT=recheck,... takes rules out,
 * and page_pause (NULL: nothing) is called between reading a step and setting the gate. */

#ifdef PAGE_RULES_REMOVABLE
bool page_has_rule(const char *rule);
extern void (*page_pause)(void);
#else
#define page_has_rule(rule) true
#endif

#endif
