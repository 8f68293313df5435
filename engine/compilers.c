/* What compiles for the ranks in other processes: their time and memory, read here from /proc while
 * a rank compiles, so that the job does nothing for it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/run/children.h"
#include "engine/base/banned.h"

#define LOOK_EVERY_NS UINT64_C(250000000)
#define TELL_EVERY_NS UINT64_C(1000000000)
enum { COST_SHARE = 50 }; /* reading takes no more than this part of our time */

struct compiled_for {
    struct compiled_for *next;
    pid_t pid;
    int rank, depth; /* depth: compilations under way, on all its threads */
    char group[GROUP_TEXT];
    bool has_more; /* to tell, though nothing is under way any more */
    uint64_t begun_ms, ended_ms; /* of children that have ended: when it began; in compilations so far */
    uint64_t cpu_ms, rss_most;
    struct children_figures now;
    uint64_t told_cpu_ms, told_rss, told_ns;
};

static struct compiled_for *compilers_for(struct engine *engine, const struct guest *guest) {
    for (struct compiled_for *one = engine->compilers; one; one = one->next)
        if (one->pid == guest->pid && one->rank == guest->rank && strcmp(one->group, guest->group) == 0) return one;
    struct compiled_for *one = mem_new(sizeof *one);
    *one = (struct compiled_for){.next = engine->compilers, .pid = guest->pid, .rank = guest->rank};
    snprintf(one->group, sizeof one->group, "%s", guest->group);
    engine->compilers = one;
    return one;
}

/* Of children that ended since the compilation began. A rank that is gone compiles no more. */
static uint64_t ended_since(struct compiled_for *one) {
    uint64_t ms = 0;
    if (!children_ended_ms(one->pid, &ms)) one->depth = 0;
    return ms > one->begun_ms ? ms - one->begun_ms : 0;
}

void compilers_compiling(struct engine *engine, const struct guest *guest, const char *state) {
    if (!state || guest->pid <= 0) return;
    struct compiled_for *one = compilers_for(engine, guest);
    if (strcmp(state, "begin") == 0) {
        if (one->depth++ == 0 && !children_ended_ms(one->pid, &one->begun_ms)) one->begun_ms = UINT64_MAX;
    } else if (strcmp(state, "end") == 0 && one->depth > 0 && --one->depth == 0) {
        one->ended_ms += ended_since(one);
        one->has_more = true;
    }
}

static void tell(struct engine *engine, struct compiled_for *one, uint64_t now) {
    bool is_news = one->cpu_ms != one->told_cpu_ms || one->now.rss_bytes != one->told_rss;
    if (!is_news || (one->depth && now - one->told_ns < TELL_EVERY_NS)) return;
    one->told_cpu_ms = one->cpu_ms;
    one->told_rss = one->now.rss_bytes;
    one->told_ns = now;
    struct event event =
        event_make(EVENT_COMPILERS, engine_time(engine), "{sI si sI sI}", "cpu_ms", (json_int_t)one->cpu_ms, "processes",
                   (int)one->now.processes, "rss", (json_int_t)one->now.rss_bytes, "rss_peak", (json_int_t)one->rss_most);
    event_set_rank(&event, one->rank);
    engine_tell(engine, &event, one->group);
}

static void look(struct engine *engine, const struct children *children, struct compiled_for *one, uint64_t now) {
    uint64_t ended_ms = one->ended_ms + (one->depth ? ended_since(one) : 0);
    one->now = children_of(children, one->pid);
    if (one->now.rss_bytes > one->rss_most) one->rss_most = one->now.rss_bytes;
    if (ended_ms + one->now.cpu_ms > one->cpu_ms) one->cpu_ms = ended_ms + one->now.cpu_ms;
    one->has_more = false;
    tell(engine, one, now);
}

static void look_at_all(struct engine *engine, uint64_t now) {
    struct children *children = children_read();
    for (struct compiled_for *one = engine->compilers; one; one = one->next)
        if (one->depth || one->has_more) look(engine, children, one, now);
    children_free(children);
}

void compilers_turn(struct engine *engine) {
    uint64_t now = clock_now_ns();
    bool is_wanted = false;
    for (const struct compiled_for *one = engine->compilers; one; one = one->next) is_wanted |= one->depth || one->has_more;
    if (!is_wanted || now < engine->next_compilers_ns) return;
    look_at_all(engine, now);
    uint64_t cost = clock_now_ns() - now;
    engine->next_compilers_ns = now + (COST_SHARE * cost > LOOK_EVERY_NS ? COST_SHARE * cost : LOOK_EVERY_NS);
}

void compilers_end(struct engine *engine) {
    look_at_all(engine, clock_now_ns());
}

void compilers_free(struct engine *engine) {
    while (engine->compilers) {
        struct compiled_for *one = engine->compilers;
        engine->compilers = one->next;
        free(one);
    }
}
