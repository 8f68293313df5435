/* The metrics table: name, unit, how to bring many readings together, which way is better, how to
 * print. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_METRICS_H
#define INDUCTOP_DATA_METRICS_H

#include <stddef.h>

#include "engine/wire/kinds.h"

enum metric_id {
#define METRIC(symbol, name, title, unit, time, ranks, better, kind, format, help) METRIC_##symbol,
#include "engine/data/metrics.def"
#undef METRIC
    METRIC_COUNT
};

enum metric_fold { FOLD_LAST, FOLD_SUM, FOLD_MEDIAN, FOLD_MAX };
enum metric_better { BETTER_LESS, BETTER_MORE, BETTER_NEITHER };
enum metric_format { FORMAT_COUNT, FORMAT_MS, FORMAT_SECONDS, FORMAT_BYTES, FORMAT_RATIO };

enum { METRIC_TEXT_SIZE = 32 };

struct metric {
    const char *name;  /* as in JSON */
    const char *title; /* of a column */
    const char *unit;
    enum metric_fold over_time, over_ranks;
    enum metric_better better;
    enum event_kind kind; /* what tells it */
    enum metric_format format;
    const char *help;
};

const struct metric *metric_get(enum metric_id id);

/* -1 when no metric has this name. */
int metric_find(const char *name);

/* A short text: "412", "31.9", "13.4 s", "612 MB" (powers of 1024), "1.34". NaN, the missing
 * reading, is "-", never 0. Returns `ret_text`. */
const char *metric_print(enum metric_id id, double value, char ret_text[METRIC_TEXT_SIZE]);

#endif
