/* The event kinds and their fields as data: one table for encoding, checking, docs and the schema. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_KINDS_H
#define INDUCTOP_WIRE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

enum event_kind {
#define KIND(symbol, name, since, rate, help) EVENT_##symbol,
#define FIELD(kind, name, type, unit, required, help)
#include "engine/wire/kinds.def"
#undef KIND
#undef FIELD
    EVENT_KIND_COUNT
};

enum kind_rate { RATE_RARE, RATE_SAMPLE, RATE_STEP };
enum field_type { FIELD_STRING, FIELD_INT, FIELD_NUMBER, FIELD_BOOL, FIELD_OBJECT, FIELD_ARRAY, FIELD_CHOICE };

struct kind {
    const char *name;
    int since; /* wire version */
    enum kind_rate rate;
    const char *help;
};

struct kind_field {
    enum event_kind kind;
    const char *name;
    enum field_type type;
    const char *unit; /* of a choice: the values, separated by '|' */
    bool required;
    const char *help;
};

const struct kind *kind_get(enum event_kind kind);
const char *kind_name(enum event_kind kind);

/* -1 when no kind has this name. */
int kind_find(const char *name);

/* All fields of all kinds, in the order of kinds.def. */
const struct kind_field *kind_fields(size_t *ret_count);

/* Names of the bits of step_record.why: the i-th bit's, NULL behind the last. */
const char *step_why_name(unsigned bit);

#endif
