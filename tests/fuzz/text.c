/* Any bytes as a job's output: nothing that is drawn holds a control character, whatever the size
 * of the screen. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "tui/text.h"
#include "engine/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct canvas *canvas) {
    for (int y = 0; y < canvas_height(canvas); y++)
        for (int x = 0; x < canvas_width(canvas); x++) {
            const unsigned char *text = (const unsigned char *)canvas_row(canvas, y)[x].text;
            if (text[0] &&
                (text[0] < 0x20 || text[0] == 0x7F || (text[0] == 0xC2 && text[1] < 0xA0)))
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    struct text *text = text_new(data[0] % 80, data[1] % 30);
    struct canvas *canvas = canvas_new(1 + data[1] % 60, 1 + data[2] % 20);
    for (size_t i = 3; i < size; i += 64) {
        text_feed(text, (const char *)data + i, size - i < 64 ? size - i : 64);
        if (data[i] == 'z') text_resize(text, data[i / 2] % 90, data[i / 3] % 40);
        text_draw_screen(text, canvas_area(canvas), true);
        check(canvas);
        text_draw(text, text_first(text) + data[i] % 8, data[i] % 20, canvas_area(canvas));
        check(canvas);
    }
    canvas_free(canvas);
    text_free(text);
    return 0;
}
