/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/children.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

enum { LEVELS_MOST = 16 };

struct child {
    pid_t pid, parent;
    uint64_t own_ticks, ended_ticks; /* ended: of children that were waited for */
    uint64_t rss_pages;
};

struct children {
    size_t count, room;
    struct child *all;
};

/* What torch starts to compile with. The first is the pool's; of the others the program's name has
 * it in it: x86_64-linux-gnu-g++-12, ccache, clang++. */
static const char worker[] = "_inductor/compile_worker";
static const char *const compilers[] = {"g++",  "gcc", "c++",   "clang", "ccache",
                                        "icpx", "icx", "hipcc", "nvcc",  "ptxas"};

static ssize_t read_file(pid_t pid, const char *name, char *ret, size_t room) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, ret, room - 1);
    if (size >= 0) ret[size] = 0;
    return size;
}

/* Numbers as proc_pid_stat(5) counts its fields, from 3 on. */
static bool read_child(pid_t pid, struct child *ret) {
    enum { FIRST = 3, PPID = 4, UTIME = 14, STIME, CUTIME, CSTIME, RSS = 24, COUNT };
    char text[1024];
    uint64_t field[COUNT] = {0};
    if (read_file(pid, "stat", text, sizeof text) <= 0) return false;
    char *at = strrchr(text, ')');
    for (int i = FIRST; at && i < COUNT && (at = strchr(at, ' ')); i++)
        field[i] = strtoull(++at, NULL, 10);
    if (!at) return false;
    *ret = (struct child){.pid = pid,
                          .parent = (pid_t)field[PPID],
                          .own_ticks = field[UTIME] + field[STIME],
                          .ended_ticks = field[CUTIME] + field[CSTIME],
                          .rss_pages = field[RSS]};
    return true;
}

static uint64_t ms_of(uint64_t ticks) {
    return ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void add(struct children *children, const struct child *child) {
    if (children->count == children->room) {
        children->room = children->room ? 2 * children->room : 512;
        children->all = mem_resize(children->all, children->room, sizeof children->all[0]);
    }
    children->all[children->count++] = *child;
}

struct children *children_read(void) {
    struct children *children = mem_new(sizeof *children);
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct child child;
        if (isdigit((unsigned char)entry->d_name[0]) &&
            read_child((pid_t)strtol(entry->d_name, NULL, 10), &child))
            add(children, &child);
    }
    if (folder) closedir(folder);
    return children;
}

struct children *children_free(struct children *children) {
    if (!children) return NULL;
    free(children->all);
    free(children);
    return NULL;
}

bool children_is_compiler(const char *words, size_t size) {
    const char *slash = strrchr(words, '/'), *name = slash ? slash + 1 : words;
    for (size_t i = 0; i < ARRAY_SIZE(compilers); i++)
        if (strstr(name, compilers[i])) return true;
    for (const char *word = words; word < words + size; word += strlen(word) + 1)
        if (strstr(word, worker)) return true;
    return false;
}

static bool compiles(pid_t pid) {
    char words[4096];
    ssize_t size = read_file(pid, "cmdline", words, sizeof words);
    return size > 0 && children_is_compiler(words, (size_t)size);
}

static void add_tree(const struct children *children, const struct child *top, int level,
                     struct children_figures *sum) {
    sum->processes++;
    sum->cpu_ms += ms_of(top->own_ticks + top->ended_ticks);
    sum->rss_bytes += top->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < children->count && level < LEVELS_MOST; i++)
        if (children->all[i].parent == top->pid)
            add_tree(children, &children->all[i], level + 1, sum);
}

struct children_figures children_of(const struct children *children, pid_t pid) {
    struct children_figures sum = {0};
    for (size_t i = 0; i < children->count; i++)
        if (children->all[i].parent == pid && compiles(children->all[i].pid))
            add_tree(children, &children->all[i], 0, &sum);
    return sum;
}

bool children_ended_ms(pid_t pid, uint64_t *ret) {
    struct child child;
    if (!read_child(pid, &child)) return false;
    *ret = ms_of(child.ended_ticks);
    return true;
}
