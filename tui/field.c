/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/field.h"

#include <stdio.h>
#include <string.h>

#include "tui/utf8.h"
#include "engine/base/banned.h"

static void insert(struct field *field, const char *bytes, size_t size) {
    if (field->size + size >= FIELD_SIZE) return;
    memmove(field->text + field->at + size, field->text + field->at, field->size - field->at + 1);
    memcpy(field->text + field->at, bytes, size);
    field->size += size;
    field->at += size;
}

static void cut(struct field *field, size_t from, size_t to) {
    memmove(field->text + from, field->text + to, field->size - to + 1);
    field->size -= to - from;
    field->at = from;
}

/* Only what is drawn as itself: no controls, no halves of characters. */
static void insert_text(struct field *field, const char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        uint32_t point;
        char bytes[4];
        i += utf8_read(text + i, size - i, &point);
        if (point >= ' ' && point != 0x7F && utf8_drawn(point) == point)
            insert(field, bytes, utf8_write(bytes, point));
    }
}

void field_set(struct field *field, const char *text) {
    *field = (struct field){.text = ""};
    insert_text(field, text, strlen(text));
}

int field_columns(const struct field *field) {
    char text[FIELD_SIZE];
    snprintf(text, sizeof text, "%.*s", (int)field->at, field->text);
    return utf8_columns(text);
}

bool field_take(struct field *field, const struct key *key) {
    if (key->kind == KEY_KIND_PASTE) {
        insert_text(field, key->bytes, key->size);
        return true;
    }
    if (key->kind != KEY_KIND_CHARACTER || (key->modifiers & (KEY_CTRL | KEY_ALT))) return false;
    char bytes[4];
    insert_text(field, bytes, utf8_write(bytes, (uint32_t)key->code));
    return true;
}

static size_t before(const struct field *field) {
    size_t at = field->at;
    while (at > 0 && (field->text[--at] & 0xC0) == 0x80) {
    }
    return at;
}

static size_t behind(const struct field *field) {
    size_t at = field->at;
    if (at < field->size) at++;
    while (at < field->size && (field->text[at] & 0xC0) == 0x80) at++;
    return at;
}

size_t field_word(const struct field *field, const char *breaks, size_t *ret_at) {
    size_t at = field->at;
    while (at > 0 && !strchr(breaks, field->text[at - 1])) at--;
    *ret_at = at;
    return field->at - at;
}

void field_replace(struct field *field, size_t at, const char *text) {
    cut(field, at, field->at);
    insert_text(field, text, strlen(text));
}

static void erase_word(struct field *field) {
    size_t at = field->at;
    while (at > 0 && field->text[at - 1] == ' ') at--;
    while (at > 0 && field->text[at - 1] != ' ') at--;
    cut(field, at, field->at);
}

bool field_edit(struct field *field, enum action_id action) {
    switch (action) {
    case ACTION_LEFT: field->at = before(field); return true;
    case ACTION_RIGHT: field->at = behind(field); return true;
    case ACTION_HOME: field->at = 0; return true;
    case ACTION_END: field->at = field->size; return true;
    case ACTION_ERASE: cut(field, before(field), field->at); return true;
    case ACTION_DELETE: cut(field, field->at, behind(field)); return true;
    case ACTION_ERASE_WORD: erase_word(field); return true;
    case ACTION_ERASE_ALL: cut(field, 0, field->size); return true;
    default: return false;
    }
}
