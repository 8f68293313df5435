/* What the bridge to libtorch offers, as plain C: the one line between C++ built against somebody's
 * torch and the rank core.
 *
 * The bridge is a library of its own, built from bridge.cc against the headers of the torch that
 * the job uses. It is loaded by loader.c and never unloaded. Every entry may be called from any
 * thread, takes no lock of the interpreter, throws nothing. Append only: `size` says how much of
 * the table there is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_BRIDGE_TABLE_H
#define INDUCTOP_RANK_BRIDGE_TABLE_H

#include <stdint.h>

#include "engine/wire/door.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BRIDGE_ABI 1u
#define BRIDGE_ENTRY "inductop_bridge"

/* Of torch's CPU allocator since cpu_count(): bytes as malloc rounds them. */
struct bridge_cpu {
    uint64_t bytes, peak; /* alive now; the most since the reading before */
    uint64_t allocations; /* since cpu_count() */
};

/* Of torch's caching allocators, summed over the devices that this process uses: bytes, but for the
 * counts. */
struct bridge_device {
    uint64_t allocated,
        allocated_peak; /* by tensors; its own peak, which only the job's script resets */
    uint64_t reserved, reserved_peak; /* taken from the device */
    uint64_t active, active_peak;     /* in blocks in use, or freed and not yet reusable */
    uint64_t retries, ooms; /* flushes of the cache for want of memory; times there was none */
};

struct bridge_table {
    uint32_t abi, size;
    const char *torch; /* TORCH_VERSION of the headers it was built with */

    /* Begins to count the CPU allocator. 0; or -1 with the reason in fault(), and nothing is
     * changed. Call it when no other thread allocates by torch for the first time: at torch's
     * import, or between two steps. */
    int (*cpu_count)(void);

    /* Reads, and begins a new peak at the bytes of now. 0; 1: somebody put another allocator in the
     * place of the counted one, and nothing is known. */
    int (*cpu_read)(struct bridge_cpu *ret);

    /* 0; 1: torch has no device in use here; -1: fault() says why it cannot be read. */
    int (*device_read)(struct bridge_device *ret);

    const char *(*fault)(void); /* of the last failed call of this thread */

    /* Has torch tell of gloo's collectives, as long as the door watches. The first call is to come
     * from the thread that trains, when no operator runs in it. NULL: fault() says why it cannot be
     * told. */
    const struct collective_door *(*gloo)(void);
};

/* BRIDGE_ENTRY. NULL for another ABI than the bridge's own. */
const struct bridge_table *inductop_bridge(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
