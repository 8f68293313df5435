/* One row: what is staged and what an apply would cost, a change under way rank by rank, how the
 * last one went, a line that takes text.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "tui/field.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "tui/pieces.h"
#include "engine/base/banned.h"

enum { RANKS_NAMED = 4, ENOUGH_STEPS = 10, BETWEEN = 4 };

static void draw_field(const struct view *view, struct area area) {
    area_fill(area, STYLE_FIELD, " ");
    int x = 1 + area_text(area, 1, 0, STYLE_FIELD, view->field_caption);
    x += area_text(area, x, 0, STYLE_FIELD, " ");
    int room = area.at.width - x - 1;
    struct area line = area_part(area, (struct rect){x, 0, room > 1 ? room : 1, 1});
    int cursor = field_columns(view->field), shift = cursor >= room ? cursor - room + 1 : 0;
    area_text(line, -shift, 0, STYLE_FIELD, view->field->text);
    area_cursor(line, cursor - shift, 0);
    if (view->message[0]) {
        int width = area.at.width - x - utf8_columns(view->field->text) - 4;
        struct area end = area_part(area, (struct rect){area.at.width - width, 0, width - 1, 1});
        if (width > 8) area_fit(end, ALIGN_RIGHT, STYLE_FIELD, view->message);
    }
}

/* ---- a change under way */

static void add_waiting(struct buf *out, const struct snapshot_switch *change) {
    size_t named = 0;
    size_t count = change->ranks < change->rank_room ? change->ranks : change->rank_room;
    for (size_t i = 0; i < count && named <= RANKS_NAMED; i++) {
        if (change->by_rank[i] > SWITCH_PROPOSED) continue;
        if (named == RANKS_NAMED)
            buf_puts(out, ", ...");
        else
            buf_printf(out, "%s%zu", named ? ", " : "; waits for rank ", i);
        named++;
    }
}

static void put_progress(struct buf *out, const struct snapshot_switch *change) {
    size_t ready = change->by_status[SWITCH_READY] + change->by_status[SWITCH_COMMITTED] +
                   change->by_status[SWITCH_APPLIED];
    if (change->by_status[SWITCH_COMMITTED] || change->by_status[SWITCH_APPLIED] ||
        change->has_at) {
        buf_printf(out, "agreed");
        if (change->has_at) buf_printf(out, " for step %llu", (unsigned long long)change->at);
        buf_printf(out, ", applied on %zu of %zu", change->by_status[SWITCH_APPLIED],
                   change->ranks);
        return;
    }
    buf_printf(out, "asked: ready %zu of %zu", ready, change->ranks);
    add_waiting(out, change);
}

static void draw_pending(const struct snapshot_switch *change, struct area area) {
    CLEANUP(buf_done) struct buf progress = BUF_INIT;
    char what[256];
    bool is_baseline = strcmp(change->by, "baseline") == 0;
    snprintf(what, sizeof what, " %.200s", change->change);
    if (!is_baseline)
        put_progress(&progress, change);
    else if (change->has_at)
        buf_printf(&progress, "in turns, since step %llu",
                   (unsigned long long)change->at);
    const struct piece pieces[] = {{what, STYLE_NOTE, 0, false},
                                   {buf_text(&progress), STYLE_PLAIN, 0, false}};
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_DIM, area);
}

/* ---- what is staged */

/* What the first step under these settings will cost, as far as somebody has seen it. */
static void put_cost(struct buf *out, const struct view *view) {
    uint32_t key = view_variant_next(view);
    const struct snapshot_variant *known = snapshot_variant(view->snapshot, key);
    double most = NAN;
    if (known && known->steps && !known->is_let_go) {
        buf_puts(out, "used before: compiles nothing");
        return;
    }
    for (size_t i = 0; i < view->snapshot->variant_count; i++)
        most = fmax(most, view->snapshot->variants[i].compile_s);
    buf_puts(out, "new here, compiles");
    if (!isnan(most)) buf_printf(out, " (up to %s so far)", format_duration(most * 1e9).text);
}

/* Without what is in force, which stands in the panel above. */
static void put_short(struct buf *out, const struct settings *change) {
    for (size_t i = 0; i < change->count; i++) {
        const struct settings_pair *pair = &change->pairs[i];
        bool is_written = strcmp(pair->value, SETTING_AS_WRITTEN) == 0;
        buf_printf(out, "%s%s %s", i ? ", " : "", pair->key,
                   is_written ? "as written" : pair->value);
    }
}

static void draw_staged(const struct view *view, struct area area) {
    static const char keys[] = "A apply  x forget ";
    CLEANUP(buf_done) struct buf words = BUF_INIT;
    CLEANUP(buf_done) struct buf cost = BUF_INIT;
    const struct settings *change = &view->staging->change;
    buf_printf(&words, " %zu staged: ", change->count);
    size_t begin = words.size;
    staging_words(view->staging, &words);
    put_cost(&cost, view);
    int width = utf8_columns(buf_text(&words)) + utf8_columns(buf_text(&cost)) +
                utf8_columns(keys) + BETWEEN;
    if (width > area.at.width) {
        words.size = begin;
        put_short(&words, change);
    }
    const struct piece pieces[] = {
        {buf_text(&words), STYLE_STAGED, 0, false},
        {buf_text(&cost), STYLE_PLAIN, 2, false},
        {keys, STYLE_DIM, 1, true},
    };
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_DIM, area);
}

/* ---- how the last one went */

static const struct snapshot_switch *last_switch(const struct view *view) {
    for (size_t i = view->snapshot->switch_count; i-- > 0;) {
        const struct snapshot_switch *change = view->snapshot->switches[i];
        if (change->is_tried_again || strcmp(change->by, "baseline") == 0) continue;
        if (!view->group || strcmp(change->group, view->group->key) == 0) return change;
    }
    return NULL;
}

static double median_under(const struct view *view, const struct snapshot_pairs *pairs) {
    struct settings set = SETTINGS_INIT;
    settings_put_pairs(&set, pairs);
    const struct snapshot_variant *variant = snapshot_variant(view->snapshot, settings_key(&set));
    settings_done(&set);
    return pairs && variant && variant->clean >= ENOUGH_STEPS ? variant->median_ms : NAN;
}

/* Two medians, one after the other: no ratio is made of them. */
static void put_gain(char *ret, size_t size, const struct view *view,
                     const struct snapshot_switch *change) {
    double before = median_under(view, change->from), after = median_under(view, change->to);
    if (!isnan(before) && !isnan(after))
        snprintf(ret, size, "a step %s, before %s", format_duration(after * 1e6).text,
                 format_duration(before * 1e6).text);
}

static void draw_last(const struct view *view, const struct snapshot_switch *change,
                      struct area area) {
    char what[300], cost[96] = "", gain[96] = "", reason[400] = "";
    bool is_good = change->status == SWITCH_APPLIED;
    snprintf(what, sizeof what, " %.200s: %s", change->change, switch_status_name(change->status));
    if (is_good && change->has_at)
        snprintf(cost, sizeof cost, "at step %llu%s%s%s", (unsigned long long)change->at,
                 change->lost_ms > 0 ? ", its first step " : "",
                 change->lost_ms > 0 ? format_duration(change->lost_ms * 1e6).text : "",
                 change->lost_ms > 0 ? " longer" : "");
    if (is_good) put_gain(gain, sizeof gain, view, change);
    if (change->reason) snprintf(reason, sizeof reason, "%.300s", change->reason);
    if (change->file && change->has_line && !strstr(reason, change->file))
        snprintf(reason + strlen(reason), sizeof reason - strlen(reason), " (%.80s:%lld)",
                 change->file, (long long)change->line);
    const struct piece pieces[] = {
        {what, is_good ? STYLE_GOOD : STYLE_BAD, 0, false},
        {cost, STYLE_PLAIN, 3, false},
        {gain, STYLE_STRONG, 2, false},
        {reason, STYLE_PLAIN, 0, false},
        {is_good ? "u undo " : "", STYLE_DIM, 1, true},
    };
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_DIM, area);
}

/* A measurement goes on by itself: what a person has staged meanwhile is what they look for. */
static bool is_in_front(const struct snapshot_switch *pending, const struct view *view) {
    if (!pending || (!view->is_tape && view->state == VIEW_ENDED)) return false;
    return strcmp(pending->by, "baseline") != 0 || view->staging->change.count == 0;
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    (void)state, (void)has_focus;
    const struct snapshot_switch *pending =
        view->group ? snapshot_pending(view->snapshot, view->group->key) : NULL;
    const struct snapshot_switch *last = last_switch(view);
    area_fill(area, STYLE_PLAIN, " ");
    if (view->field)
        draw_field(view, area);
    else if (view->message[0]) {
        area_text(area, 0, 0, view->message_style, " ");
        area_fit(area_shrink(area, 1, 0, 0, 0), ALIGN_LEFT, view->message_style, view->message);
    } else if (is_in_front(pending, view))
        draw_pending(pending, area);
    else if (view->staging->change.count)
        draw_staged(view, area);
    else if (last)
        draw_last(view, last, area);
    else
        area_text(area, 1, 0, STYLE_DIM,
                  "nothing staged: a key of a setting stages its next value");
}

const struct panel_class panel_staged = {
    .name = "staged",
    .title = "Staged",
    .help = "what is staged, what an apply costs, a change under way, how the last one went",
    .place = PLACE_STAGED,
    .draw = draw,
};
