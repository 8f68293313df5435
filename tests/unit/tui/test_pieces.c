/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/dump.h"
#include "tui/pieces.h"
#include "engine/base/banned.h"

static const struct piece pieces[] = {
    {"inductop", 1, 0, false}, {"train.py", 0, 3, false}, {"ranks 2/2", 0, 1, false},
    {NULL, 0, 0, false},       {"", 0, 0, false},         {"torch 2.13", 0, 4, false},
    {"live", 2, 0, true},
};

static const struct {
    int width;
    const char *line;
} rows[] = {
    {60, "inductop · train.py · ranks 2/2 · torch 2.13            live"},
    {49, "inductop · train.py · ranks 2/2 · torch 2.13 live"},
    {48, "inductop · train.py · ranks 2/2             live"},
    {47, "inductop · train.py · ranks 2/2            live"},
    {30, "inductop · ranks 2/2      live"},
    {20, "inductop        live"},
    {13, "inductop live"},
    {10, "induc live"},
    {4, "live"},
    {2, "li"},
};

static void test_less_important_pieces_leave(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct canvas *canvas = canvas_new(rows[i].width, 1);
        pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", 0, canvas_area(canvas));
        dump_text(&out, canvas);
        canvas_free(canvas);
        char wanted[80];
        snprintf(wanted, sizeof wanted, "%s\n", rows[i].line);
        if (strcmp(buf_text(&out), wanted))
            fail_msg("width %d: '%s'", rows[i].width, buf_text(&out));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_less_important_pieces_leave)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
