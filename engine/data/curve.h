/* Step times of one rank over the whole life of a job, for charts: the newest step by step, older
 * ones in points that stand for 2, 4, 8, ... steps each. So it keeps its full length in a memory
 * that hardly grows, and spikes and marks stay: a point knows the least and the most of its steps,
 * and all reasons why they are not clean.
 *
 * Points lie in chunks that never change once they are full. A view is what the curve was at one
 * moment: it shares the chunks, so taking one costs the same however long the curve is. The holder
 * owns the curve: curve_init ... curve_done. One thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_CURVE_H
#define INDUCTOP_DATA_CURVE_H

#include <stddef.h>
#include <stdint.h>

enum { CURVE_CHUNK = 64, CURVE_CHUNKS_LEAST = 2 };

struct curve_point {
    uint32_t step;    /* the first of them */
    uint32_t count;   /* steps, 0: none lies here */
    uint32_t clean;   /* of them */
    uint32_t variant; /* of the last of them */
    float t;          /* end of the last of them, in seconds since the start of the job */
    float ms, least,
        most;     /* ms: mean of the clean ones, of all when none is. NaN: no time is known */
    uint32_t why; /* enum step_why of all of them */
};

struct curve_spine; /* private */

struct curve {
    struct curve_spine *spine;
    size_t chunks_each; /* how many chunks of one kind are kept before two become one */
};

/* Frozen. All zero is one without points. */
struct curve_view {
    const struct curve_spine *spine;
    size_t count; /* points */
};

/* `chunks_each` from CURVE_CHUNKS_LEAST; 64 points a chunk. It may be changed at any time: the
 * curve fits itself to it as it grows. */
void curve_init(struct curve *curve, size_t chunks_each);
void curve_done(struct curve *curve);

/* One more step. */
void curve_add(struct curve *curve, const struct curve_point *point);

/* Bytes that it holds. */
size_t curve_bytes(const struct curve *curve);

/* A view must be ended by curve_view_done(), which may be called twice. */
struct curve_view curve_view(const struct curve *curve);
struct curve_view curve_view_ref(const struct curve_view *view);
void curve_view_done(struct curve_view *view);

/* From the oldest, `i` below count. */
const struct curve_point *curve_point(const struct curve_view *view, size_t i);

/* `point` after `into` as one; either may have count 0. */
void curve_merge(struct curve_point *into, const struct curve_point *point);

enum curve_axis { CURVE_BY_STEP, CURVE_BY_TIME };

/* The points from `first` up to, not including, `behind`, as `columns` points of equal width on
 * that axis; where no step lies, count is 0 and ms NaN. A point that stands for many steps goes to
 * the column of its first. Returns how many columns have a step. */
size_t curve_columns(const struct curve_view *view, enum curve_axis axis, double first,
                     double behind, struct curve_point *ret_columns, size_t columns);

#endif
