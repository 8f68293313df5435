/* Any bytes in any pieces with any pauses: every key that comes out has a name that can be read
 * back. The first byte of a piece says how many follow (low 4 bits) and how long nothing comes
 * before it (high 4 bits, 30 ms each). SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "tui/keys.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *context, const struct key *key) {
    char name[KEY_NAME_SIZE];
    struct key again;
    size_t *count = context;
    key_name(key, name);
    ++*count;
    if (key->kind <= KEY_KIND_FUNCTION && (!key_read(name, &again) || !is_same_key(key, &again)))
        abort();
    if (key->kind == KEY_KIND_PASTE && key->size > KEYS_PASTE_MAX) abort();
    if (key->kind == KEY_KIND_MOUSE && (key->x < 0 || key->y < 0)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const terms[] = {"xterm-256color", "linux", "screen", "tmux", "dumb"};
    static struct keys *all[5]; /* reading a terminal's description takes longer than all the rest;
                                   at the end of a run nothing waits */
    static size_t count;
    static uint64_t now = 1;
    if (size < 1) return 0;
    struct keys **keys_of = &all[data[0] % 5], *keys;
    if (!*keys_of && keys_new(terms[data[0] % 5], check, &count, keys_of, NULL) < 0) return 0;
    keys = *keys_of;
    for (size_t i = 1; i < size;) {
        size_t piece = data[i] & 15, left = size - i - 1;
        now += (uint64_t)(data[i++] >> 4) * 30000000;
        if (piece > left) piece = left;
        keys_tick(keys, now);
        keys_feed(keys, (const char *)data + i, piece, now);
        i += piece;
    }
    keys_tick(keys, now += UINT64_C(10000000000));
    if (keys_deadline_ns(keys) != 0) abort();
    return 0;
}
