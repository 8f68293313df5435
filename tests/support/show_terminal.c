/* What a terminal shows after the bytes of stdin: show_terminal COLSxROWS < bytes. For tests of
 * screens on a pseudo terminal. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vterm.h>

#include "engine/base/banned.h"

enum { TEXT_SIZE = 16384 };

static void print_row(VTermScreen *screen, int y, int width) {
    static char text[TEXT_SIZE];
    VTermRect row = {y, y + 1, 0, width};
    size_t size = vterm_screen_get_text(screen, text, sizeof text, row);
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\n')) size--;
    printf("%.*s\n", (int)size, text);
}

int main(int argc, char **argv) {
    int width = 80, height = 24;
    char bytes[4096];
    if (argc > 1 && sscanf(argv[1], "%dx%d", &width, &height) != 2) return 2;
    VTerm *vterm = vterm_new(height, width);
    vterm_set_utf8(vterm, 1);
    VTermScreen *screen = vterm_obtain_screen(vterm);
    vterm_screen_enable_altscreen(screen, 1);
    vterm_screen_reset(screen, 1);
    for (ssize_t count; (count = read(STDIN_FILENO, bytes, sizeof bytes)) > 0;)
        vterm_input_write(vterm, bytes, (size_t)count);
    for (int y = 0; y < height; y++) print_row(screen, y, width);
    vterm_free(vterm);
    return 0;
}
