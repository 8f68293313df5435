/* Findings while the job runs: every two seconds the rules look at what is known, and what is new is told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"
#include "engine/parts.h"
#include "engine/base/banned.h"

#define LOOK_EVERY_NS UINT64_C(2000000000)

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
    engine->next_look_ns = now + LOOK_EVERY_NS;
    advice_look(engine);
}
