/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/shared.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

void *shared_new(size_t size, void (*done)(void *thing)) {
    struct shared *shared = mem_new(size);
    *shared = (struct shared){.refs = 1, .done = done};
    return shared;
}

void *shared_ref(const void *thing) {
    struct shared *shared = (struct shared *)thing;
    if (shared) shared->refs++;
    return shared;
}

void shared_unref(const void *thing) {
    struct shared *shared = (struct shared *)thing;
    if (!shared || --shared->refs) return;
    if (shared->done) shared->done(shared);
    free(shared);
}

bool is_shared(const void *thing) {
    const struct shared *shared = thing;
    return shared->refs > 1;
}

static void list_done(void *thing) {
    struct shared_list *list = thing;
    for (size_t i = 0; i < list->count; i++) shared_unref(list->things[i]);
}

struct shared_list *shared_list_new(size_t room) {
    return shared_new(sizeof(struct shared_list) + room * sizeof(void *), list_done);
}

void shared_list_add(struct shared_list *list, const void *thing) {
    list->things[list->count++] = (void *)thing;
}
