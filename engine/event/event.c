/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/event/event.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

/* Kinds that mean nothing without the common fields. */
static const struct {
    enum event_kind kind;
    bool rank, step;
} needs[] = {
    {EVENT_RANK, true, false},    {EVENT_UNIT, true, false},  {EVENT_STEP, true, true},
    {EVENT_COMPILE, true, false}, {EVENT_BREAK, true, false}, {EVENT_SPEEDUP, true, false},
    {EVENT_COLLECTIVE, false, true}, {EVENT_COMPILERS, true, false},
};

void event_init(struct event *event) {
    *event = (struct event)EVENT_INIT;
    event->body = json_object();
}

void event_done(struct event *event) {
    json_decref(event->body);
    *event = (struct event)EVENT_INIT;
}

/* jansson itself stops at 2048 levels only, and counts none of them for us. */
static bool is_too_deep(const char *bytes, size_t size) {
    bool in_text = false;
    int depth = 0;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (in_text) {
            if (c == '\\') i++;
            if (c == '"') in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            if (++depth > EVENT_DEPTH_MAX) return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

/* The bytes of `text` up to `most`, without half a character at the end. */
static size_t cut_at(const char *text, size_t size, size_t most) {
    if (size <= most) return size;
    size_t end = most;
    while (end && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    return end;
}

/* A shorter text to put in the place of `value`, or NULL when it may stay. Looks into arrays and
 * objects. */
static json_t *shortened(json_t *value, bool *ret_cut);

static void shorten_members(json_t *object, bool *ret_cut) {
    const char *key;
    json_t *member, *shorter;
    size_t i;
    if (json_is_array(object)) {
        json_array_foreach(object, i, member) {
            if ((shorter = shortened(member, ret_cut))) json_array_set_new(object, i, shorter);
        }
        return;
    }
    json_object_foreach(object, key, member) {
        if ((shorter = shortened(member, ret_cut))) json_object_set_new(object, key, shorter);
    }
}

static json_t *shortened(json_t *value, bool *ret_cut) {
    if (json_is_array(value) || json_is_object(value)) shorten_members(value, ret_cut);
    size_t size = json_string_length(value);
    if (size <= EVENT_TEXT_MAX) return NULL;
    *ret_cut = true;
    const char *text = json_string_value(value);
    return json_stringn_nocheck(text, cut_at(text, size, EVENT_TEXT_MAX));
}

static void bound_texts(json_t *body) {
    bool cut = false;
    shorten_members(body, &cut);
    if (cut) json_object_set_new(body, "cut", json_true());
}

static int take_version(json_t *body, struct err *err) {
    json_t *version = json_object_get(body, "v");
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        return err_set(err, ERR_INVALID, "event without a version 'v'");
    json_object_del(body, "v");
    return 0;
}

static int take_kind(json_t *body, struct event *event, struct err *err) {
    const char *name = json_string_value(json_object_get(body, "kind"));
    if (!name) return err_set(err, ERR_INVALID, "event without a 'kind'");
    int kind = kind_find(name);
    event->kind = kind < 0 ? EVENT_KIND_COUNT : (enum event_kind)kind;
    if (kind >= 0) json_object_del(body, "kind");
    return 0;
}

static int take_time(json_t *body, uint64_t start_ns, struct event *event, struct err *err) {
    json_t *ns = json_object_get(body, "ns"), *t = json_object_get(body, "t");
    if (json_is_integer(ns))
        event->t = (double)((int64_t)json_integer_value(ns) - (int64_t)start_ns) / 1e9;
    else if (!ns && json_is_number(t))
        event->t = json_number_value(t);
    else
        return err_set(err, ERR_INVALID, "event without a time 'ns' or 't'");
    json_object_del(body, "ns");
    json_object_del(body, "t");
    return 0;
}

/* A common whole number from 0 to `most`; true in `ret_has` when it is there. */
static int take_count(json_t *body, const char *name, json_int_t most, bool *ret_has,
                      json_int_t *ret_value, struct err *err) {
    json_t *value = json_object_get(body, name);
    if (!value || json_is_null(value)) {
        json_object_del(body, name);
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > most)
        return err_set(err, ERR_INVALID, "event field '%s' is no count", name);
    *ret_value = json_integer_value(value);
    *ret_has = true;
    json_object_del(body, name);
    return 0;
}

static int take_common(json_t *body, uint64_t start_ns, struct event *event, struct err *err) {
    json_int_t rank = 0, step = 0;
    int r = take_version(body, err);
    if (r == 0) r = take_kind(body, event, err);
    if (r == 0) r = take_time(body, start_ns, event, err);
    if (r == 0) r = take_count(body, "rank", INT_MAX, &event->has_rank, &rank, err);
    if (r == 0) r = take_count(body, "step", INT64_MAX, &event->has_step, &step, err);
    event->rank = (int)rank;
    event->step = (uint64_t)step;
    return r;
}

static bool is_choice(const char *choices, const char *text) {
    size_t size = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, text, size) == 0 && (at[size] == '|' || at[size] == 0)) return size > 0;
    return false;
}

static bool has_type(const json_t *value, const struct kind_field *field) {
    switch (field->type) {
    case FIELD_STRING: return json_is_string(value);
    case FIELD_INT: return json_is_integer(value);
    case FIELD_NUMBER: return json_is_number(value);
    case FIELD_BOOL: return json_is_boolean(value);
    case FIELD_OBJECT: return json_is_object(value);
    case FIELD_ARRAY: return json_is_array(value);
    case FIELD_CHOICE:
        return json_is_string(value) && is_choice(field->unit, json_string_value(value));
    }
    return false;
}

static const char *type_text(enum field_type type) {
    static const char *const texts[] = {
        [FIELD_STRING] = "text",        [FIELD_INT] = "a whole number", [FIELD_NUMBER] = "a number",
        [FIELD_BOOL] = "true or false", [FIELD_OBJECT] = "an object",   [FIELD_ARRAY] = "an array",
        [FIELD_CHOICE] = "one of",
    };
    return texts[type];
}

static int check_field(const struct event *event, const struct kind_field *field, struct err *err) {
    const json_t *value = json_object_get(event->body, field->name);
    const char *kind = kind_name(event->kind);
    if (!value && !field->required) return 0;
    if (!value)
        return err_set(err, ERR_MISSING, "event '%s' without the field '%s'", kind, field->name);
    if (has_type(value, field)) return 0;
    bool choice = field->type == FIELD_CHOICE;
    return err_set(err, ERR_INVALID, "event '%s': field '%s' is not %s%s%s", kind, field->name,
                   type_text(field->type), choice ? " " : "", choice ? field->unit : "");
}

static int check_needs(const struct event *event, struct err *err) {
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
        if (needs[i].kind != event->kind) continue;
        if ((needs[i].rank && !event->has_rank) || (needs[i].step && !event->has_step))
            return err_set(err, ERR_MISSING, "event '%s' without the field '%s'",
                           kind_name(event->kind), event->has_rank ? "step" : "rank");
    }
    return 0;
}

static bool is_known(enum event_kind kind, const char *name) {
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    if (strcmp(name, "cut") == 0 || strcmp(name, "tag") == 0) return true;
    for (size_t i = 0; i < count; i++)
        if (fields[i].kind == kind && strcmp(fields[i].name, name) == 0) return true;
    return false;
}

int event_check(const struct event *event, struct err *err) {
    if (event->kind == EVENT_KIND_COUNT) return 1;
    int r = check_needs(event, err);
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    for (size_t i = 0; r == 0 && i < count; i++)
        if (fields[i].kind == event->kind) r = check_field(event, &fields[i], err);
    if (r < 0) return r;
    int unknown = 0;
    const char *name;
    json_t *value;
    json_object_foreach(event->body, name, value) unknown += is_known(event->kind, name) ? 0 : 1;
    return unknown;
}

/* Optional fields only: a required one stays, so that the check can name it. */
static void drop_nulls(const struct event *event) {
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (fields[i].kind == event->kind && !fields[i].required &&
            json_is_null(json_object_get(event->body, fields[i].name)))
            json_object_del(event->body, fields[i].name);
}

int event_parse(const char *bytes, size_t size, uint64_t start_ns, struct event *ret,
                struct err *err) {
    if (size > EVENT_LINE_MAX)
        return err_set(err, ERR_LIMIT, "event of %zu bytes is too long", size);
    if (is_too_deep(bytes, size)) return err_set(err, ERR_LIMIT, "event nests too deep");
    json_error_t at;
    struct event event = EVENT_INIT;
    event.body = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &at);
    if (!event.body)
        return err_set(err, ERR_SYNTAX, "event is no JSON: byte %d: %s", at.position, at.text);
    int r = 0;
    if (!json_is_object(event.body)) r = err_set(err, ERR_SYNTAX, "event is no JSON object");
    if (r == 0) r = take_common(event.body, start_ns, &event, err);
    if (r == 0) {
        drop_nulls(&event);
        r = event_check(&event, err);
    }
    if (r < 0) {
        event_done(&event);
        return r;
    }
    bound_texts(event.body);
    *ret = event;
    return r;
}

static int add_bytes(const char *bytes, size_t size, void *buf) {
    buf_add(buf, bytes, size);
    return 0;
}

void event_print(const struct event *event, struct buf *buf) {
    json_t *line = json_object();
    json_object_set_new(line, "v", json_integer(WIRE_VERSION));
    if (event->kind != EVENT_KIND_COUNT)
        json_object_set_new(line, "kind", json_string(kind_name(event->kind)));
    json_object_set_new(line, "t", json_real(event->t));
    if (event->has_rank) json_object_set_new(line, "rank", json_integer(event->rank));
    if (event->has_step) json_object_set_new(line, "step", json_integer((json_int_t)event->step));
    json_object_update_missing(line, event->body);
    json_dump_callback(line, add_bytes, buf, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(line);
}

struct event event_make(enum event_kind kind, double t, const char *format, ...) {
    struct event event = {.kind = kind, .t = t};
    json_error_t at;
    va_list args;
    va_start(args, format);
    event.body = json_vpack_ex(&at, 0, format, args);
    va_end(args);
    assert(json_is_object(event.body));
    if (!json_is_object(event.body)) {
        json_decref(event.body);
        event.body = json_object();
    }
    bound_texts(event.body);
    return event;
}

void event_set_rank(struct event *event, int rank) {
    event->has_rank = true;
    event->rank = rank;
}

void event_set_step(struct event *event, uint64_t step) {
    event->has_step = true;
    event->step = step;
}

/* Bytes of the character at `text`, 0 when it is none. */
static size_t character(const char *text) {
    unsigned char c = (unsigned char)text[0];
    size_t size = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
    for (size_t i = 1; i < size; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
    unsigned char next = size > 1 ? (unsigned char)text[1] : 0;
    if (c > 0xf4 || (c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f)) return 0;
    if ((c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f)) return 0;
    return size;
}

json_t *event_string(const char *text) {
    if (!text) text = "";
    char *clean = mem_strndup(text, EVENT_TEXT_MAX + 4);
    for (size_t i = 0; clean[i];) {
        size_t size = character(clean + i);
        if (!size) clean[i] = '?';
        i += size ? size : 1;
    }
    size_t size = strlen(clean);
    json_t *value = json_stringn(clean, cut_at(clean, size, EVENT_TEXT_MAX));
    free(clean);
    return value ? value : json_string("");
}

const char *event_text(const struct event *event, const char *field) {
    return json_string_value(json_object_get(event->body, field));
}

bool event_int(const struct event *event, const char *field, int64_t *ret_value) {
    const json_t *value = json_object_get(event->body, field);
    if (!json_is_integer(value)) return false;
    *ret_value = (int64_t)json_integer_value(value);
    return true;
}

bool event_number(const struct event *event, const char *field, double *ret_value) {
    const json_t *value = json_object_get(event->body, field);
    if (!json_is_number(value)) return false;
    *ret_value = json_number_value(value);
    return true;
}

bool event_is_true(const struct event *event, const char *field) {
    return json_is_true(json_object_get(event->body, field));
}
