/* A rank's memory as torch's allocators tell it: the peaks under each set of settings, and what its
 * devices hold. All zero is a rank that told nothing. What is not known is NaN.
 *
 * The CPU allocator tells the peak of each step. The device allocator tells one peak, that of all
 * steps so far: a set of settings gets it in the steps in which it rose, and without such a step
 * its peak is not known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_MEMORY_H
#define INDUCTOP_DATA_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/growth.h"
#include "engine/event/event.h"

/* Under one set of settings. */
struct memory_peaks {
    bool has_cpu, has_device;
    uint64_t cpu; /* the most of a clean step */
    uint64_t device;
};

struct memory {
    bool is_counted; /* the CPU allocator is */
    bool is_whole;   /* since torch was imported: nothing is missing in what it tells */
    uint64_t since;  /* if not: steps that were done by then */
    bool has_cpu, has_device, has_reserved;
    uint64_t cpu_most;    /* the most of any step */
    uint64_t device_peak; /* as told last */
    uint64_t reserved, reserved_peak, retries, ooms;
    struct growth torch_growth, rss_growth; /* of the device, else of the CPU; of the process */
};

void memory_step(struct memory *memory, struct memory_peaks *use, const struct step_record *record);

/* Events of the kinds memory and bridge; others are left alone. */
void memory_take(struct memory *memory, const struct event *event);

/* Of the device when it is known, else of the CPU. */
double memory_peak(const struct memory_peaks *use);

/* The peak over that of eager, both of the device or both of the CPU. NaN for figures of the CPU in
 * which something is missing. */
double memory_over_eager(const struct memory *memory, const struct memory_peaks *use,
                         const struct memory_peaks *eager);

#endif
