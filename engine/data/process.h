/* One rank of the store with its units and uses: the part of the store that events of a rank go to.
 * Only store.c uses it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_PROCESS_H
#define INDUCTOP_DATA_PROCESS_H

#include <uthash.h>

#include "engine/data/series.h"
#include "engine/data/spans.h"
#include "engine/data/store.h"

struct use {
    struct store_use facts;
    struct series ms; /* of clean steps */
    struct spans compiles;
    char **breaks; /* one text for each different one */
    size_t breaks_room;
    char *verdict;
};

struct process {
    char *key; /* group and rank number */
    struct store_rank facts;
    char *texts[8]; /* what facts points to */
    struct store_unit *units;
    struct use **uses;
    size_t use_last; /* most events are of the use of the event before */
    UT_hash_handle hh;
};

/* `key` and `group` are copied. */
struct process *process_new(const char *key, const char *group, int rank);
void process_free(struct process *process);

/* Any event that names this rank. */
void process_take(struct process *process, const struct event *event);

#endif
