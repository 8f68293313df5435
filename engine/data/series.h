/* A series of readings that only grows, in chunks: what was written stays where it is. Kept as
 * float: 7 digits, half the memory. The holder owns it: series_init ... series_done; all zero is an
 * empty one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SERIES_H
#define INDUCTOP_DATA_SERIES_H

#include <stddef.h>

enum { SERIES_CHUNK = 256 };

struct series {
    float **chunks;
    size_t count, chunk_count, room;
};

void series_init(struct series *series);
void series_done(struct series *series);
void series_add(struct series *series, double value);

/* `i` below count. */
double series_at(const struct series *series, size_t i);

/* NaN when it is empty. Takes memory for a sorted copy while it works. */
double series_median(const struct series *series);

/* The same of the last `count` at most. */
double series_last_median(const struct series *series, size_t count);

#endif
