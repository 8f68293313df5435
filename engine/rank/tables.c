/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/tables.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/base/attr.h"
#include "engine/wire/frame.h"
#include "engine/wire/kinds.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

struct text {
    char *at;
    size_t size, room;
    bool is_cut;
};

static void ATTR_PRINTF(2, 3) put(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text->at + text->size, text->room - text->size, format, args);
    va_end(args);
    if (size < 0 || (size_t)size >= text->room - text->size)
        text->is_cut = true;
    else
        text->size += (size_t)size;
}

static void put_string(struct text *text, const char *string) {
    put(text, "\"");
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            put(text, "\\%c", *string);
        else
            put(text, "%c", *string);
    }
    put(text, "\"");
}

static void put_field(struct text *text, const struct kind_field *field) {
    static const char *const types[] = {
        [FIELD_STRING] = "string", [FIELD_INT] = "int",       [FIELD_NUMBER] = "number",
        [FIELD_BOOL] = "bool",     [FIELD_OBJECT] = "object", [FIELD_ARRAY] = "array",
        [FIELD_CHOICE] = "choice",
    };
    put_string(text, field->name);
    put(text, ":{\"type\":\"%s\",\"unit\":", types[field->type]);
    put_string(text, field->unit);
    put(text, ",\"required\":%s}", field->required ? "true" : "false");
}

static void put_kind(struct text *text, enum event_kind kind) {
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    put_string(text, kind_name(kind));
    put(text, ":{\"since\":%d,\"fields\":{", kind_get(kind)->since);
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind != kind) continue;
        if (!is_first) put(text, ",");
        put_field(text, &fields[i]);
        is_first = false;
    }
    put(text, "}}");
}

size_t tables_print(char *ret_text, size_t room) {
    struct text text = {.at = ret_text, .room = room};
    put(&text, "{\"version\":%d,\"kinds\":{", WIRE_VERSION);
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        if (kind) put(&text, ",");
        put_kind(&text, kind);
    }
    put(&text, "},\"why\":{");
    for (unsigned bit = 0; step_why_name(bit); bit++) {
        if (bit) put(&text, ",");
        put_string(&text, step_why_name(bit));
        put(&text, ":%u", 1u << bit);
    }
    put(&text,
        "},\"valid\":{\"data\":%d,\"forward\":%d,\"backward\":%d,\"optimizer\":%d,\"own\":%d},"
        "\"frames\":{",
        STEP_HAS_DATA, STEP_HAS_FORWARD, STEP_HAS_BACKWARD, STEP_HAS_OPTIMIZER, STEP_HAS_OWN);
    bool is_first = true;
#define FRAME(symbol, id, help)                                                                    \
    put(&text, "%s\"" #symbol "\":%d", is_first ? "" : ",", id);                                   \
    is_first = false;
#include "engine/wire/frames.def"
#undef FRAME
    put(&text, "},\"event_max\":%d,\"sizes\":{\"step\":%zu,\"beat\":%zu}}", EVENT_MAX,
        sizeof(struct step_record), sizeof(struct beat_record));
    return text.is_cut ? 0 : text.size;
}
