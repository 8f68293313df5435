/* Findings while the job runs: every second, and more often while ranks wait for one that compiles, the rules look at
 * what is known, and what is new is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"
#include "engine/parts.h"
#include "engine/base/banned.h"

#define LOOK_EVERY_NS UINT64_C(1000000000)
#define LOOK_SOON_NS UINT64_C(100000000) /* while ranks wait for one */

void advice_look(struct engine *engine) {
    const struct snapshot *snapshot = snapshot_take(engine->store, engine_time(engine));
    findings_look(engine->findings, snapshot);
    snapshot_unref(snapshot);
    struct event event;
    while (findings_next(engine->findings, &event)) {
        event.t = engine_time(engine);
        engine_tell(engine, &event, NULL);
    }
}

void advice_turn(struct engine *engine) {
    uint64_t now = clock_now_ns();
    if (now < engine->next_look_ns) return;
    advice_look(engine);
    engine->next_look_ns = now + (findings_are_urgent(engine->findings) ? LOOK_SOON_NS : LOOK_EVERY_NS);
}

void advice_compiling(struct engine *engine) {
    uint64_t soon = clock_now_ns() + LOOK_SOON_NS;
    if (soon < engine->next_look_ns) engine->next_look_ns = soon;
}
