/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/bridge/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/banned.h"

/* ---- loading */

/* What is loaded runs in the job: only what this user, or the system's, put there. */
static int check_file(const char *path, struct err *err) {
    struct stat file;
    if (lstat(path, &file)) return err_set(err, ERR_MISSING, "file '%s' is not there", path);
    bool is_ours = file.st_uid == geteuid() || file.st_uid == 0;
    if (!S_ISREG(file.st_mode) || !is_ours || file.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_REFUSED, "file '%s' is not this user's alone", path);
    return 0;
}

/* Do they begin with the same two numbers? */
static bool is_same_version(const char *a, const char *b) {
    unsigned a_major, a_minor, b_major, b_minor;
    return sscanf(a, "%u.%u", &a_major, &a_minor) == 2 &&
           sscanf(b, "%u.%u", &b_major, &b_minor) == 2 && a_major == b_major && a_minor == b_minor;
}

int bridge_load(struct bridge *bridge, const char *path, const char *torch, struct err *err) {
    int rc = bridge->table ? err_set(err, ERR_BUSY, "a bridge is loaded already")
                           : check_file(path, err);
    if (rc) return rc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return err_set(err, ERR_SYSTEM, "%s", dlerror());
    const struct bridge_table *(*enter)(uint32_t);
    void *entry = dlsym(library, BRIDGE_ENTRY);
    memcpy(&enter, &entry, sizeof enter);
    const struct bridge_table *table = entry ? enter(BRIDGE_ABI) : NULL;
    if (!table || table->size < sizeof *table)
        return err_set(err, ERR_REFUSED, "file '%s' is no bridge of this version", path);
    if (!is_same_version(table->torch, torch))
        return err_set(err, ERR_REFUSED, "the bridge was built for torch %s, this is %s",
                       table->torch, torch);
    if (table->cpu_count()) return err_set(err, ERR_REFUSED, "%s", table->fault());
    struct bridge_cpu unused;
    table->cpu_read(&unused); /* the peak of trying it out */
    bridge->table = table;
    return 0;
}

/* ---- a step */

void bridge_step(struct bridge *bridge, struct step_record *record) {
    struct bridge_cpu cpu;
    if (!bridge->table) return;
    if (bridge->table->cpu_read(&cpu) == 0) {
        record->cpu_bytes = cpu.bytes;
        record->cpu_peak_bytes = cpu.peak;
        record->allocs = (uint32_t)(cpu.allocations - bridge->allocations);
        record->valid |= STEP_HAS_CPU | STEP_HAS_ALLOCS;
    }
    bridge->allocations = cpu.allocations;
    bridge->has_device = bridge->table->device_read(&bridge->device) == 0;
    if (!bridge->has_device) return;
    record->device_bytes = bridge->device.allocated;
    record->device_peak_bytes = bridge->device.allocated_peak;
    record->valid |= STEP_HAS_DEVICE;
}

/* ---- what does not stand in a step */

size_t bridge_event(struct bridge *bridge, uint64_t now_ns, char ret_text[BRIDGE_EVENT_ROOM]) {
    const struct bridge_device *device = &bridge->device, *told = &bridge->told;
    if (!bridge->has_device || (bridge->told_ns && now_ns < bridge->told_ns + BRIDGE_EVENT_NS))
        return 0;
    bool is_same = bridge->told_ns && device->reserved == told->reserved &&
                   device->reserved_peak == told->reserved_peak &&
                   device->retries == told->retries && device->ooms == told->ooms;
    if (is_same) return 0;
    bridge->told = *device;
    bridge->told_ns = now_ns;
    int size = snprintf(ret_text, BRIDGE_EVENT_ROOM,
                        "{\"v\":1,\"kind\":\"memory\",\"ns\":%llu,\"reserved\":%llu,\"reserved_"
                        "peak\":%llu,\"active\":%llu,\"active_peak\":%llu,"
                        "\"retries\":%llu,\"ooms\":%llu}",
                        (unsigned long long)now_ns, (unsigned long long)device->reserved,
                        (unsigned long long)device->reserved_peak,
                        (unsigned long long)device->active, (unsigned long long)device->active_peak,
                        (unsigned long long)device->retries, (unsigned long long)device->ooms);
    return size > 0 && size < BRIDGE_EVENT_ROOM ? (size_t)size : 0;
}
