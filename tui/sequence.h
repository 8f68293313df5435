/* Cuts the bytes that a terminal sends into whole keys, before libtermkey sees them.
 *
 * libtermkey 0.22 reads outside of its tables for sequences with a private sign before an ordinary
 * final (ESC [ ? 1 A), writes one place too far for many numbers, takes ESC [ [ for a key before
 * its last byte has come, and does not know pastes. So it gets whole sequences of known shapes
 * only; others are dropped here. Plain value, zeroed is empty. No state besides it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_SEQUENCE_H
#define INDUCTOP_TUI_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

enum { SEQUENCE_SIZE = 40 };

struct sequence {
    char bytes[SEQUENCE_SIZE];
    size_t size;
    bool is_lost;         /* it is longer than any key */
    bool is_after_string; /* its ESC ended a string: the end may be two bytes long */
};

enum sequence_step {
    SEQUENCE_MORE,  /* not whole yet */
    SEQUENCE_WHOLE, /* `bytes` are a key */
    SEQUENCE_PASTE, /* a paste begins */
    SEQUENCE_DROP   /* nothing to us */
};

/* Adds a byte. After anything but SEQUENCE_MORE the caller empties it. */
enum sequence_step sequence_add(struct sequence *sequence, char byte);

/* No more comes: what is there is a key by itself (ESC, Alt-[), or nothing. */
enum sequence_step sequence_end(struct sequence *sequence);

/* Is there nothing but ESC, which may be a key by itself? */
bool is_lone_escape(const struct sequence *sequence);

/* Does this byte begin something new, so that what is there ends first? */
bool is_cut_by(const struct sequence *sequence, char byte);

/* Is it a string (ESC ] and the like), which has no length? ESC ends one, and so does any control
 * character: a string that never ends holds no key up. */
bool is_in_string(const struct sequence *sequence);

#endif
