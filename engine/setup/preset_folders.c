/* Where presets are found: the project's, the user's and the shipped folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/setup/file.h"
#include "engine/setup/nearest.h"
#include "engine/setup/preset.h"
#include "engine/setup/preset_parts.h"

#include "engine/base/banned.h"

static const char *const suffixes[] = {".yaml", ".yml"};

const char *preset_origin_name(enum preset_origin origin) {
    static const char *const names[PRESET_ORIGIN_COUNT] = {"project", "user", "shipped"};
    return names[origin];
}

char *preset_folder(enum preset_origin origin, const char *support) {
    switch (origin) {
    case PRESET_PROJECT: return mem_strdup("presets");
    case PRESET_USER: return file_of_user("presets");
    case PRESET_SHIPPED: return support ? mem_printf("%s/presets", support) : NULL;
    case PRESET_ORIGIN_COUNT: break;
    }
    return NULL;
}

static size_t suffix_length(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if (has_suffix(name, suffixes[i])) return strlen(suffixes[i]);
    return 0;
}

static int refuse_unknown(const char *name, const char *support, struct err *err) {
    struct preset_list list = {0};
    preset_list_fill(&list, support);
    const char **names = mem_array(list.count + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++)
        if (!list.items[i].is_hidden) names[count++] = list.items[i].name;
    int code = err_set(err, ERR_MISSING, "preset '%s' is not known", name);
    err_hint(err, "The presets are listed by 'inductop preset list'.");
    nearest_hint(err, name, names, count);
    free(names);
    preset_list_done(&list);
    return code;
}

int preset_find(const char *name, const char *support, char **ret_path, struct err *err) {
    if (!*name) return err_set(err, ERR_INVALID, "name of a preset is empty");
    if (strchr(name, '/') || suffix_length(name)) {
        if (access(name, F_OK) != 0)
            return err_set(err, ERR_MISSING, "preset file '%s' is not there", name);
        *ret_path = mem_strdup(name);
        return 0;
    }
    for (int origin = 0; origin < PRESET_ORIGIN_COUNT; origin++) {
        CLEANUP(cleanup_free) char *folder = preset_folder(origin, support);
        for (size_t i = 0; folder && i < ARRAY_SIZE(suffixes); i++) {
            char *path = mem_printf("%s/%s%s", folder, name, suffixes[i]);
            if (access(path, F_OK) == 0) {
                *ret_path = path;
                return 0;
            }
            free(path);
        }
    }
    return refuse_unknown(name, support, err);
}

int preset_load(const char *name, const char *support, struct preset *ret, struct err *err) {
    CLEANUP(cleanup_free) char *path = NULL;
    int rc = preset_find(name, support, &path, err);
    if (rc < 0) return rc;
    if (strcmp(path, name) == 0) return preset_load_file(path, ret, err);
    rc = preset_read_file(path, ret, err);
    return rc < 0 ? (err_wrap(err, "could not load preset '%s' from '%s'", name, path), rc) : 0;
}

static void add_item(struct preset_list *list, enum preset_origin origin, const char *folder,
                     const char *file) {
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->items = mem_resize(list->items, list->room, sizeof list->items[0]);
    }
    list->items[list->count++] = (struct preset_item){
        .name = mem_strndup(file, strlen(file) - suffix_length(file)),
        .path = mem_printf("%s/%s", folder, file),
        .origin = origin,
    };
}

static void add_folder(struct preset_list *list, enum preset_origin origin, const char *folder) {
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (entry->d_name[0] != '.' && suffix_length(entry->d_name))
            add_item(list, origin, folder, entry->d_name);
    closedir(entries);
}

/* By name, then in the order in which preset_find() asks: origin, .yaml before .yml. */
static int compare_items(const void *left, const void *right) {
    const struct preset_item *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order == 0) order = (int)a->origin - (int)b->origin;
    return order ? order : strcmp(a->path, b->path);
}

void preset_list_fill(struct preset_list *list, const char *support) {
    for (int origin = 0; origin < PRESET_ORIGIN_COUNT; origin++) {
        CLEANUP(cleanup_free) char *folder = preset_folder(origin, support);
        if (folder) add_folder(list, origin, folder);
    }
    if (!list->count) return;
    qsort(list->items, list->count, sizeof list->items[0], compare_items);
    for (size_t i = 1; i < list->count; i++)
        list->items[i].is_hidden = strcmp(list->items[i].name, list->items[i - 1].name) == 0;
}

void preset_list_done(struct preset_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].path);
    }
    free(list->items);
    *list = (struct preset_list){0};
}
