/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/preset_shelf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

struct preset_shelf *shelf_new(const char *support) {
    struct preset_shelf *shelf = mem_new(sizeof *shelf);
    struct preset_list found = {0};
    preset_list_fill(&found, support);
    shelf->items = mem_array(found.count + 1, sizeof *shelf->items);
    for (size_t i = 0; i < found.count; i++) {
        struct preset_item *from = &found.items[i];
        if (from->is_hidden) continue;
        struct shelf_item *item = &shelf->items[shelf->count++];
        struct err err;
        preset_init(&item->preset);
        item->name = mem_strdup(from->name);
        item->path = mem_strdup(from->path);
        item->origin = from->origin;
        if (preset_load_file(from->path, &item->preset, &err))
            item->fault = mem_strdup(err.message);
    }
    preset_list_done(&found);
    return shelf;
}

uint64_t shelf_row(const char *path) {
    return str_hash(path, strlen(path));
}

struct preset_shelf *shelf_free(struct preset_shelf *shelf) {
    if (!shelf) return NULL;
    for (size_t i = 0; i < shelf->count; i++) {
        preset_done(&shelf->items[i].preset);
        free(shelf->items[i].name);
        free(shelf->items[i].path);
        free(shelf->items[i].fault);
    }
    free(shelf->items);
    free(shelf);
    return NULL;
}

const struct shelf_item *shelf_find(const struct preset_shelf *shelf, const char *name) {
    for (size_t i = 0; i < shelf->count; i++)
        if (strcmp(shelf->items[i].name, name) == 0) return &shelf->items[i];
    return NULL;
}

/* ---- saving ---- */

static void put(struct preset *preset, enum preset_measure measure, const char *text) {
    if (text && *text)
        preset_measure(preset, measure, text, NULL); /* what does not fit is left out */
}

static void put_number(struct preset *preset, enum preset_measure measure, const char *format,
                       double value) {
    char text[48];
    if (isnan(value)) return;
    if (strcmp(format, "u") == 0)
        snprintf(text, sizeof text, "%.0f", value);
    else
        snprintf(text, sizeof text, "%.4g", value);
    put(preset, measure, text);
}

static void put_speedup(struct preset *preset, const struct snapshot_speedup *speedup) {
    if (!speedup->has_ratio) return;
    put_number(preset, MEASURE_SPEEDUP, "g", speedup->ratio);
    put_number(preset, MEASURE_SPEEDUP_LOW, "g", speedup->low);
    put_number(preset, MEASURE_SPEEDUP_HIGH, "g", speedup->high);
}

static void put_measured(struct preset *preset, const struct view *view) {
    const struct snapshot_rank *rank = view->rank;
    const struct snapshot_variant *variant =
        view->group->has_variant ? snapshot_variant(view->snapshot, view->group->variant) : NULL;
    char date[16];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%d", &utc);
    put(preset, MEASURE_DATE, date);
    put_number(preset, MEASURE_RANKS, "u", (double)view->group->rank_count);
    if (rank && rank->units && rank->units->count)
        put(preset, MEASURE_MODEL, rank->units->units[0].name);
    if (rank && rank->who) put(preset, MEASURE_TORCH, rank->who->torch);
    put(preset, MEASURE_DEVICE, view->device);
    if (!variant) return;
    put_number(preset, MEASURE_STEP_MS, "g", variant->median_ms);
    put_number(preset, MEASURE_COMPILE_S, "g", variant->compile_s);
    put_number(preset, MEASURE_PEAK_BYTES, "u", variant->rss_peak);
    put_speedup(preset, &variant->speedup);
}

static int check_name(const char *name, struct err *err) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = strlen(name);
    if (size == 0 || size > 64 || name[0] == '.' || strspn(name, allowed) != size)
        return err_set(err, ERR_INVALID,
                       "preset '%.64s' cannot be saved: a name has letters, digits, '.', '_', '-'",
                       name);
    return 0;
}

int shelf_save(const struct view *view, const char *name, char **ret_path, struct err *err) {
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    CLEANUP(cleanup_free) char *folder = preset_folder(PRESET_USER, NULL);
    int rc = check_name(name, err);
    if (rc) return rc;
    if (!view->group)
        return err_set(err, ERR_REFUSED, "preset cannot be saved: no rank is there yet");
    if (!folder) return err_set(err, ERR_MISSING, "preset cannot be saved: HOME is not set");
    CLEANUP(cleanup_free) char *path = mem_printf("%s/%s.yaml", folder, name);
    preset_init(&preset);
    preset.name = mem_strdup(name);
    settings_copy(&preset.settings, &view->staging->now);
    put_measured(&preset, view);
    rc = preset_save_file(path, &preset, err);
    if (rc == 0) *ret_path = TAKE(path);
    return rc;
}
