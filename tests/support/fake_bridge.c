/* A bridge without torch, for tests of the loader: what it answers, the test sets in `fake`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_bridge.h"

#include <stddef.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

ATTR_EXPORT struct fake_bridge fake = {.torch = "2.13.0"};

static int cpu_count(void) {
    fake.counts++;
    return fake.fault ? -1 : 0;
}

static int cpu_read(struct bridge_cpu *ret) {
    *ret = fake.cpu;
    fake.cpu.peak = fake.cpu.bytes;
    return fake.cpu_answer;
}

static int device_read(struct bridge_device *ret) {
    *ret = fake.device;
    return fake.device_answer;
}

static const char *fault(void) {
    return fake.fault;
}

static void watch(unsigned what) {
    fake.watched = what;
}

static void read_gloo(struct collective_figures *ret) {
    *ret = fake.gloo;
}

static const struct collective_door door = {COLLECTIVE_DOOR_VERSION, "gloo", true, watch, read_gloo};

static const struct collective_door *gloo(void) {
    return &door;
}

static struct bridge_table table = {BRIDGE_ABI, sizeof table, NULL,  cpu_count,
                                    cpu_read,   device_read,  fault, gloo};

ATTR_EXPORT const struct bridge_table *inductop_bridge(uint32_t abi) {
    table.torch = fake.torch;
    return fake.is_strange || abi != BRIDGE_ABI ? NULL : &table;
}
