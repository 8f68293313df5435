/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/banned.h"

enum { NUMBER_SIZE = 32 };

/* Lends the text; a number is printed into `room`. NULL for what is left out. */
static const char *text_of(const json_t *value, char room[NUMBER_SIZE]) {
    if (json_is_string(value)) return json_string_value(value);
    if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
    if (!json_is_number(value)) return NULL;
    if (json_is_integer(value))
        snprintf(room, NUMBER_SIZE, "%lld", (long long)json_integer_value(value));
    else
        snprintf(room, NUMBER_SIZE, "%.6g", json_real_value(value));
    return room;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const struct snapshot_pair *)a)->key, ((const struct snapshot_pair *)b)->key);
}

static const char *copy(char **place, const char *text) {
    size_t size = strlen(text) + 1;
    char *begin = memcpy(*place, text, size);
    *place += size;
    return begin;
}

struct snapshot_pairs *pairs_new(const json_t *object) {
    if (!json_is_object(object)) return NULL;
    char room[NUMBER_SIZE];
    size_t count = 0, size = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const char *text = text_of(value, room);
        if (!text) continue;
        size += strlen(key) + strlen(text) + 2;
        count++;
    }
    struct snapshot_pairs *pairs =
        shared_new(sizeof *pairs + count * sizeof pairs->pairs[0] + size, NULL);
    char *place = (char *)&pairs->pairs[count];
    json_object_foreach((json_t *)object, key, value) {
        const char *text = text_of(value, room);
        if (!text) continue;
        struct snapshot_pair *pair = &pairs->pairs[pairs->count++];
        pair->key = copy(&place, key);
        pair->value = copy(&place, text);
    }
    if (pairs->count > 1) qsort(pairs->pairs, pairs->count, sizeof pairs->pairs[0], compare);
    return pairs;
}
