/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/pieces.h"

#include <assert.h>

#include "engine/base/banned.h"

struct fit {
    const struct piece *pieces;
    size_t count;
    const char *between;
    int between_width;
    bool is_out[PIECES_MAX];
};

static bool is_shown(const struct fit *fit, size_t i) {
    return !fit->is_out[i] && fit->pieces[i].text && fit->pieces[i].text[0];
}

static int side_width(const struct fit *fit, bool is_right) {
    int width = 0, count = 0;
    for (size_t i = 0; i < fit->count; i++) {
        if (!is_shown(fit, i) || fit->pieces[i].is_right != is_right) continue;
        width += utf8_columns(fit->pieces[i].text) + (count++ ? fit->between_width : 0);
    }
    return width;
}

static int whole_width(const struct fit *fit) {
    int left = side_width(fit, false), right = side_width(fit, true);
    return left + right + (left && right ? 1 : 0);
}

static bool leave_one_out(struct fit *fit) {
    size_t worst = fit->count;
    for (size_t i = 0; i < fit->count; i++) {
        if (!is_shown(fit, i) || fit->pieces[i].leaves == 0) continue;
        if (worst == fit->count || fit->pieces[i].leaves > fit->pieces[worst].leaves) worst = i;
    }
    if (worst == fit->count) return false;
    fit->is_out[worst] = true;
    return true;
}

static int draw_side(const struct fit *fit, bool is_right, int x, unsigned style,
                     struct area area) {
    int shown = 0;
    for (size_t i = 0; i < fit->count; i++) {
        if (!is_shown(fit, i) || fit->pieces[i].is_right != is_right) continue;
        if (shown++) x += area_text(area, x, 0, style, fit->between);
        x += area_text(area, x, 0, fit->pieces[i].style, fit->pieces[i].text);
    }
    return shown;
}

int pieces_draw(const struct piece *pieces, size_t count, const char *between, unsigned style,
                struct area area) {
    assert(count <= PIECES_MAX);
    struct fit fit = {.pieces = pieces,
                      .count = count,
                      .between = between,
                      .between_width = utf8_columns(between)};
    int width = area.at.width;
    area = area_part(area, (struct rect){0, 0, width, 1});
    area_fill(area, style, " ");
    while (whole_width(&fit) > width && leave_one_out(&fit)) {
    }
    int right = side_width(&fit, true), start = width - right > 0 ? width - right : 0;
    int shown = draw_side(&fit, false, 0, style,
                          area_part(area, (struct rect){0, 0, start - (right > 0), 1}));
    return shown + draw_side(&fit, true, start, style, area);
}
