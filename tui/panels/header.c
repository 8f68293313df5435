/* The first line: which job, its ranks, torch, step, rate and speedup; whether the picture is live.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/format.h"
#include "tui/panels.h"
#include "tui/pieces.h"
#include "engine/base/banned.h"

enum { PIECE_SIZE = 96 };

static bool is_script(const char *word, size_t size) {
    return size > 3 && memcmp(word + size - 3, ".py", 3) == 0;
}

/* What is trained: the first script among the words of the command, without its folders; else the
 * name of the session. */
static void put_name(char *ret, const struct snapshot_job *job) {
    for (const char *at = job && job->command ? job->command : ""; *at;) {
        size_t size = strcspn(at, " ");
        if (is_script(at, size)) {
            const char *slash = memrchr(at, '/', size);
            const char *name = slash ? slash + 1 : at;
            snprintf(ret, PIECE_SIZE, "%.*s", (int)(size - (size_t)(name - at)), name);
            return;
        }
        at += size + (at[size] != 0);
    }
    snprintf(ret, PIECE_SIZE, "%.60s", job && job->name ? job->name : "-");
}

static const char *launcher(const struct snapshot_job *job) {
    static const char *const names[][2] = {{"torch.distributed.run", "torchrun"},
                                           {"torchrun", "torchrun"},
                                           {"accelerate", "accelerate"},
                                           {"fabric", "fabric"},
                                           {"deepspeed", "deepspeed"},
                                           {"srun", "srun"}};
    for (size_t i = 0; job && job->command && i < ARRAY_SIZE(names); i++)
        if (strstr(job->command, names[i][0])) return names[i][1];
    return "";
}

/* Those that can be looked into and still run, of all; of a job that is over those that did. */
static unsigned put_ranks(char *ret, const struct view *view) {
    const struct snapshot_group *group = view->group;
    if (!group) {
        snprintf(ret, PIECE_SIZE, "no ranks yet");
        return STYLE_HEADER;
    }
    uint64_t all = group->has_world ? group->world : group->rank_count;
    size_t there =
        group->running && group->running < group->hooked ? group->running : group->hooked;
    snprintf(ret, PIECE_SIZE, "ranks %zu/%llu", there, (unsigned long long)all);
    return there < all ? STYLE_HEADER_LOST : STYLE_HEADER;
}

static void put_torch(char *ret, const struct view *view) {
    const struct snapshot_identity *who = view->rank ? view->rank->who : NULL;
    ret[0] = 0;
    if (who && who->torch)
        snprintf(ret, PIECE_SIZE, "torch %.*s %.20s", (int)strcspn(who->torch, "+"), who->torch,
                 who->device ? who->device : "");
}

static void put_step(char *ret, const struct view *view) {
    const struct snapshot_group *group = view->group;
    ret[0] = 0;
    if (!group || !group->has_step) return;
    if (group->step_least == group->step_most)
        snprintf(ret, PIECE_SIZE, "step %llu", (unsigned long long)group->step_most);
    else
        snprintf(ret, PIECE_SIZE, "steps %llu-%llu", (unsigned long long)group->step_least,
                 (unsigned long long)group->step_most);
}

static void put_speedup(char *ret, const struct view *view) {
    const struct snapshot_variant *variant =
        view->group && view->group->has_variant
            ? snapshot_variant(view->snapshot, view->group->variant)
            : NULL;
    ret[0] = 0;
    if (variant && variant->speedup.has_ratio)
        snprintf(ret, PIECE_SIZE, "%sx eager", format_ratio(variant->speedup.ratio).text);
}

static void put_job_end(char *ret, const struct snapshot_job *job) {
    if (job && job->has_signal)
        snprintf(ret, PIECE_SIZE, " ended by signal %lld ", (long long)job->signal);
    else if (job && job->has_exit)
        snprintf(ret, PIECE_SIZE, " ended, exit %lld ", (long long)job->exit);
    else
        snprintf(ret, PIECE_SIZE, " ended ");
}

/* What is the picture worth? */
static unsigned put_state(char *ret, const struct view *view) {
    static const char *const words[] = {" connecting ", " catching up ", " live ",
                                        " paused ",     " lost ",        " ended "};
    snprintf(ret, PIECE_SIZE, "%s", words[view->state]);
    if (view->is_frozen) {
        snprintf(ret, PIECE_SIZE, " frozen ");
        return STYLE_HEADER_FROZEN;
    }
    if (view->is_tape) {
        snprintf(ret, PIECE_SIZE, " tape%s %.0f/%.0f s ",
                 view->state == VIEW_PAUSED ? " paused" : "", view->snapshot->now, view->length);
        return view->state == VIEW_PAUSED ? STYLE_HEADER_FROZEN : STYLE_HEADER_LIVE;
    }
    if (view->state == VIEW_ENDED) put_job_end(ret, view->snapshot->job);
    return view->state == VIEW_LIVE                                ? STYLE_HEADER_LIVE
           : view->state == VIEW_LOST || view->state == VIEW_ENDED ? STYLE_HEADER_LOST
                                                                   : STYLE_HEADER_FROZEN;
}

static void put_rate(char *ret, const struct view *view) {
    double rate = view->group ? view->group->rate : NAN;
    if (view->rank && !view->is_tape && view->state != VIEW_ENDED)
        rate = snapshot_rate(view->snapshot, view->rank);
    snprintf(ret, PIECE_SIZE, "%s", isnan(rate) ? "" : format_rate(rate).text);
}

/* What is missing in the picture is said, never left out in silence. */
static void put_losses(char *ret, const struct view *view) {
    uint64_t lost = view->missed + view->bad;
    for (size_t i = 0; i < ARRAY_SIZE(view->snapshot->dropped); i++)
        lost += view->snapshot->dropped[i];
    ret[0] = 0;
    if (lost) snprintf(ret, PIECE_SIZE, "%s not told", format_count((double)lost).text);
}

static void draw(void *state, const struct view *view, struct area area, bool has_focus) {
    char name[PIECE_SIZE], ranks[PIECE_SIZE], torch[PIECE_SIZE], step[PIECE_SIZE], rate[PIECE_SIZE],
        speedup[PIECE_SIZE], losses[PIECE_SIZE], live[PIECE_SIZE];
    (void)state, (void)has_focus;
    put_name(name, view->snapshot->job);
    unsigned ranks_style = put_ranks(ranks, view);
    put_torch(torch, view);
    put_step(step, view);
    put_rate(rate, view);
    put_speedup(speedup, view);
    put_losses(losses, view);
    unsigned live_style = put_state(live, view);
    const struct piece pieces[] = {
        {" inductop", STYLE_HEADER_NAME, 4, false},
        {name, STYLE_HEADER, 3, false},
        {launcher(view->snapshot->job), STYLE_HEADER, 8, false},
        {ranks, ranks_style, 1, false},
        {torch, STYLE_HEADER, 7, false},
        {step, STYLE_HEADER, 2, false},
        {rate, STYLE_HEADER, 6, false},
        {speedup, STYLE_HEADER, 5, false},
        {losses, STYLE_HEADER_LOST, 9, false},
        {view->is_readonly && !view->is_tape ? " read-only " : "", STYLE_HEADER_FROZEN, 10, true},
        {live, live_style, 0, true},
    };
    area_fill(area, STYLE_HEADER, " ");
    pieces_draw(pieces, ARRAY_SIZE(pieces), " · ", STYLE_HEADER, area);
}

const struct panel_class panel_header = {
    .name = "header",
    .title = "Job",
    .help = "the job, its ranks, torch, step, rate, speedup, and whether the picture is live",
    .place = PLACE_HEADER,
    .draw = draw,
};
