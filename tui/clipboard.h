/* The terminal's clipboard, as far as a program can reach it: an escape sequence (OSC 52) that many
 * terminals understand and the others take no notice of. Pure, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_CLIPBOARD_H
#define INDUCTOP_TUI_CLIPBOARD_H

#include <stdbool.h>

#include "engine/base/buf.h"

enum { CLIPBOARD_MAX = 8 * 1024 }; /* bytes of text: terminals have limits of their own */

/* Does a terminal of this type (TERM) at least swallow the sequence? Some show it. */
bool has_clipboard(const char *type);

/* Adds the sequence. Control characters become blanks: what is pasted into a shell must not run. */
void clipboard_sequence(struct buf *out, const char *text);

#endif
