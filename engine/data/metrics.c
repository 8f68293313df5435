/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

static const struct metric metrics[METRIC_COUNT] = {
#define METRIC(symbol, name, title, unit, time, ranks, better, kind, format, help)                 \
    [METRIC_##symbol] = {name,         title,           unit,                                      \
                         FOLD_##time,  FOLD_##ranks,    BETTER_##better,                           \
                         EVENT_##kind, FORMAT_##format, help},
#include "engine/data/metrics.def"
#undef METRIC
};

const struct metric *metric_get(enum metric_id id) {
    return &metrics[id];
}

int metric_find(const char *name) {
    for (int i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metrics[i].name, name) == 0) return i;
    return -1;
}

/* Three digits or so; never more places than mean something. */
static void print_ms(double value, char *ret, size_t size) {
    snprintf(ret, size, "%.*f", value < 1 ? 3 : value < 10 ? 2 : value < 1000 ? 1 : 0, value);
}

static void print_seconds(double value, char *ret, size_t size) {
    if (value < 1)
        snprintf(ret, size, "%.2f s", value);
    else if (value < 1000)
        snprintf(ret, size, "%.1f s", value);
    else
        snprintf(ret, size, "%.0f s", value);
}

static void print_bytes(double value, char *ret, size_t size) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(units) && value >= 1000) value /= 1024, i++;
    snprintf(ret, size, "%.*f %s", i == 0 || value >= 10 ? 0 : 1, value, units[i]);
}

const char *metric_print(enum metric_id id, double value, char ret_text[METRIC_TEXT_SIZE]) {
    size_t size = METRIC_TEXT_SIZE;
    if (!isfinite(value)) {
        snprintf(ret_text, size, "-");
        return ret_text;
    }
    switch (metrics[id].format) {
    case FORMAT_COUNT: snprintf(ret_text, size, "%.0f", value); break;
    case FORMAT_MS: print_ms(value, ret_text, size); break;
    case FORMAT_SECONDS: print_seconds(value, ret_text, size); break;
    case FORMAT_BYTES: print_bytes(value, ret_text, size); break;
    case FORMAT_RATIO: snprintf(ret_text, size, "%.2f", value); break;
    }
    return ret_text;
}
