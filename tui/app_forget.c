/* Letting go of what was compiled under settings that are not wanted any more: asked first, with what it frees and what it costs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "tui/app_inside.h"
#include "tui/format.h"
#include "engine/base/banned.h"

enum { LINE_KEEP = 1, LINE_FIRST = 2 }; /* behind the question itself */

void app_forget_done(struct app *app) {
    for (size_t i = 0; i < ARRAY_SIZE(app->forget.lines); i++) {
        free((char *)app->forget.lines[i]);
        app->forget.lines[i] = NULL;
    }
    app->forget.count = 0;
}

/* What the script compiles is its own, and what is in force is needed. */
static bool is_free(const struct app *app, const struct snapshot_variant *variant) {
    const struct snapshot_group *group = app->view.group;
    bool is_in_force = variant->current || (group->has_variant && group->variant == variant->variant);
    return variant->variant && variant->settings && variant->compiles && !variant->is_let_go && !is_in_force;
}

static unsigned answered(struct app *app, int answer) {
    struct settings given = SETTINGS_INIT;
    unsigned effects = 0;
    const struct snapshot_variant *variant =
        answer + 1 >= LINE_FIRST ? snapshot_variant(app->snapshot, app->forget.variants[answer + 1 - LINE_FIRST]) : NULL;
    if (variant) settings_put_pairs(&given, variant->settings);
    if (given.count) effects = app_request(app, REQUEST_FORGET, "forget", &given);
    settings_done(&given);
    return effects;
}

unsigned app_do_forget(struct app *app, int argument) {
    struct forget *forget = &app->forget;
    (void)argument;
    app_forget_done(app);
    for (size_t i = 0; app->view.group && i < app->snapshot->variant_count && forget->count < FORGET_MOST; i++) {
        const struct snapshot_variant *variant = &app->snapshot->variants[i];
        if (!is_free(app, variant)) continue;
        forget->variants[forget->count] = variant->variant;
        forget->lines[LINE_FIRST + forget->count++] =
            mem_printf("%s: frees %llu compilation%s; wanted again, it compiles %s", variant->label,
                       (unsigned long long)variant->compiles, variant->compiles == 1 ? "" : "s", format_duration(variant->compile_s * 1e9).text);
    }
    if (!forget->count) {
        app_tell(app, STYLE_PLAIN, "nothing to let go of: no other settings have compiled anything");
        return 0;
    }
    forget->lines[0] = mem_strdup("Let go of compiled code, on all ranks");
    forget->lines[LINE_KEEP] = mem_strdup("keep all");
    app_question_open(app, (const char *const *)forget->lines, answered);
    return 0;
}
