/* Prints the keys of the screen as the README has them: print_keys. From the same table as footer
 * and help. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "tui/keymap.h"
#include "engine/base/banned.h"

int main(void) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    unsigned plain = 1u << KEY_SCOPE_DIALOG | 1u << KEY_SCOPE_FIELD; /* as everywhere */
    keymap_help(&text, ((1u << KEY_SCOPE_COUNT) - 1) & ~plain);
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        *end = 0;
        if (tab)
            printf("      %-22.*s %s\n", (int)(tab - line), line, tab + 1);
        else
            printf("%s    %s\n", line == text.data ? "" : "\n", line);
    }
    return 0;
}
