/* Spans of time that may lie in and over one another, and the time that they cover together: what
 * lies in two of them counts once. A compilation that starts another one is thus not counted twice.
 * The holder owns it; all zero is an empty one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SPANS_H
#define INDUCTOP_DATA_SPANS_H

#include <stddef.h>

struct span {
    double begin, end; /* seconds */
};

struct spans {
    struct span *list; /* apart from one another, in order */
    size_t count, room;
};

void spans_init(struct spans *spans);
void spans_done(struct spans *spans);

/* In any order; quick when it comes in the order of the ends. A span that ends before it begins is
 * left out. */
void spans_add(struct spans *spans, double begin, double end);

/* Seconds that lie in at least one span. */
double spans_total(const struct spans *spans);

#endif
