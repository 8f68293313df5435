/* Ranks whose connection ended while their process still lived: a process that is being killed
 * closes its files some moments before it is gone. They are looked at again until they are gone or
 * back. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine/parts.h"
#include "engine/base/banned.h"

void stalled_add(struct engine *engine, struct guest *guest) {
    guest->peer = NULL;
    guest->next = engine->stalled;
    engine->stalled = guest;
}

static void free_stalled(struct guest *guest) {
    json_decref(guest->identity);
    free(guest);
}

static bool is_back(const struct engine *engine, const struct guest *stalled) {
    for (const struct guest *guest = engine->guests; guest; guest = guest->next)
        if (guest->role == GUEST_RANK && guest->pid == stalled->pid) return true;
    return false;
}

void stalled_turn(struct engine *engine) {
    for (struct guest **at = &engine->stalled; *at;) {
        struct guest *guest = *at;
        bool has_come_back = is_back(engine, guest), is_gone = process_start(guest->pid) == 0;
        if (!has_come_back && !is_gone) {
            at = &guest->next;
            continue;
        }
        *at = guest->next;
        if (!has_come_back)
            intake_lost(engine, guest, "lost", "the process ended without a word: killed?");
        free_stalled(guest);
    }
}

void stalled_end(struct engine *engine) {
    while (engine->stalled) {
        struct guest *guest = engine->stalled;
        engine->stalled = guest->next;
        free_stalled(guest);
    }
}
