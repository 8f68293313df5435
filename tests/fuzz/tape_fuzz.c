/* Fuzz target: lines of a tape, through the store to a picture; the quick way to read a step must
 * agree with the long one. Not part of the build, since it needs clang:
 *
 *     clang -std=gnu17 -D_GNU_SOURCE -I. -g -O1 -fsanitize=fuzzer,address,undefined
 * tests/fuzz/tape_fuzz.c \ engine/data/[a-z]*.c engine/event/[a-z]*.c engine/wire/[a-z]*.c
 * engine/base/[a-z]*.c -ljansson -lm -o tape_fuzz
 *     ./tape_fuzz -max_len=8192 -max_total_time=60 CORPUS SEEDS
 *
 * CORPUS is an empty folder for what it finds, SEEDS one with some lines of tests/tapes, a few a
 * file. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/snapshot.h"
#include "engine/data/store.h"
#include "engine/data/summary.h"
#include "engine/event/event.h"
#include "engine/base/banned.h"

static void take(struct store *store, const char *line, size_t size) {
    struct step_record record, other;
    struct event event = EVENT_INIT;
    int rank;
    bool is_step = event_step_parse(line, size, &record, &rank);
    if (event_parse(line, size, 0, &event, NULL) < 0) {
        if (is_step) abort();
        return;
    }
    if (is_step) {
        event_to_step(&event, &other);
        if (event.kind != EVENT_STEP || rank != event.rank ||
            memcmp(&record, &other, sizeof record) != 0)
            abort();
    }
    store_take(store, &event, NULL);
    event_done(&event);
}

static void check_picture(struct store *store) {
    const struct snapshot *snapshot = snapshot_take(store, 100);
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        struct curve_point columns[8];
        (void)snapshot_activity(snapshot, snapshot->ranks[i]);
        (void)curve_columns(&snapshot->ranks[i]->curve, CURVE_BY_TIME, 0, 100, columns, 8);
    }
    struct event summary;
    summary_event(store, &summary);
    store_take(store, &summary, NULL);
    event_done(&summary);
    snapshot_unref(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct store *store = store_new();
    store_keep_views(store);
    const char *at = (const char *)bytes, *end = at + size;
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next ? next : end) - at);
        take(store, at, length);
        at += length + 1;
    }
    check_picture(store);
    check_picture(store);
    store_free(store);
    return 0;
}
