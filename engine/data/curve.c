/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/curve.h"

#include <math.h>
#include <string.h>

#include "engine/data/shared.h"
#include "engine/base/banned.h"

enum { LEVELS_MOST = 31 };

struct chunk {
    struct shared shared;
    unsigned level; /* its points stand for 2^level steps each */
    struct curve_point points[CURVE_CHUNK];
};

/* The chunks in order, levels falling. Full ones but for the last. */
struct curve_spine {
    struct shared shared;
    size_t count, room;
    size_t used; /* points in the last one */
    struct chunk *chunks[];
};

static void spine_done(void *thing) {
    struct curve_spine *spine = thing;
    for (size_t i = 0; i < spine->count; i++) shared_unref(spine->chunks[i]);
}

static struct curve_spine *spine_new(size_t room) {
    struct curve_spine *spine =
        shared_new(sizeof *spine + room * sizeof spine->chunks[0], spine_done);
    spine->room = room;
    return spine;
}

/* One that nobody else sees, with room for one chunk more. */
static struct curve_spine *own_spine(struct curve *curve) {
    struct curve_spine *old = curve->spine;
    if (!is_shared(old) && old->count < old->room) return old;
    struct curve_spine *spine = spine_new(old->count + 8);
    for (size_t i = 0; i < old->count; i++) spine->chunks[i] = shared_ref(old->chunks[i]);
    spine->count = old->count;
    spine->used = old->used;
    shared_unref(old);
    return curve->spine = spine;
}

void curve_init(struct curve *curve, size_t chunks_each) {
    *curve = (struct curve){.spine = spine_new(8), .chunks_each = chunks_each};
}

void curve_done(struct curve *curve) {
    shared_unref(curve->spine);
    curve->spine = NULL;
}

/* ---- points ---- */

static float mean(float a, uint32_t a_count, float b, uint32_t b_count) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    double sum = (double)a * a_count + (double)b * b_count;
    return (float)(sum / ((double)a_count + b_count));
}

void curve_merge(struct curve_point *into, const struct curve_point *point) {
    if (!point->count) return;
    if (!into->count) {
        *into = *point;
        return;
    }
    if (into->clean && point->clean)
        into->ms = mean(into->ms, into->clean, point->ms, point->clean);
    else if (point->clean)
        into->ms = point->ms;
    else if (!into->clean)
        into->ms = mean(into->ms, into->count, point->ms, point->count);
    into->least = fminf(into->least, point->least); /* takes the number where the other is NaN */
    into->most = fmaxf(into->most, point->most);
    into->count += point->count;
    into->clean += point->clean;
    into->why |= point->why;
    into->variant = point->variant;
    into->t = point->t;
    if (point->step < into->step) into->step = point->step;
}

/* ---- growing ---- */

static struct chunk *merged(const struct chunk *a, const struct chunk *b) {
    struct chunk *chunk = shared_new(sizeof *chunk, NULL);
    chunk->level = a->level + 1;
    for (size_t i = 0; i < CURVE_CHUNK; i++) {
        const struct chunk *from = i < CURVE_CHUNK / 2 ? a : b;
        size_t at = 2 * i % CURVE_CHUNK;
        chunk->points[i] = from->points[at];
        curve_merge(&chunk->points[i], &from->points[at + 1]);
    }
    return chunk;
}

/* The two oldest chunks of each level that has too many become one of the next. */
static void thin(struct curve_spine *spine, size_t chunks_each) {
    size_t end = spine->count;
    while (end) {
        size_t begin = end;
        unsigned level = spine->chunks[end - 1]->level;
        while (begin && spine->chunks[begin - 1]->level == level) begin--;
        if (end - begin > chunks_each && end - begin >= 2 && level < LEVELS_MOST) {
            struct chunk *one = merged(spine->chunks[begin], spine->chunks[begin + 1]);
            shared_unref(spine->chunks[begin]);
            shared_unref(spine->chunks[begin + 1]);
            spine->chunks[begin] = one;
            memmove(spine->chunks + begin + 1, spine->chunks + begin + 2,
                    (spine->count - begin - 2) * sizeof spine->chunks[0]);
            spine->count--;
            begin++;
        }
        end = begin;
    }
}

static void add_chunk(struct curve *curve) {
    struct curve_spine *spine = own_spine(curve);
    size_t each = curve->chunks_each;
    thin(spine, each > CURVE_CHUNKS_LEAST ? each : CURVE_CHUNKS_LEAST);
    spine->chunks[spine->count++] = shared_new(sizeof(struct chunk), NULL);
    spine->used = 0;
}

/* The last chunk may be seen by views: they know how many of its points are theirs. */
void curve_add(struct curve *curve, const struct curve_point *point) {
    if (!curve->spine->count || curve->spine->used == CURVE_CHUNK) add_chunk(curve);
    struct curve_spine *spine = curve->spine;
    spine->chunks[spine->count - 1]->points[spine->used++] = *point;
}

static size_t points_of(const struct curve_spine *spine) {
    return spine && spine->count ? (spine->count - 1) * CURVE_CHUNK + spine->used : 0;
}

size_t curve_bytes(const struct curve *curve) {
    return sizeof *curve->spine + curve->spine->room * sizeof curve->spine->chunks[0] +
           curve->spine->count * sizeof(struct chunk);
}

/* ---- views ---- */

struct curve_view curve_view(const struct curve *curve) {
    return (struct curve_view){.spine = shared_ref(curve->spine), .count = points_of(curve->spine)};
}

struct curve_view curve_view_ref(const struct curve_view *view) {
    return (struct curve_view){.spine = shared_ref(view->spine), .count = view->count};
}

void curve_view_done(struct curve_view *view) {
    shared_unref(view->spine);
    *view = (struct curve_view){0};
}

const struct curve_point *curve_point(const struct curve_view *view, size_t i) {
    return &view->spine->chunks[i / CURVE_CHUNK]->points[i % CURVE_CHUNK];
}

static double place(const struct curve_point *point, enum curve_axis axis) {
    return axis == CURVE_BY_STEP ? (double)point->step : (double)point->t;
}

/* The first point that is not before `at`. */
static size_t find(const struct curve_view *view, enum curve_axis axis, double at) {
    size_t low = 0, high = view->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place(curve_point(view, middle), axis) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t curve_columns(const struct curve_view *view, enum curve_axis axis, double first,
                     double behind, struct curve_point *ret_columns, size_t columns) {
    for (size_t i = 0; i < columns; i++)
        ret_columns[i] = (struct curve_point){.ms = NAN, .least = NAN, .most = NAN};
    size_t filled = 0;
    if (!(behind > first)) return 0;
    for (size_t i = find(view, axis, first); i < view->count; i++) {
        const struct curve_point *point = curve_point(view, i);
        double at = place(point, axis);
        if (!(at < behind)) break;
        size_t column = (size_t)((at - first) / (behind - first) * (double)columns);
        if (column >= columns) column = columns - 1;
        filled += !ret_columns[column].count;
        curve_merge(&ret_columns[column], point);
    }
    return filled;
}
