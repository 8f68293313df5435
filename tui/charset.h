/* Which characters a terminal shows, as far as one can know without asking it. No state, any
 * thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_CHARSET_H
#define INDUCTOP_TUI_CHARSET_H

#include <stdbool.h>

enum charset {
    CHARSET_UTF8,
    CHARSET_ASK, /* nothing says so, but most such terminals do, and this one can be asked */
    CHARSET_ASCII
};

/* Sets the locale for characters (LC_CTYPE) to one of UTF-8 where there is one: the program's own
 * texts are UTF-8, whatever is shown. `type` is TERM. */
enum charset charset_guess(const char *type);

/* Does the terminal understand xterm's private modes and questions, or ignore them? */
bool is_like_xterm(const char *type);

#endif
