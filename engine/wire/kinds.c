/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wire/kinds.h"

#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

static const struct kind kinds[EVENT_KIND_COUNT] = {
#define KIND(symbol, name, since, rate, help) [EVENT_##symbol] = {name, since, RATE_##rate, help},
#define FIELD(kind, name, type, unit, required, help)
#include "engine/wire/kinds.def"
#undef KIND
#undef FIELD
};

static const struct kind_field fields[] = {
#define KIND(symbol, name, since, rate, help)
#define FIELD(kind, name, type, unit, required, help) {EVENT_##kind, name, FIELD_##type, unit, required, help},
#include "engine/wire/kinds.def"
#undef KIND
#undef FIELD
};

static const char *const why_names[] = {
#define WHY(symbol, bit, name, text) [bit] = name,
#include "engine/wire/why.def"
#undef WHY
};

const struct kind *kind_get(enum event_kind kind) {
    return &kinds[kind];
}

const char *kind_name(enum event_kind kind) {
    return kinds[kind].name;
}

int kind_find(const char *name) {
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0) return i;
    return -1;
}

const struct kind_field *kind_fields(size_t *ret_count) {
    *ret_count = ARRAY_SIZE(fields);
    return fields;
}

const char *step_why_name(unsigned bit) {
    return bit < ARRAY_SIZE(why_names) ? why_names[bit] : NULL;
}
