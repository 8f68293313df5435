/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termkey.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/sequence.h"
#include "engine/base/banned.h"

enum { PASTE_END_SIZE = 6 };

static const char paste_end[] = "\033[201~";

struct keys {
    TermKey *termkey;
    keys_call *call;
    void *context;
    struct sequence sequence; /* that has not come whole */
    uint64_t since_ns;        /* when the last byte came */
    uint64_t escaped_ns;      /* when an ESC was given out for want of more; 0: a key since */
    bool is_late;             /* the sequence goes on behind such an ESC */
    bool is_pasting;
    size_t matched; /* bytes of paste_end that have come */
    struct buf paste;
    bool is_paste_cut;
};

/* ---- life ---- */

/* The mouse in terminfo is the start of newer reports, which libtermkey would read as old ones. */
static const char *without_mouse(const char *name, const char *value, ATTR_UNUSED void *context) {
    return strcmp(name, "key_mouse") ? value : NULL;
}

static TermKey *make(const char *term) {
    int flags = TERMKEY_FLAG_UTF8 | TERMKEY_FLAG_NOTERMIOS | TERMKEY_FLAG_CTRLC |
                TERMKEY_FLAG_CONVERTKP | TERMKEY_FLAG_NOSTART;
    TermKey *termkey = term ? termkey_new_abstract(term, flags) : NULL;
    if (!termkey) termkey = termkey_new_abstract("xterm", flags);
    if (!termkey) return NULL;
    termkey_hook_terminfo_getstr(termkey, without_mouse, NULL);
    termkey_set_canonflags(termkey, TERMKEY_CANON_DELBS);
    if (termkey_start(termkey)) return termkey;
    termkey_destroy(termkey);
    return NULL;
}

int keys_new(const char *term, keys_call *call, void *context, struct keys **ret_keys,
             struct err *err) {
    TermKey *termkey = make(term);
    if (!termkey)
        return err_set(
            err, ERR_MISSING,
            "could not set up keys for terminal '%s': libtermkey has no description of it",
            term ? term : "");
    struct keys *keys = mem_new(sizeof *keys);
    keys->termkey = termkey;
    keys->call = call;
    keys->context = context;
    *ret_keys = keys;
    return 0;
}

struct keys *keys_free(struct keys *keys) {
    if (!keys) return NULL;
    termkey_destroy(keys->termkey);
    buf_done(&keys->paste);
    free(keys);
    return NULL;
}

/* ---- from libtermkey's keys to ours ---- */

static const struct {
    TermKeySym theirs;
    enum key_symbol ours;
} symbols[] = {
    {TERMKEY_SYM_ENTER, KEY_SYMBOL_ENTER},
    {TERMKEY_SYM_KPENTER, KEY_SYMBOL_ENTER},
    {TERMKEY_SYM_TAB, KEY_SYMBOL_TAB},
    {TERMKEY_SYM_ESCAPE, KEY_SYMBOL_ESCAPE},
    {TERMKEY_SYM_BACKSPACE, KEY_SYMBOL_BACKSPACE},
    {TERMKEY_SYM_DEL, KEY_SYMBOL_BACKSPACE},
    {TERMKEY_SYM_UP, KEY_SYMBOL_UP},
    {TERMKEY_SYM_DOWN, KEY_SYMBOL_DOWN},
    {TERMKEY_SYM_LEFT, KEY_SYMBOL_LEFT},
    {TERMKEY_SYM_RIGHT, KEY_SYMBOL_RIGHT},
    {TERMKEY_SYM_HOME, KEY_SYMBOL_HOME},
    {TERMKEY_SYM_FIND, KEY_SYMBOL_HOME},
    {TERMKEY_SYM_END, KEY_SYMBOL_END},
    {TERMKEY_SYM_SELECT, KEY_SYMBOL_END},
    {TERMKEY_SYM_PAGEUP, KEY_SYMBOL_PAGE_UP},
    {TERMKEY_SYM_PAGEDOWN, KEY_SYMBOL_PAGE_DOWN},
    {TERMKEY_SYM_INSERT, KEY_SYMBOL_INSERT},
    {TERMKEY_SYM_DELETE, KEY_SYMBOL_DELETE},
};

static bool from_symbol(TermKeySym symbol, struct key *key) {
    key->kind = KEY_KIND_SYMBOL;
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
        if (symbols[i].theirs == symbol) return key->code = (int)symbols[i].ours, true;
    key->kind = KEY_KIND_CHARACTER;
    key->code = ' ';
    return symbol == TERMKEY_SYM_SPACE;
}

/* Shift is in the letter already; ^J is what Enter sends when something turns returns into line
 * feeds. */
static bool from_character(long point, struct key *key) {
    key->kind = KEY_KIND_CHARACTER;
    key->code = (int)point;
    key->modifiers &= ~(unsigned)KEY_SHIFT;
    if (key->modifiers & KEY_CTRL && point >= 'A' && point <= 'Z')
        key->code = (int)point - 'A' + 'a';
    if (key->code == 'j' && key->modifiers == KEY_CTRL)
        *key = (struct key){.kind = KEY_KIND_SYMBOL, .code = KEY_SYMBOL_ENTER};
    return point >= 0x20 && point != 0x7F;
}

static bool from_mouse(struct keys *keys, const TermKeyKey *theirs, struct key *key) {
    TermKeyMouseEvent event;
    int line, column;
    if (termkey_interpret_mouse(keys->termkey, theirs, &event, &key->button, &line, &column) !=
        TERMKEY_RES_KEY)
        return false;
    key->kind = KEY_KIND_MOUSE;
    key->x = column - 1;
    key->y = line - 1;
    if (key->x < 0 || key->y < 0) return false;
    bool is_wheel = key->button == 4 || key->button == 5;
    if (is_wheel)
        key->code = key->button == 4 ? KEY_MOUSE_WHEEL_UP : KEY_MOUSE_WHEEL_DOWN;
    else if (event == TERMKEY_MOUSE_PRESS)
        key->code = KEY_MOUSE_PRESS;
    else if (event == TERMKEY_MOUSE_DRAG)
        key->code = KEY_MOUSE_DRAG;
    else
        key->code = KEY_MOUSE_RELEASE;
    return event != TERMKEY_MOUSE_UNKNOWN && (!is_wheel || event == TERMKEY_MOUSE_PRESS);
}

/* Answers to our questions. libtermkey folds the number of a mode into signed bytes and loses 2026
 * on the way. */
static bool from_answer(struct keys *keys, struct key *key) {
    char text[SEQUENCE_SIZE + 1] = "", end = 0;
    int first, second;
    memcpy(text, keys->sequence.bytes, keys->sequence.size);
    bool is_read = sscanf(text, "\033[?%d;%d%c", &first, &second, &end) == 3;
    if (is_read && end == 'R')
        *key = (struct key){.kind = KEY_KIND_POSITION, .x = second - 1, .y = first - 1};
    else if (is_read)
        *key = (struct key){.kind = KEY_KIND_MODE, .code = first, .value = second};
    return is_read;
}

static bool convert(struct keys *keys, const TermKeyKey *theirs, struct key *key) {
    *key =
        (struct key){.modifiers = (unsigned)theirs->modifiers & (KEY_SHIFT | KEY_ALT | KEY_CTRL)};
    switch (theirs->type) {
    case TERMKEY_TYPE_UNICODE: return from_character(theirs->code.codepoint, key);
    case TERMKEY_TYPE_FUNCTION:
        key->kind = KEY_KIND_FUNCTION;
        key->code = theirs->code.number;
        return key->code > 0;
    case TERMKEY_TYPE_KEYSYM: return from_symbol(theirs->code.sym, key);
    case TERMKEY_TYPE_MOUSE: return from_mouse(keys, theirs, key);
    case TERMKEY_TYPE_POSITION:
    case TERMKEY_TYPE_MODEREPORT: return from_answer(keys, key);
    default: return false;
    }
}

/* ---- feeding ---- */

static void decode(struct keys *keys) {
    TermKeyKey theirs;
    struct key key;
    termkey_push_bytes(keys->termkey, keys->sequence.bytes, keys->sequence.size);
    while (termkey_getkey_force(keys->termkey, &theirs) == TERMKEY_RES_KEY)
        if (convert(keys, &theirs, &key)) keys->call(keys->context, &key);
}

static void begin_paste(struct keys *keys) {
    keys->is_pasting = true;
    keys->matched = 0;
    keys->is_paste_cut = false;
    buf_clear(&keys->paste);
}

static void take(struct keys *keys, enum sequence_step step) {
    if (step == SEQUENCE_MORE) return;
    if (step == SEQUENCE_WHOLE) decode(keys);
    if (step == SEQUENCE_PASTE) begin_paste(keys);
    keys->sequence = (struct sequence){.size = 0};
    keys->is_late = false;
}

/* No more comes. Behind an ESC that was given out, `[` by itself is what was typed, not Alt-[. */
static void cut(struct keys *keys) {
    struct sequence *sequence = &keys->sequence;
    enum sequence_step step = sequence_end(sequence);
    if (keys->is_late && sequence->size == 2)
        *sequence = (struct sequence){.bytes = {sequence->bytes[1]}, .size = 1};
    take(keys, step);
}

/* Is this the second byte of a key whose ESC came then? */
static bool is_rest(char byte, uint64_t escape_ns, uint64_t now_ns) {
    return (byte == '[' || byte == 'O') && now_ns - escape_ns < KEYS_LATE_NS;
}

/* On a slow line the rest of a key comes when its ESC was given out already: it must not become
 * keys of its own, `A` above all. */
static void resume(struct keys *keys, char byte, uint64_t now_ns) {
    bool is_late = keys->escaped_ns && is_rest(byte, keys->escaped_ns, now_ns);
    keys->escaped_ns = 0;
    if (!is_late) return;
    keys->is_late = true;
    sequence_add(&keys->sequence, '\033');
}

static void key_byte(struct keys *keys, char byte, uint64_t now_ns) {
    bool was_string = is_in_string(&keys->sequence);
    if (is_cut_by(&keys->sequence, byte)) cut(keys);
    resume(keys, byte, now_ns);
    if (was_string && byte == '\033') keys->sequence.is_after_string = true;
    take(keys, sequence_add(&keys->sequence, byte));
}

static void end_paste(struct keys *keys) {
    struct key key = {.kind = KEY_KIND_PASTE,
                      .bytes = buf_text(&keys->paste),
                      .size = keys->paste.size,
                      .is_cut = keys->is_paste_cut};
    keys->is_pasting = false;
    keys->call(keys->context, &key);
    buf_done(&keys->paste);
}

static void keep(struct keys *keys, const char *bytes, size_t size) {
    if (keys->paste.size + size > KEYS_PASTE_MAX)
        keys->is_paste_cut = true;
    else
        buf_add(&keys->paste, bytes, size);
}

static void paste_byte(struct keys *keys, char byte) {
    if (byte == paste_end[keys->matched]) {
        if (++keys->matched == PASTE_END_SIZE) end_paste(keys);
        return;
    }
    keep(keys, paste_end, keys->matched);
    keys->matched = byte == paste_end[0];
    if (!keys->matched) keep(keys, &byte, 1);
}

void keys_feed(struct keys *keys, const char *bytes, size_t size, uint64_t now_ns) {
    /* Nobody looked meanwhile: the rest of a key may have been there for long. */
    bool is_one_key = size > 0 && !keys->is_pasting && is_lone_escape(&keys->sequence) &&
                      is_rest(bytes[0], keys->since_ns, now_ns);
    if (!is_one_key) keys_tick(keys, now_ns);
    for (size_t i = 0; i < size; i++) {
        if (keys->is_pasting)
            paste_byte(keys, bytes[i]);
        else
            key_byte(keys, bytes[i], now_ns);
    }
    if (size > 0) keys->since_ns = now_ns;
}

/* ---- time ---- */

uint64_t keys_deadline_ns(const struct keys *keys) {
    if (keys->is_pasting) return keys->since_ns + KEYS_PASTE_NS;
    if (keys->sequence.size == 0) return 0;
    return keys->since_ns + (is_lone_escape(&keys->sequence) ? KEYS_ESCAPE_NS : KEYS_CUT_NS);
}

void keys_tick(struct keys *keys, uint64_t now_ns) {
    uint64_t deadline = keys_deadline_ns(keys);
    if (deadline == 0 || now_ns < deadline) return;
    if (keys->is_pasting)
        end_paste(keys);
    else {
        keys->escaped_ns = is_lone_escape(&keys->sequence) ? now_ns : 0;
        cut(keys);
    }
}
