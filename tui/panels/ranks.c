/* The ranks: a row or a card each.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "engine/base/banned.h"

enum { CARD_WIDTH = 60 };

static const double ns_of_ms = 1e6, ns_of_s = 1e9;

struct ranks_panel {
    struct table *table;
    const struct snapshot *snapshot; /* lent until the next update: the table's rows */
};

static const struct snapshot_rank *rank_of(const void *rows, size_t i) {
    return ((const struct ranks_panel *)rows)->snapshot->ranks[i];
}

/* Slower than its group by more than what is called a tie. */
static unsigned pace_style(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    double median =
        rank->group < snapshot->group_count ? snapshot->groups[rank->group]->median_ms : NAN;
    if (isnan(rank->median_ms) || isnan(median) || median <= 0) return STYLE_PLAIN;
    double ratio = rank->median_ms / median;
    return ratio > 1.5 ? STYLE_BAD : ratio > 1.15 ? STYLE_WARN : STYLE_PLAIN;
}

static unsigned state_style(enum snapshot_activity activity) {
    switch (activity) {
    case ACTIVITY_TRAINING:
    case ACTIVITY_FINISHED: return STYLE_GOOD;
    case ACTIVITY_COMPILING:
    case ACTIVITY_SWITCHING:
    case ACTIVITY_STARTING: return STYLE_NOTE;
    case ACTIVITY_QUIET: return STYLE_WARN;
    case ACTIVITY_REFUSED:
    case ACTIVITY_STALLED:
    case ACTIVITY_EXITED:
    case ACTIVITY_LOST: return STYLE_BAD;
    default: return STYLE_DIM;
    }
}

/* The device's where there is one, told or not; else that of torch's CPU allocator, if it tells
 * all; else the process's own. */
static bool has_device(const struct snapshot_rank *rank) {
    const char *device = rank->who ? rank->who->device : NULL;
    return !isnan(rank->device_bytes) || (device && strcmp(device, "cpu") != 0);
}

static bool has_whole_cpu(const struct snapshot_rank *rank) {
    return rank->cpu_is_whole && !isnan(rank->cpu_bytes);
}

static double memory_of(const struct snapshot_rank *rank) {
    return has_device(rank)      ? rank->device_bytes
           : has_whole_cpu(rank) ? rank->cpu_bytes
                                 : rank->rss;
}

static double peak_of(const struct snapshot_rank *rank) {
    return has_device(rank)      ? rank->device_peak
           : has_whole_cpu(rank) ? rank->cpu_most
                                 : rank->rss_peak;
}

static double ratio_of(const struct snapshot_rank *rank) {
    return rank->speedup.has_ratio ? rank->speedup.ratio : NAN;
}

static bool is_eager(const struct snapshot *snapshot, const struct snapshot_rank *rank) {
    const struct snapshot_variant *variant =
        rank->has_variant ? snapshot_variant(snapshot, rank->variant) : NULL;
    return variant && variant->is_eager;
}

static unsigned speedup_style(const struct snapshot_speedup *speedup) {
    if (!speedup->has_ratio) return STYLE_MISSING;
    return strcmp(speedup->verdict, "faster") == 0   ? STYLE_GOOD
           : strcmp(speedup->verdict, "slower") == 0 ? STYLE_BAD
                                                     : STYLE_PLAIN;
}

static void put_speedup(char *ret, size_t size, const struct snapshot *snapshot,
                        const struct snapshot_rank *rank, bool ascii) {
    const struct snapshot_speedup *speedup = &rank->speedup;
    bool is_measuring = snapshot_is_measuring(snapshot, rank->who ? rank->who->group : NULL) ||
                        (speedup->verdict && !strcmp(speedup->verdict, "measuring"));
    if (speedup->has_ratio)
        snprintf(ret, size, "%s",
                 format_speedup(speedup->ratio, speedup->low, speedup->high, ascii).text);
    else if (is_measuring)
        snprintf(ret, size, "measuring");
    else
        snprintf(ret, size, "%s", is_eager(snapshot, rank) ? "is eager" : "-");
}

#define NUMBER(function, expression)                                                               \
    static double function(const void *rows, size_t i) {                                           \
        const struct snapshot_rank *rank = rank_of(rows, i);                                       \
        return (expression);                                                                       \
    }
#define SHOW(function, figure)                                                                     \
    static void function(const void *rows, size_t i, struct table_cell *cell) {                    \
        const struct snapshot_rank *rank = rank_of(rows, i);                                       \
        show_put(cell, STYLE_PLAIN, (figure).text);                                                \
    }

NUMBER(rank_number, rank->rank)
NUMBER(step_number, rank->has_step ? (double)rank->step : NAN)
NUMBER(ms_number, rank->median_ms *ns_of_ms)
NUMBER(ratio_number, ratio_of(rank))
NUMBER(compile_number, rank->compile_s *ns_of_s)
NUMBER(recompiles_number, (double)rank->recompiles)
NUMBER(breaks_number, (double)rank->breaks)
NUMBER(comm_number, rank->traffic.ms *ns_of_ms)
NUMBER(own_number, rank->own_ms *ns_of_ms)
NUMBER(memory_number, memory_of(rank))
NUMBER(peak_number, peak_of(rank))

SHOW(show_step, format_count(rank->has_step ? (double)rank->step : NAN))
SHOW(show_compile, format_duration(rank->compile_s *ns_of_s))
SHOW(show_own, format_duration(rank->own_ms *ns_of_ms))
SHOW(show_recompiles, format_count((double)rank->recompiles))
SHOW(show_breaks, format_count((double)rank->breaks))
SHOW(show_memory, format_bytes(memory_of(rank)))
SHOW(show_peak, format_bytes(peak_of(rank)))

static void show_rank(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_rank *rank = rank_of(rows, i);
    bool has_restart = rank->who && rank->who->has_restart && rank->who->restart > 0;
    if (has_restart)
        show_printf(cell, STYLE_PLAIN, "%d r%lld", rank->rank, (long long)rank->who->restart);
    else
        show_printf(cell, STYLE_PLAIN, "%d", rank->rank);
}

static void show_ms(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_rank *rank = rank_of(rows, i);
    show_put(cell, pace_style(((const struct ranks_panel *)rows)->snapshot, rank),
             format_ms(rank->median_ms * ns_of_ms).text);
}

/* Who is waited for stands out where the waiting is worth a look. */
static void show_comm(const void *rows, size_t i, struct table_cell *cell) {
    static const double notable = 0.05; /* of a step */
    const struct snapshot *snapshot = ((const struct ranks_panel *)rows)->snapshot;
    const struct snapshot_rank *rank = rank_of(rows, i);
    const struct snapshot_group *group =
        rank->group < snapshot->group_count ? snapshot->groups[rank->group] : NULL;
    bool is_last = group && group->has_last && snapshot->ranks[group->last] == rank &&
                   group->skew_ms > notable * group->median_ms;
    show_put(cell, is_last ? STYLE_WARN : STYLE_PLAIN, format_ms(rank->traffic.ms * ns_of_ms).text);
}

static void show_speedup(const void *rows, size_t i, struct table_cell *cell) {
    const struct snapshot_rank *rank = rank_of(rows, i);
    char text[64];
    put_speedup(text, sizeof text, ((const struct ranks_panel *)rows)->snapshot, rank, cell->ascii);
    show_put(cell, speedup_style(&rank->speedup), text);
}

static void put_state(struct table_cell *cell, const struct snapshot *snapshot,
                      const struct snapshot_rank *rank) {
    enum snapshot_activity activity = snapshot_activity(snapshot, rank);
    double idle =
        activity == ACTIVITY_STARTING ? snapshot->now - rank->t : snapshot_idle_s(snapshot, rank);
    const char *reason = rank->who ? rank->who->reason : NULL;
    show_put(cell, state_style(activity), snapshot_activity_name(activity));
    if (activity == ACTIVITY_COMPILING) {
        idle = snapshot->now - rank->compiling_t;
        char before[64] = "";
        if (!isnan(rank->compiling_last_ms))
            snprintf(before, sizeof before, " (%s before)",
                     format_duration(rank->compiling_last_ms * ns_of_ms).text);
        const char *words[] = {rank->compiling, rank->compiling_phase,
                               rank->compiling_why ? rank->compiling_why : ""};
        const char *between = ": ";
        show_printf(cell, state_style(activity), "compiling %s%s",
                    format_duration(fmax(idle, 0) * ns_of_s).text, before);
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
            if (!words[i][0]) continue;
            size_t used = strlen(cell->text);
            snprintf(cell->text + used, sizeof cell->text - used, "%s%.120s", between, words[i]);
            between = ", ";
        }
        return;
    }
    size_t size = strlen(cell->text);
    bool has_idle = activity == ACTIVITY_STARTING || activity == ACTIVITY_SWITCHING ||
                    activity == ACTIVITY_QUIET;
    if (has_idle && !isnan(idle))
        snprintf(cell->text + size, sizeof cell->text - size, " %s",
                 format_duration(idle * ns_of_s).text);
    else if ((activity == ACTIVITY_EXITED || activity == ACTIVITY_LOST) && rank->who &&
             rank->who->has_exit)
        snprintf(cell->text + size, sizeof cell->text - size, " %lld", (long long)rank->who->exit);
    else if (reason && activity != ACTIVITY_TRAINING)
        snprintf(cell->text + size, sizeof cell->text - size, ": %.120s", reason);
}

static void show_state(const void *rows, size_t i, struct table_cell *cell) {
    put_state(cell, ((const struct ranks_panel *)rows)->snapshot, rank_of(rows, i));
}

static const struct table_column columns[] = {
    {"rank", "Rank", "rank in its group", 5, 0, ALIGN_LEFT, false, 0, 0, show_rank, rank_number},
    {"step", "step", "its last step", 6, 0, ALIGN_RIGHT, true, 6, 0, show_step, step_number},
    {"ms", "ms", "median time of a clean step", 7, 0, ALIGN_RIGHT, true, 1, 1e6, show_ms,
     ms_number},
    {"speedup", "over eager", "eager's time over the time now, 95 %", 12, 0, ALIGN_RIGHT, true, 2,
     0, show_speedup, ratio_number},
    {"compile", "compile", "wall time in compilations", 8, 0, ALIGN_RIGHT, true, 3, 1e9,
     show_compile, compile_number},
    {"recompiles", "recomp", "compilations because a guard failed", 6, 0, ALIGN_RIGHT, true, 4, 0,
     show_recompiles, recompiles_number},
    {"breaks", "breaks", "graph breaks told", 6, 0, ALIGN_RIGHT, true, 5, 0, show_breaks,
     breaks_number},
    {"memory", "memory", "memory now: of the device, else torch's on the CPU, else of the process",
     7, 0, ALIGN_RIGHT, true, 7, 0, show_memory, memory_number},
    {"peak", "peak", "largest memory so far", 7, 0, ALIGN_RIGHT, true, 8, 0, show_peak,
     peak_number},
    {"comm", "comm", "ms of a step in collectives, waiting for other ranks included", 7, 0,
     ALIGN_RIGHT, true, 9, 1e6, show_comm, comm_number, .if_told = true},
    {"own", "own", "what inductop itself takes of a step, mean of clean ones", 7, 0, ALIGN_RIGHT,
     true, 10, 1e3, show_own, own_number, .if_told = true},
    {"state", "state", "what it does", 9, 1, ALIGN_LEFT, false, 0, 0, show_state, NULL},
};

static uint64_t id_of(const void *rows, size_t i) {
    return rank_id(((const struct ranks_panel *)rows)->snapshot, rank_of(rows, i));
}

static void *open_panel(void) {
    struct ranks_panel *panel = mem_new(sizeof *panel);
    panel->table = table_new(columns, ARRAY_SIZE(columns));
    table_set_empty(panel->table, "no rank yet: one is seen when it imports torch and trains");
    return panel;
}

static void close_panel(void *state) {
    struct ranks_panel *panel = state;
    table_free(panel->table);
    free(panel);
}

static void update(void *state, const struct view *view) {
    struct ranks_panel *panel = state;
    panel->snapshot = view->snapshot;
    table_update(panel->table, &(struct table_source){panel, view->snapshot->rank_count, id_of});
}

/* ---- cards */

static void draw_phases(const struct snapshot_rank *rank, struct area card) {
    double rest = rank->ms;
    const double known[] = {rank->data_ms, rank->forward_ms, rank->backward_ms, rank->optimizer_ms};
    char text[200];
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (!isnan(known[i])) rest -= known[i];
    const struct part parts[] = {{rank->data_ms, STYLE_NOTE},
                                 {rank->forward_ms, STYLE_GOOD},
                                 {rank->backward_ms, STYLE_INTERVAL},
                                 {rank->optimizer_ms, STYLE_WARN},
                                 {rest > 0 ? rest : NAN, STYLE_DIM}};
    bool has_phases = !isnan(rank->backward_ms) || !isnan(rank->data_ms);
    if (has_phases) {
        parts_draw(parts, ARRAY_SIZE(parts), area_part(card, (struct rect){1, 1, 56, 1}));
        snprintf(text, sizeof text, "data %s   forward %s   backward %s   optimizer %s ms",
                 format_ms(rank->data_ms * ns_of_ms).text,
                 format_ms(rank->forward_ms * ns_of_ms).text,
                 format_ms(rank->backward_ms * ns_of_ms).text,
                 format_ms(rank->optimizer_ms * ns_of_ms).text);
        area_text(card, 1, 2, STYLE_DIM, text);
    } else
        area_printf(card, 1, 1, STYLE_DIM, "last step %s ms   95 %% under %s ms",
                    format_ms(rank->ms * ns_of_ms).text, format_ms(rank->p95_ms * ns_of_ms).text);
}

static void draw_card(const struct snapshot *snapshot, const struct snapshot_rank *rank,
                      struct area card) {
    struct table_cell state = {.text = ""};
    char speedup[64];
    put_state(&state, snapshot, rank);
    put_speedup(speedup, sizeof speedup, snapshot, rank, is_canvas_ascii(card.canvas));
    int x = 1 + area_printf(card, 1, 0, STYLE_STRONG, "rank %d  ", rank->rank);
    x += area_text(card, x, 0, state.style, state.text) + 2;
    x += area_printf(card, x, 0, pace_style(snapshot, rank), "%s ms",
                     format_ms(rank->median_ms * ns_of_ms).text);
    area_printf(card, x + 2, 0, speedup_style(&rank->speedup), "%s over eager", speedup);
    draw_phases(rank, card);
    area_printf(card, 1, 3, STYLE_PLAIN, "compile %s   recomp %s   breaks %s   %s, peak %s",
                format_duration(rank->compile_s * ns_of_s).text,
                format_count((double)rank->recompiles).text,
                format_count((double)rank->breaks).text, format_bytes(memory_of(rank)).text,
                format_bytes(peak_of(rank)).text);
}

static void draw_cards(const struct view *view, struct area area, bool has_focus) {
    int columns_count = area.at.width / CARD_WIDTH > 0 ? area.at.width / CARD_WIDTH : 1;
    int width = area.at.width / columns_count;
    struct area body = view_title(area, has_focus, "Ranks", "");
    for (int i = 0; i < (int)view->snapshot->rank_count; i++)
        draw_card(view->snapshot, view->snapshot->ranks[i],
                  area_part(body, (struct rect){i % columns_count * width,
                                                i / columns_count * LAYOUT_CARD_HEIGHT, width,
                                                LAYOUT_CARD_HEIGHT}));
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    struct ranks_panel *panel = state;
    if (view->ranks_as == RANKS_AS_CARDS && !view->is_open && !view->is_zoomed)
        draw_cards(view, area, has_focus);
    else
        table_draw(panel->table, area, has_focus);
}

/* ---- more about one rank */

static int detail_traffic(const struct snapshot *snapshot, const struct snapshot_rank *rank,
                          struct area body, int y) {
    const struct traffic_figures *traffic = &rank->traffic;
    const struct snapshot_group *group =
        rank->group < snapshot->group_count ? snapshot->groups[rank->group] : NULL;
    char text[300];
    if (!traffic->backend) return y;
    int size = snprintf(text, sizeof text, "%s a step, %s, %s ms with waiting; ",
                        format_count(traffic->count).text, format_bytes(traffic->bytes).text,
                        format_ms(traffic->ms * ns_of_ms).text);
    if (isnan(traffic->host_ms))
        snprintf(text + size, sizeof text - (size_t)size, "by %s", traffic->backend);
    else
        snprintf(text + size, sizeof text - (size_t)size, "enqueued in %s ms",
                 format_ms(traffic->host_ms * ns_of_ms).text);
    y = view_line(body, y, "collectives", text, STYLE_PLAIN);
    if (group && group->has_last) {
        const struct snapshot_rank *last = snapshot->ranks[group->last];
        if (last == rank)
            snprintf(text, sizeof text, "up to %s ms a step, by the others",
                     format_ms(group->skew_ms * ns_of_ms).text);
        else if (!isnan(traffic->meeting_ms))
            snprintf(text, sizeof text, "%s ms a step, for rank %d",
                     format_ms((traffic->meeting_ms - last->traffic.meeting_ms) * ns_of_ms).text,
                     last->rank);
        if (last == rank || !isnan(traffic->meeting_ms))
            y = view_line(body, y, last == rank ? "waited for" : "waits", text, STYLE_PLAIN);
    }
    if (traffic->captured) {
        snprintf(text, sizeof text, "%llu calls captured: replays are not seen",
                 (unsigned long long)traffic->captured);
        y = view_line(body, y, "CUDA graphs", text, STYLE_PLAIN);
    }
    return y;
}

static void add_peak(const struct snapshot_use *use, char *ret, size_t size) {
    if (isnan(use->torch_peak)) return;
    int used = snprintf(ret, size, ", memory %s", format_bytes(use->torch_peak).text);
    if (isnan(use->memory_over_eager) || used < 0 || (size_t)used >= size) return;
    snprintf(ret + used, size - (size_t)used, ", %s of eager's",
             format_ratio(use->memory_over_eager).text);
}

/* What torch's allocators tell. */
static int torch_lines(struct area area, int y, const struct snapshot_rank *rank) {
    char text[300];
    if (!isnan(rank->device_bytes)) {
        int size =
            snprintf(text, sizeof text, "%s in tensors, peak %s",
                     format_bytes(rank->device_bytes).text, format_bytes(rank->device_peak).text);
        if (!isnan(rank->reserved))
            snprintf(text + size, sizeof text - (size_t)size,
                     ", %s reserved, %s retries, %s times out of memory",
                     format_bytes(rank->reserved).text, format_count(rank->retries).text,
                     format_count(rank->ooms).text);
        y = view_line(area, y, "device", text, STYLE_PLAIN);
    }
    if (!isnan(rank->cpu_bytes)) {
        char since[48] = "";
        if (rank->cpu_is_counted && !rank->cpu_is_whole)
            snprintf(since, sizeof since, "since step %llu: ", (unsigned long long)rank->cpu_since);
        snprintf(text, sizeof text,
                 "%s%s in tensors, peak %s in the step, %s in any, %s allocations", since,
                 format_bytes(rank->cpu_bytes).text, format_bytes(rank->cpu_peak).text,
                 format_bytes(rank->cpu_most).text, format_count(rank->allocs).text);
        y = view_line(area, y, "CPU", text, STYLE_PLAIN);
    }
    return y;
}

/* Compilers and torch's workers. */
static int compilers_line(struct area area, int y, const struct snapshot_rank *rank) {
    char text[160];
    if (isnan(rank->compilers_cpu_ms)) return y;
    int size = snprintf(text, sizeof text, "%s of CPU time, memory at the most %s",
                        format_duration(rank->compilers_cpu_ms * ns_of_ms).text,
                        format_bytes(rank->compilers_peak).text);
    if (rank->compilers > 0)
        snprintf(text + size, sizeof text - (size_t)size, "; %lld processes at the last look, %s",
                 (long long)rank->compilers, format_bytes(rank->compilers_rss).text);
    return view_line(area, y, "compilers", text, STYLE_PLAIN);
}

static int own_line(struct area area, int y, const struct snapshot_rank *rank) {
    char text[200];
    uint64_t lost = rank->dropped[0] + rank->dropped[1];
    if (isnan(rank->own_ms)) return y;
    snprintf(text, sizeof text, "%s a step, %.2g %% of it; %s in all; %s",
             format_duration(rank->own_ms * ns_of_ms).text, 100 * rank->own_ms / rank->median_ms,
             format_duration(rank->own_all_ms * ns_of_ms).text, lost ? "" : "nothing was dropped");
    if (lost)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%llu steps and %llu events were dropped", (unsigned long long)rank->dropped[0],
                 (unsigned long long)rank->dropped[1]);
    return view_line(area, y, "inductop", text, STYLE_PLAIN);
}

static int resident_line(struct area area, int y, const struct snapshot_rank *rank) {
    char text[100];
    snprintf(text, sizeof text, "%s now, the most %s", format_bytes(rank->rss).text,
             format_bytes(rank->rss_peak).text);
    return view_line(area, y, "resident", isnan(rank->rss) ? "" : text, STYLE_PLAIN);
}

static void detail(void *state, const struct view *view, struct area area) {
    struct ranks_panel *panel = state;
    size_t row;
    char text[300];
    struct area body = view_title(area, false, "The rank under the cursor", "");
    if (!table_cursor(panel->table, &row)) return;
    const struct snapshot_rank *rank = view->snapshot->ranks[row];
    const struct snapshot_identity *who = rank->who;
    int y = 0;
    if (who) {
        snprintf(text, sizeof text, "pid %lld on %.60s, Python %.20s, torch %.30s, %.20s",
                 (long long)who->pid, who->host ? who->host : "-", who->python ? who->python : "-",
                 who->torch ? who->torch : "-", who->device ? who->device : "-");
        y = view_line(body, y, "process", text, STYLE_PLAIN);
        y = view_line(body, y, "group", who->group, STYLE_PLAIN);
        y = view_line(body, y, "switching", who->switching, STYLE_PLAIN);
        y = view_line(body, y, "reason", who->reason, STYLE_PLAIN);
    }
    y = detail_traffic(view->snapshot, rank, body, y);
    for (size_t i = 0; rank->units && i < rank->units->count; i++) {
        const struct snapshot_unit *unit = &rank->units->units[i];
        char place[128] = "";
        if (unit->file && unit->has_line)
            snprintf(place, sizeof place, "%.80s:%lld  ", unit->file, (long long)unit->line);
        const struct snapshot_active *active = active_of(rank, unit);
        char seen[ACTIVE_TEXT_SIZE] = "";
        if (active) active_text(active, seen);
        snprintf(text, sizeof text, "%.80s  %sby %.30s%s%s", unit->name ? unit->name : "-", place,
                 unit->origin ? unit->origin : "-", active ? "  " : "", seen);
        y = view_line(body, y, "unit", text, STYLE_PLAIN);
    }
    y = torch_lines(body, y, rank);
    for (size_t i = 0; i < rank->use_count; i++) {
        const struct snapshot_use *use = &rank->uses[i];
        const struct snapshot_variant *variant = snapshot_variant(view->snapshot, use->variant);
        int size =
            snprintf(text, sizeof text, "%.60s: %llu steps, %s ms, compiled %s",
                     variant && variant->label ? variant->label : "-",
                     (unsigned long long)use->steps, format_ms(use->median_ms * ns_of_ms).text,
                     format_duration(use->compile_s * ns_of_s).text);
        add_peak(use, text + size, sizeof text - (size_t)size);
        y = view_line(body, y, "settings", text, STYLE_PLAIN);
    }
    y = resident_line(body, y, rank);
    y = compilers_line(body, y, rank);
    y = own_line(body, y, rank);
    if (!rank->traffic.backend && who)
        view_line(body, y, "collectives", who->collectives, STYLE_DIM);
}

static int rows(const struct view *view) {
    return (int)view->snapshot->rank_count;
}

const struct panel_class panel_ranks = {
    .name = "ranks",
    .title = "Ranks",
    .help = "every rank: step, time, speedup, compilations, memory, state",
    .place = PLACE_RANKS,
    .view = VIEW_RANKS,
    .scope = KEY_SCOPE_TABLE,
    .open = open_panel,
    .close = close_panel,
    .update = update,
    .draw = draw,
    .table = panel_own_table,
    .detail = detail,
    .rows = rows,
};
