/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/spans.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/banned.h"

void spans_init(struct spans *spans) {
    *spans = (struct spans){0};
}

void spans_done(struct spans *spans) {
    free(spans->list);
    spans_init(spans);
}

/* Puts one span in the place of those from `first` up to `behind`. */
static void replace(struct spans *spans, size_t first, size_t behind, struct span span) {
    if (first == behind && spans->count == spans->room) {
        spans->room = spans->room ? 2 * spans->room : 8;
        spans->list = mem_resize(spans->list, spans->room, sizeof spans->list[0]);
    }
    memmove(spans->list + first + 1, spans->list + behind, (spans->count - behind) * sizeof span);
    spans->count = spans->count + 1 - (behind - first);
    spans->list[first] = span;
}

void spans_add(struct spans *spans, double begin, double end) {
    if (!(end >= begin)) return;
    size_t behind = spans->count;
    while (behind && spans->list[behind - 1].begin > end) behind--;
    size_t first = behind;
    while (first && spans->list[first - 1].end >= begin) {
        first--;
        if (spans->list[first].begin < begin) begin = spans->list[first].begin;
        if (spans->list[first].end > end) end = spans->list[first].end;
    }
    replace(spans, first, behind, (struct span){begin, end});
}

double spans_total(const struct spans *spans) {
    double total = 0;
    for (size_t i = 0; i < spans->count; i++) total += spans->list[i].end - spans->list[i].begin;
    return total;
}
