/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/roll.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

void roll_init(struct roll *roll, size_t most) {
    *roll = (struct roll){.most = most};
}

static void changed(struct roll *roll) {
    shared_unref(roll->list);
    roll->list = NULL;
}

void roll_done(struct roll *roll) {
    for (size_t i = 0; i < roll->count; i++) shared_unref(roll_at(roll, i));
    free(roll->things);
    changed(roll);
    *roll = (struct roll){0};
}

void roll_add(struct roll *roll, void *thing) {
    changed(roll);
    roll->total++;
    if (!roll->things) roll->things = mem_array(roll->most, sizeof roll->things[0]);
    if (roll->count < roll->most) {
        roll->things[(roll->begin + roll->count++) % roll->most] = thing;
        return;
    }
    shared_unref(roll->things[roll->begin]);
    roll->things[roll->begin] = thing;
    roll->begin = (roll->begin + 1) % roll->most;
}

void *roll_at(const struct roll *roll, size_t i) {
    return roll->things[(roll->begin + i) % roll->most];
}

void roll_set(struct roll *roll, size_t i, void *thing) {
    void **place = &roll->things[(roll->begin + i) % roll->most];
    changed(roll);
    shared_unref(*place);
    *place = thing;
}

const struct shared_list *roll_list(struct roll *roll) {
    if (!roll->list) {
        struct shared_list *list = shared_list_new(roll->count);
        for (size_t i = 0; i < roll->count; i++)
            shared_list_add(list, shared_ref(roll_at(roll, i)));
        roll->list = list;
    }
    return shared_ref(roll->list);
}
