/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/host.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/banned.h"

static const char *root = "";

void host_set_root(const char *folder) {
    root = folder ? folder : "";
}

/* A number behind `name` in a file of lines "name number"; the whole file is the number when `name` is NULL. NaN: none. */
static double number_in(const char *path, const char *name) {
    double found = NAN;
    char line[PATH_MAX];
    snprintf(line, sizeof line, "%s%s", root, path);
    FILE *file = fopen(line, "re");
    if (!file) return NAN;
    while (isnan(found) && fgets(line, sizeof line, file)) {
        size_t size = name ? strlen(name) : 0;
        char *end;
        if (name && strncmp(line, name, size)) continue;
        double number = strtod(line + size, &end);
        if (end != line + size) found = number;
    }
    fclose(file);
    return found;
}

/* Files of a control group, in its two versions: the limit, what is used, and what of it can be given back. */
static const struct group_files {
    const char *top, *most, *now, *cache;
} version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
  version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

/* Bytes that the group at this path has left; NaN: it has no limit. */
static double group_left(const struct group_files *files, const char *path) {
    char most[PATH_MAX], now[PATH_MAX], stat[PATH_MAX];
    snprintf(most, sizeof most, "%s%s/%s", files->top, path, files->most);
    snprintf(now, sizeof now, "%s%s/%s", files->top, path, files->now);
    snprintf(stat, sizeof stat, "%s%s/memory.stat", files->top, path);
    return number_in(most, NULL) - (number_in(now, NULL) - fmax(number_in(stat, files->cache), 0));
}

double host_memory_left(void) {
    double left = 1024 * number_in("/proc/meminfo", "MemAvailable:");
    char line[PATH_MAX];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) { /* "0::/PATH", "4:cpu,memory:/PATH" */
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        bool is_2 = path == controllers + 1;
        const char *name = strstr(controllers, "memory");
        if (!is_2 && (!name || name > path)) continue;
        path[strcspn(path, "\n")] = '\0';
        /* The group, then each above it. */
        for (char *end = path + strlen(path); end > path; end = strrchr(path, '/') ? strrchr(path, '/') : path) {
            *end = '\0';
            left = fmin(left, group_left(is_2 ? &version_2 : &version_1, path + 1));
        }
    }
    if (file) fclose(file);
    return left;
}
