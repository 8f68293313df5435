/* What the job wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tui/panels.h"
#include "tui/text.h"
#include "engine/base/banned.h"

enum { COLUMNS = 120, ROWS = 40 };

struct output_panel {
    struct text *text;
    bool has_text, is_found;
    uint64_t found; /* number of the line that was looked for */
    uint64_t told;  /* outputs of the snapshot that were taken in */
    uint64_t up;    /* lines that the window stands above the end */
    int height;     /* of the window when it was drawn */
};

static void *open_panel(void) {
    struct output_panel *panel = mem_new(sizeof *panel);
    panel->text = text_new(COLUMNS, ROWS);
    return panel;
}

static void close_panel(void *state) {
    struct output_panel *panel = state;
    text_free(panel->text);
    free(panel);
}

/* Fewer than before: a tape began anew. */
static void update(void *state, const struct view *view) {
    struct output_panel *panel = state;
    const struct snapshot *snapshot = view->snapshot;
    if (snapshot->output_total < panel->told) {
        panel->text = text_free(panel->text);
        panel->text = text_new(COLUMNS, ROWS);
        panel->told = 0;
    }
    uint64_t first = snapshot->output_total - snapshot->output_count;
    for (size_t i = panel->told > first ? (size_t)(panel->told - first) : 0;
         i < snapshot->output_count; i++) {
        const char *text = snapshot->outputs[i]->text;
        text_feed(panel->text, text, strlen(text));
        if (!*text || text[strlen(text) - 1] != '\n')
            text_feed(panel->text, "\r\n", 2);
        else
            text_feed(panel->text, "\r", 1);
    }
    panel->told = snapshot->output_total;
    panel->has_text = panel->has_text || panel->told > 0;
}

static void write_bytes(void *state, const char *bytes, size_t size) {
    struct output_panel *panel = state;
    uint64_t end = text_end(panel->text);
    text_feed(panel->text, bytes, size);
    panel->has_text = true;
    if (panel->up) panel->up += text_end(panel->text) - end; /* what one reads stands still */
}

static void fit(void *state, int columns, int rows) {
    text_resize(((struct output_panel *)state)->text, columns, rows);
}

static uint64_t line_count(const struct output_panel *panel) {
    uint64_t first = text_first(panel->text), end = text_end(panel->text);
    if (end > first && text_columns(panel->text, end - 1) == 0)
        end--; /* behind the last line feed */
    return end - first;
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    struct output_panel *panel = state;
    uint64_t count = line_count(panel);
    char where[48] = "";
    panel->height = area.at.height - 1;
    uint64_t height = panel->height > 0 ? (uint64_t)panel->height : 0;
    if (panel->up + height > count) panel->up = count > height ? count - height : 0;
    if (panel->up)
        snprintf(where, sizeof where, "%llu below", (unsigned long long)panel->up);
    else if (view->unsaved)
        snprintf(where, sizeof where, "the output file is full");
    else if (view->is_input)
        snprintf(where, sizeof where, "keys go to the job: ^] ends that");
    struct area body = view_title(area, has_focus, "Output", where);
    if (!panel->has_text) {
        area_text(body, 1, 0, STYLE_DIM,
                  view->is_tape        ? "what a job prints is not on its tape"
                  : view->has_terminal ? "nothing yet"
                                       : "the job prints where it was started");
        return;
    }
    if (is_text_full_screen(panel->text) && (view->is_open || view->is_input)) {
        text_draw_screen(panel->text, area_shrink(body, 1, 0, 0, 0), view->is_input);
        return;
    }
    uint64_t end = text_first(panel->text) + count - panel->up;
    uint64_t first = count - panel->up > height ? end - height : text_first(panel->text);
    for (uint64_t i = first; i < end; i++) {
        struct area row = area_part(body, (struct rect){1, (int)(i - first), body.at.width - 1, 1});
        text_draw(panel->text, i, 0, row);
        if (panel->is_found && i == panel->found) area_restyle(row, STYLE_MATCH);
    }
    if (view->is_input && panel->up == 0 && end > first) /* where the job's cursor is, about */
        area_cursor(body, 1 + text_columns(panel->text, end - 1), (int)(end - 1 - first));
}

static void move(void *state, enum table_move move) {
    struct output_panel *panel = state;
    panel->is_found = false;
    uint64_t page = panel->height > 1 ? (uint64_t)panel->height : 1, by = 0;
    bool is_up = move == TABLE_UP || move == TABLE_PAGE_UP || move == TABLE_HOME;
    if (move == TABLE_UP || move == TABLE_DOWN) by = 1;
    if (move == TABLE_PAGE_UP || move == TABLE_PAGE_DOWN) by = page;
    if (move == TABLE_HOME || move == TABLE_END) by = TEXT_LINES_MAX;
    panel->up = is_up ? panel->up + by : panel->up > by ? panel->up - by : 0;
}

/* The line found becomes the last one in sight, unless all are in sight. */
static bool find(void *state, const char *word, int direction) {
    struct output_panel *panel = state;
    uint64_t first = text_first(panel->text), count = line_count(panel);
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    if (count == 0 || !*word) return false;
    uint64_t at = count - 1 - (panel->up < count ? panel->up : count - 1);
    if (panel->is_found && panel->found >= first)
        at = panel->found - first;
    else
        at += direction < 0; /* the last line in sight counts at first */
    while (direction < 0 ? at-- > 0 : ++at < count) {
        buf_clear(&line);
        text_plain(panel->text, first + at, &line);
        if (!strstr(buf_text(&line), word)) continue;
        panel->up = count - 1 - at;
        panel->found = first + at;
        panel->is_found = true;
        return true;
    }
    return false;
}

const struct panel_class panel_output = {
    .name = "output",
    .title = "Output",
    .help = "what the job wrote",
    .place = PLACE_OUTPUT,
    .view = VIEW_OUTPUT,
    .scope = KEY_SCOPE_TEXT,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = draw,
    .move = move,
    .write = write_bytes,
    .find = find,
    .fit = fit,
};
