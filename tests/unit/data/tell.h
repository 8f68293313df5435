/* Tells a store what a tape would: lines with single quotes for double ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TESTS_UNIT_DATA_TELL_H
#define INDUCTOP_TESTS_UNIT_DATA_TELL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/snapshot.h"
#include "engine/data/store.h"

__attribute__((format(printf, 3, 4))) static inline void tell(struct store *store, const char *kind,
                                                              const char *format, ...) {
    char fields[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(fields, sizeof fields, format, args);
    va_end(args);
    char *line = mem_printf("{'v':1,'kind':'%s',%s}", kind, fields);
    for (size_t i = 0; line[i]; i++)
        if (line[i] == '\'') line[i] = '"';
    struct event event;
    struct err err = {0};
    if (event_parse(line, strlen(line), 0, &event, &err) < 0) fail_msg("%s: %s", line, err.message);
    store_take(store, &event, NULL);
    event_done(&event);
    free(line);
}

static inline void hello_as(struct store *store, int rank, const char *group, const char *state,
                            double t) {
    tell(store, "rank",
         "'t':%f,'rank':%d,'world':2,'host':'h','pid':%d,'python':'3.11','torch':'2.13.0+cpu',"
         "'device':'cpu','group':'%s','state':'%s','switching':'live'",
         t, rank, 100 + rank, group, state);
}

static inline void hello(struct store *store, int rank) {
    hello_as(store, rank, "g", "hooked", 0);
}

/* A step of `ms` that ended at `t`; not clean when there is a reason. */
static inline void step(struct store *store, int rank, int number, double t, double ms,
                        uint32_t variant, uint32_t why) {
    struct step_record record = {.step = (uint64_t)number,
                                 .end_ns = (uint64_t)(t * 1e9 + 0.5),
                                 .dur_ns = (uint64_t)(ms * 1e6 + 0.5),
                                 .variant = variant,
                                 .why = why,
                                 .valid = STEP_HAS_RSS,
                                 .rss_bytes = 1000 + (uint64_t)number};
    store_step(store, &record, rank, NULL, 0);
}

static inline struct store *viewed_store(void) {
    struct store *store = store_new();
    store_keep_views(store);
    return store;
}

#endif
