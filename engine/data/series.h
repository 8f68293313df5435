/* Readings, for their median. All of them, until there are SERIES_MOST (or fewer, if the holder
 * says so); from then on every second one, then every fourth, and so on, so that it stays a fair
 * sample in bounded memory. Kept as float: 7 digits, half the memory. The holder owns it:
 * series_init ... series_done; all zero is an empty one. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SERIES_H
#define INDUCTOP_DATA_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { SERIES_CHUNK = 256, SERIES_MOST = 1 << 18 };

struct series {
    float **chunks;
    size_t count, chunk_count, room;
    size_t most;     /* 0: SERIES_MOST; a multiple of 2 * SERIES_CHUNK */
    uint64_t stride; /* every how many-th is kept; 0 is 1 */
    uint64_t added;
};

void series_init(struct series *series);
void series_done(struct series *series);
void series_add(struct series *series, double value);

/* `i` below count. */
double series_at(const struct series *series, size_t i);

/* NaN when it is empty. Takes memory for a sorted copy while it works. */
double series_median(const struct series *series);

/* The same of `most` of them, evenly spread, if there are more: costs the same however long it is.
 */
double series_quick_median(const struct series *series, size_t most);

#endif
