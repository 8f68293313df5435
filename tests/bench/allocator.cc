/* The counting allocator against the one below it, in turn in one process. Built and called by tests/bench/allocator.py.
 * SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "engine/rank/bridge/bridge.cc"

namespace {

double time_ns() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/* Once, before anything else. 0, or -1. */
EXPORT int bench_start(void) {
    return cpu_count();
}

/* Nanoseconds for a block of `size` bytes that is taken and given back, `count` times. */
EXPORT double bench_pair(int is_counting, size_t size, int count) {
    c10::Allocator *allocator = is_counting ? counting : inner;
    double begin = time_ns();
    for (int i = 0; i < count; i++) allocator->allocate(size).clear();
    return (time_ns() - begin) / count;
}

/* Which one torch uses from now on. */
EXPORT void bench_use(int is_counting) {
    set_allocator(is_counting ? counting : inner);
}

/* Nanoseconds for one reading, as at the end of each step. */
EXPORT double bench_read(int count) {
    struct bridge_cpu cpu;
    double begin = time_ns();
    for (int i = 0; i < count; i++) cpu_read(&cpu);
    return (time_ns() - begin) / count;
}
