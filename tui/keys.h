/* Bytes from a terminal become keys. libtermkey takes them apart; this file is the only one that
 * includes it.
 *
 * Bytes are fed as they come, in any pieces; time is the caller's clock, so nothing here waits:
 * keys_deadline_ns() says when to come back with keys_tick(). A lone ESC is a key after 40 ms (and
 * so acts within 50); what follows it late and looks like the rest of a key is that key. A longer
 * sequence that was cut has 300 ms to arrive whole. Pastes come as one key with their bytes,
 * which are never taken for keys. Answers of the terminal to our questions are keys too. Belongs to
 * who made it. One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_KEYS_H
#define INDUCTOP_TUI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"

enum {
    KEYS_ESCAPE_NS = 40 * 1000 * 1000,
    KEYS_LATE_NS = 1000 * 1000 * 1000,
    KEYS_CUT_NS = 300 * 1000 * 1000,
    KEYS_PASTE_NS =
        2000 * 1000 * 1000,     /* without a byte a paste has ended, whether it says so or not */
    KEYS_PASTE_MAX = 64 * 1024, /* of its bytes are kept */
    KEY_NAME_SIZE = 32
};

enum key_kind {
    KEY_KIND_CHARACTER, /* code: Unicode */
    KEY_KIND_SYMBOL,    /* code: enum key_symbol */
    KEY_KIND_FUNCTION,  /* code: 1 is F1 */
    KEY_KIND_MOUSE,     /* code: enum key_mouse; x, y */
    KEY_KIND_PASTE,     /* bytes, size; lent during the call */
    KEY_KIND_MODE, /* the terminal's answer: code is a private mode, value 0 unknown, 1 on, 2 off, 3
                      and 4 fixed */
    KEY_KIND_POSITION /* the terminal's answer: its cursor is at x, y */
};

enum key_symbol {
    KEY_SYMBOL_ENTER,
    KEY_SYMBOL_TAB,
    KEY_SYMBOL_ESCAPE,
    KEY_SYMBOL_BACKSPACE,
    KEY_SYMBOL_UP,
    KEY_SYMBOL_DOWN,
    KEY_SYMBOL_LEFT,
    KEY_SYMBOL_RIGHT,
    KEY_SYMBOL_HOME,
    KEY_SYMBOL_END,
    KEY_SYMBOL_PAGE_UP,
    KEY_SYMBOL_PAGE_DOWN,
    KEY_SYMBOL_INSERT,
    KEY_SYMBOL_DELETE,
    KEY_SYMBOL_COUNT
};

enum key_mouse {
    KEY_MOUSE_PRESS,
    KEY_MOUSE_DRAG,
    KEY_MOUSE_RELEASE,
    KEY_MOUSE_WHEEL_UP,
    KEY_MOUSE_WHEEL_DOWN
};

enum key_modifier { KEY_SHIFT = 1, KEY_ALT = 2, KEY_CTRL = 4 };

struct key {
    enum key_kind kind;
    int code;
    unsigned modifiers;
    int button, x, y; /* mouse and position, from 0; buttons from 1 */
    int value;
    const char *bytes;
    size_t size;
    bool is_cut; /* a paste longer than what is kept */
};

struct keys;

typedef void keys_call(void *context, const struct key *key);

/* `term` names the terminal (TERM; NULL or unknown: like xterm). The call gets every key. */
int keys_new(const char *term, keys_call *call, void *context, struct keys **ret_keys,
             struct err *err);
struct keys *keys_free(struct keys *keys);

void keys_feed(struct keys *keys, const char *bytes, size_t size, uint64_t now_ns);

/* Gives out what has waited long enough. */
void keys_tick(struct keys *keys, uint64_t now_ns);

/* When keys_tick() has something to do at the earliest; 0: nothing waits. */
uint64_t keys_deadline_ns(const struct keys *keys);

/* ---- names ---- */

/* "m", "A", "F1", "Enter", "^L", "Alt-1", "Shift-Tab", "Space"; mouse and answers as "mouse" and
 * the like. */
void key_name(const struct key *key, char ret_name[KEY_NAME_SIZE]);

/* The key of such a name; also "Ctrl-L" and "Esc". False: there is none. */
bool key_read(const char *name, struct key *ret_key);

bool is_same_key(const struct key *a, const struct key *b);

#endif
