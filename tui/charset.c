/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/charset.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

bool is_like_xterm(const char *type) {
    static const char *const prefixes[] = {"xterm", "screen",  "tmux",    "rxvt",   "alacritty",
                                           "kitty", "foot",    "wezterm", "st-",    "vte",
                                           "gnome", "konsole", "contour", "ghostty"};
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (has_prefix(type, prefixes[i])) return true;
    return false;
}

/* The first of the variables that says something about characters; "" when none does. */
static const char *locale_name(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strcmp(value, "C") && strcmp(value, "POSIX") ? value : "";
    }
    return "";
}

static bool names_utf8(const char *locale) {
    return strcasestr(locale, "UTF-8") || strcasestr(locale, "UTF8");
}

/* Containers often name a locale that is not installed: its name still says what is shown. */
enum charset charset_guess(const char *type) {
    const char *name = locale_name();
    bool is_installed = setlocale(LC_CTYPE, "") != NULL;
    bool is_utf8 = is_installed && !strcmp(nl_langinfo(CODESET), "UTF-8");
    bool is_ready = is_utf8 || setlocale(LC_CTYPE, "C.UTF-8") || setlocale(LC_CTYPE, "C.utf8");
    if (!is_ready) return CHARSET_ASCII;
    if (is_utf8 || (!is_installed && names_utf8(name))) return CHARSET_UTF8;
    return !*name && is_like_xterm(type) ? CHARSET_ASK : CHARSET_ASCII;
}
