/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

enum { NEAR_MAX = 64 };

bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool has_suffix(const char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

static size_t least(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edit distance of two short texts; longer ones are far apart. */
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[NEAR_MAX + 1];
    if (n > NEAR_MAX || m > NEAR_MAX) return NEAR_MAX;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t up = row[j];
            size_t same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]) ? 0 : 1;
            row[j] = least(up + 1, row[j - 1] + 1, corner + same);
            corner = up;
        }
    }
    return row[m];
}

const char *str_nearest(const char *text, const char *const *names, size_t count) {
    const char *best = NULL;
    size_t best_distance = strlen(text) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(text, names[i]);
        if (d < best_distance) best = names[i], best_distance = d;
    }
    return best;
}

bool str_to_u64(const char *text, uint64_t *ret_value) {
    if (!isdigit((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end) return false;
    *ret_value = value;
    return true;
}

uint32_t str_hash(const char *bytes, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}
