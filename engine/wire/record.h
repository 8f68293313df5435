/* Fixed binary records: what a rank sends often. Little-endian, naturally aligned, no padding; append only.
 * A reading that is not there has its bit in `valid` clear: missing is never 0.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_RECORD_H
#define INDUCTOP_WIRE_RECORD_H

#include <assert.h>
#include <stdint.h>

/* Why a step is not clean: bits of step_record.why. A step with any bit set never counts in a comparison. */
enum step_why {
#define WHY(symbol, bit, name, text) STEP_WHY_##symbol = 1 << (bit),
#include "engine/wire/why.def"
#undef WHY
};

/* Bits of step_record.valid. */
enum step_valid {
    STEP_HAS_DATA = 1 << 0,
    STEP_HAS_FORWARD = 1 << 1,
    STEP_HAS_BACKWARD = 1 << 2,
    STEP_HAS_OPTIMIZER = 1 << 3,
    STEP_HAS_OWN = 1 << 4,
    STEP_HAS_RSS = 1 << 5,
    STEP_HAS_CPU = 1 << 6,    /* cpu_bytes and cpu_peak_bytes */
    STEP_HAS_DEVICE = 1 << 7, /* device_bytes and device_peak_bytes */
    STEP_HAS_ALLOCS = 1 << 8,
};

/* One step of the pacing optimizer. Step k is the k-th from 0; a switch "at k" means that step k is the first under it. */
struct step_record {
    uint64_t step;
    uint64_t end_ns; /* CLOCK_MONOTONIC */
    uint64_t dur_ns; /* since the end of the step before; 0 for the first */
    uint64_t data_ns, forward_ns, backward_ns, optimizer_ns;
    uint64_t rss_bytes, cpu_bytes, cpu_peak_bytes, device_bytes, device_peak_bytes;
    uint32_t variant; /* key of the settings in force, 0: as written; see settings_key() */
    uint32_t own_ns;  /* inductop's own work at the boundary before the step, which is part of its time; waits for others there too */
    uint32_t valid;   /* enum step_valid */
    uint32_t why;     /* enum step_why; 0: clean */
    uint32_t seq;     /* counts every record made, also those dropped: a gap is a loss */
    uint32_t allocs;  /* blocks that torch's CPU allocator handed out */
};
static_assert(sizeof(struct step_record) == 120, "the size is part of the wire");

/* Once a beat (100 ms): alive, memory, and what was lost. */
struct beat_record {
    uint64_t now_ns;
    uint64_t step;
    uint64_t step_ns; /* when the step before ended */
    uint64_t rss_bytes, rss_peak_bytes; /* 0: not known */
    uint64_t steps_dropped, events_dropped;
    uint32_t faults;  /* errors of ours that were caught in the agent */
    uint32_t variant; /* settings in force */
    uint32_t decided; /* id of the last proposal that was committed and taken here */
    uint32_t pid;
};
static_assert(sizeof(struct beat_record) == 72, "the size is part of the wire");

/* Engine to viewer, before the step records of one rank: who it is, and what was lost of it since it began. Behind it come
 * `group_size` bytes, the key of its group, then the step records. */
struct rank_steps_record {
    int32_t rank;
    uint32_t group_size;
    uint64_t steps_dropped, events_dropped, bad; /* as LOSS_STEPS, LOSS_EVENTS, LOSS_BAD of the engine's store */
};
static_assert(sizeof(struct rank_steps_record) == 32, "the size is part of the wire");

/* Engine to viewer, before an event: its number (see engine/viewers.h; 0: it has none) and from which group. Behind it come
 * `group_size` bytes, the key of the group of the rank that it comes from (none: of no rank), then the event as JSON. */
struct rank_event_record {
    uint64_t seq;
    uint32_t group_size, reserved;
};
static_assert(sizeof(struct rank_event_record) == 16, "the size is part of the wire");

struct vote_record {
    uint32_t id, ready; /* ready: 0 or 1 */
};

struct prepare_record {
    uint32_t id, flags; /* flags: 0 */
};

#endif
