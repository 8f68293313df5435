/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/series.h"

#include <stdlib.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/stats.h"
#include "engine/base/banned.h"

void series_init(struct series *series) {
    *series = (struct series){0};
}

void series_done(struct series *series) {
    for (size_t i = 0; i < series->chunk_count; i++) free(series->chunks[i]);
    free(series->chunks);
    series_init(series);
}

static void add_chunk(struct series *series) {
    if (series->chunk_count == series->room) {
        series->room = series->room ? 2 * series->room : 4;
        series->chunks = mem_resize(series->chunks, series->room, sizeof series->chunks[0]);
    }
    series->chunks[series->chunk_count++] = mem_array(SERIES_CHUNK, sizeof(float));
}

/* Every second value goes, and with it the newer half of the chunks. */
static void thin(struct series *series) {
    size_t half = series->count / 2;
    for (size_t i = 0; i < half; i++)
        series->chunks[i / SERIES_CHUNK][i % SERIES_CHUNK] = (float)series_at(series, 2 * i);
    series->count = half;
    for (size_t i = half / SERIES_CHUNK; i < series->chunk_count; i++) free(series->chunks[i]);
    series->chunk_count = half / SERIES_CHUNK;
    series->stride = 2 * (series->stride ? series->stride : 1);
}

void series_add(struct series *series, double value) {
    size_t most = series->most ? series->most : SERIES_MOST;
    if (series->count == most) thin(series);
    if (series->stride && series->added++ % series->stride) return;
    if (!series->stride) series->added++;
    if (series->count == series->chunk_count * SERIES_CHUNK) add_chunk(series);
    series->chunks[series->count / SERIES_CHUNK][series->count % SERIES_CHUNK] = (float)value;
    series->count++;
}

double series_at(const struct series *series, size_t i) {
    return (double)series->chunks[i / SERIES_CHUNK][i % SERIES_CHUNK];
}

double series_median(const struct series *series) {
    return series_quick_median(series, series->count);
}

double series_quick_median(const struct series *series, size_t most) {
    size_t count = most < series->count ? most : series->count;
    CLEANUP(cleanup_free) double *values = mem_array(count, sizeof values[0]);
    for (size_t i = 0; i < count; i++) values[i] = series_at(series, i * series->count / count);
    stats_sort(values, count);
    return stats_median(values, count);
}
