/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/clipboard.h"

#include <stdint.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

bool has_clipboard(const char *type) {
    static const char *const without[] = {"linux", "dumb", "vt", "screen", "ansi", "cons"};
    if (!type || !*type) return false;
    for (size_t i = 0; i < ARRAY_SIZE(without); i++)
        if (has_prefix(type, without[i])) return false;
    return true;
}

static unsigned char harmless(char byte) {
    unsigned char value = (unsigned char)byte;
    return value < 0x20 || value == 0x7f ? ' ' : value;
}

void clipboard_sequence(struct buf *out, const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = strlen(text);
    if (size > CLIPBOARD_MAX) size = CLIPBOARD_MAX;
    buf_puts(out, "\033]52;c;");
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i < 3 ? size - i : 3;
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++) three = three << 8 | (k < left ? harmless(text[i + k]) : 0u);
        for (size_t k = 0; k < 4; k++)
            buf_add(out, k > left ? "=" : &digits[three >> (18 - 6 * k) & 63], 1);
    }
    buf_puts(out, "\007");
}
