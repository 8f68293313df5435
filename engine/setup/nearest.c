/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/nearest.h"

#include <ctype.h>
#include <string.h>

#include "engine/base/buf.h"

#include "engine/base/banned.h"

enum { NEAR_LENGTH_MAX = 64, FAR = 1000, SLIP_DISTANCE = 2, SLIP_LENGTH = 5 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static int letter(const char *text, size_t i) {
    return tolower((unsigned char)text[i]);
}

static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > NEAR_LENGTH_MAX || m > NEAR_LENGTH_MAX) return FAR;
    size_t rows[3][NEAR_LENGTH_MAX + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t other = letter(a, i - 1) != letter(b, j - 1);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + other);
            if (i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) &&
                letter(a, i - 2) == letter(b, j - 1))
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

size_t nearest_find(const char *text, const char *const *names, size_t count,
                    size_t ret_places[NEAREST_MAX]) {
    size_t found = 0, distances[NEAREST_MAX + 1], places[NEAREST_MAX + 1];
    size_t near = strlen(text) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(text, names[i]), at = found;
        if (d >= near) continue;
        for (; at > 0 && distances[at - 1] > d; at--) {
            distances[at] = distances[at - 1];
            places[at] = places[at - 1];
        }
        distances[at] = d;
        places[at] = i;
        found = least(found + 1, NEAREST_MAX);
    }
    while (found > 1 && distances[found - 1] > distances[0] + 1) found--;
    memcpy(ret_places, places, found * sizeof places[0]);
    return found;
}

void nearest_hint(struct err *err, const char *text, const char *const *names, size_t count) {
    size_t places[NEAREST_MAX];
    size_t found = nearest_find(text, names, count, places);
    if (!found) return;
    CLEANUP(buf_done) struct buf hint = BUF_INIT;
    for (size_t i = 0; i < found; i++)
        buf_printf(&hint, "%s'%s'",
                   i == 0          ? "Did you mean "
                   : i + 1 < found ? ", "
                                   : " or ",
                   names[places[i]]);
    err_hint(err, "%s?", buf_text(&hint));
}

bool is_slip_of(const char *text, const char *const *names, size_t count) {
    const char *best = NULL;
    size_t best_distance = SLIP_DISTANCE + 1;
    if (strlen(text) < SLIP_LENGTH) return false;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(text, names[i]);
        if (d < best_distance) best = names[i], best_distance = d;
    }
    return best && best_distance > 0 && !strstr(text, best);
}
