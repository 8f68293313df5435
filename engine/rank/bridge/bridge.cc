/* The bridge to libtorch: the only C++ here, built on first use against the headers of the torch that a job uses. Needs nothing but
 * torch's own header files and its library libc10, with CUDA or without.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#endif
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/csrc/api/include/torch/version.h>
#endif

#include <atomic>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <malloc.h>

#include "engine/rank/bridge/table.h"

/* The caching allocators of all kinds of devices have one base class since 2.9. */
#define HAS_DEVICES (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9))

namespace {

thread_local char fault_text[256];

int fail(const char *why) {
    std::snprintf(fault_text, sizeof fault_text, "%s", why);
    return -1;
}

const char *fault() {
    return fault_text;
}

/* ---- the CPU allocator */

/* Never destroyed: tensors are freed until the very end of the process. On a cache line of its own. */
struct alignas(64) Counters {
    std::atomic<int64_t> bytes{0}, peak{0};
    std::atomic<uint64_t> allocations{0};
};

Counters counters;
c10::Allocator *inner, *counting; /* never freed: blocks come back to them until the end */
c10::DeleterFnPtr inner_delete;

/* Blocks have no room for a size of ours, and need none: malloc knows it. */
void counted_delete(void *block) {
    if (block) counters.bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
    inner_delete(block);
}

void count(void *block) {
    auto size = static_cast<int64_t>(malloc_usable_size(block));
    int64_t bytes = counters.bytes.fetch_add(size, std::memory_order_relaxed) + size;
    int64_t peak = counters.peak.load(std::memory_order_relaxed);
    while (bytes > peak && !counters.peak.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) {
    }
    counters.allocations.fetch_add(1, std::memory_order_relaxed);
}

/* Hands out the very blocks of the allocator that was there. Only their deleter is another, by which those that were counted are told
 * from those that were not: what was allocated before keeps its own. */
struct Counting final : c10::Allocator {
    c10::DataPtr allocate(size_t size) override {
        c10::DataPtr data = inner->allocate(size);
        void *block = data.get();
        bool is_plain = data.get_context() == block && data.compare_exchange_deleter(inner_delete, counted_delete);
        if (is_plain && block) count(block);
        return data;
    }
    c10::DeleterFnPtr raw_deleter() const override {
        return counted_delete;
    }
    bool is_simple_data_ptr(const c10::DataPtr &data) const override {
        return inner->is_simple_data_ptr(data);
    }
    void copy_data(void *to, const void *from, size_t size) const override {
        inner->copy_data(to, from, size);
    }
};

/* Whoever set the allocator with a priority keeps ours out with the plain one. */
bool set_allocator(c10::Allocator *allocator) {
    c10::SetCPUAllocator(allocator, 0);
    if (c10::GetCPUAllocator() != allocator) c10::SetCPUAllocator(allocator, UINT8_MAX);
    return c10::GetCPUAllocator() == allocator;
}

/* A known block: counted when it comes, back when it goes, of the size and alignment that were asked for. */
bool counts_truly(c10::Allocator *allocator) {
    constexpr size_t size = 100000;
    int64_t before = counters.bytes.load();
    c10::DataPtr data = allocator->allocate(size);
    int64_t with = counters.bytes.load() - before;
    data.clear();
    return with >= static_cast<int64_t>(size) && with < static_cast<int64_t>(2 * size) && counters.bytes.load() == before;
}

int cpu_count() {
    try {
        if (counting) return 0;
        inner = c10::GetCPUAllocator();
        inner_delete = inner->raw_deleter();
        if (!inner_delete) return fail("torch's CPU allocator is one whose blocks cannot be told apart");
        auto *fresh = new Counting;
        if (!counts_truly(fresh)) return fail("blocks of torch's CPU allocator do not come from malloc");
        if (!set_allocator(fresh)) return fail("torch did not take another CPU allocator");
        counters.allocations.store(0);
        counting = fresh;
        return 0;
    } catch (const std::exception &error) {
        return fail(error.what());
    } catch (...) {
        return fail("an unknown C++ exception");
    }
}

/* What somebody allocated raw before us and frees raw after is a loss that was no gain: never below nothing. */
uint64_t positive(int64_t value) {
    return value > 0 ? static_cast<uint64_t>(value) : 0;
}

int cpu_read(struct bridge_cpu *ret) {
    int64_t bytes = counters.bytes.load(std::memory_order_relaxed);
    ret->bytes = positive(bytes);
    ret->peak = positive(counters.peak.exchange(bytes, std::memory_order_relaxed));
    ret->allocations = counters.allocations.load(std::memory_order_relaxed);
    return c10::GetCPUAllocator() == counting ? 0 : 1;
}

/* ---- devices */

#if HAS_DEVICES
constexpr c10::DeviceType kinds[] = {c10::DeviceType::CUDA, c10::DeviceType::XPU, c10::DeviceType::PrivateUse1};
enum { DEVICES_MOST = 64, LOOK_AGAIN = 64 };

/* The devices that this process has memory on. Which, is looked for anew now and then: most steps change nothing there. */
struct Devices {
    c10::DeviceAllocator *allocator = nullptr;
    int count = 0;
    uint64_t in_use = 0; /* one bit a device */
    unsigned reads = 0;
};
Devices devices;

void look_for_devices() {
    devices.allocator = nullptr;
    for (c10::DeviceType kind : kinds) {
        if (!c10::impl::hasDeviceGuardImpl(kind)) continue;
        auto *found = dynamic_cast<c10::DeviceAllocator *>(c10::GetAllocator(kind));
        if (!found || !found->initialized()) continue;
        devices.allocator = found;
        devices.count = c10::impl::getDeviceGuardImpl(kind)->deviceCount();
        if (devices.count > DEVICES_MOST) devices.count = DEVICES_MOST;
        return;
    }
}

void add_device(int index, struct bridge_device *sum) {
    c10::CachingDeviceAllocator::DeviceStats stats = devices.allocator->getDeviceStats(static_cast<c10::DeviceIndex>(index));
    if (!stats.reserved_bytes[0].peak) return;
    devices.in_use |= uint64_t{1} << index;
    sum->allocated += positive(stats.allocated_bytes[0].current);
    sum->allocated_peak += positive(stats.allocated_bytes[0].peak);
    sum->reserved += positive(stats.reserved_bytes[0].current);
    sum->reserved_peak += positive(stats.reserved_bytes[0].peak);
    sum->active += positive(stats.active_bytes[0].current);
    sum->active_peak += positive(stats.active_bytes[0].peak);
    sum->retries += positive(stats.num_alloc_retries);
    sum->ooms += positive(stats.num_ooms);
}

int device_read(struct bridge_device *ret) {
    try {
        bool is_look = devices.reads++ % LOOK_AGAIN == 0;
        if (is_look) look_for_devices();
        if (!devices.allocator) return 1;
        *ret = {};
        for (int index = 0; index < devices.count; index++)
            if (is_look || devices.in_use >> index & 1) add_device(index, ret);
        return devices.in_use ? 0 : 1;
    } catch (const std::exception &error) {
        return fail(error.what());
    } catch (...) {
        return fail("an unknown C++ exception");
    }
}
#else
int device_read(struct bridge_device *) {
    return fail("this torch keeps no figures of devices that can be read without Python");
}
#endif

const struct bridge_table table = {
    BRIDGE_ABI, sizeof table, TORCH_VERSION, cpu_count, cpu_read, device_read, fault,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const struct bridge_table *inductop_bridge(uint32_t abi) {
    return abi == BRIDGE_ABI ? &table : nullptr;
}
