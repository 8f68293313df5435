/* The bridge to libtorch: the only C++ here, built on first use against the headers of the torch that a job uses. Needs nothing but
 * torch's own header files and its libraries libc10 and libtorch_cpu, with CUDA or without.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ATen/record_function.h>
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
#include <cstring>
#include <exception>
#include <initializer_list>
#include <malloc.h>
#include <memory>
#include <time.h>

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

/* ---- gloo's collectives: ranges that torch records around each, from gloo's start of it to its end, on gloo's own threads */

struct Func {
    std::atomic<uint64_t> count{0}, bytes{0}, timed{0}, timed_ns{0};
};
Func funcs[COLLECTIVE_FUNC_COUNT];
std::atomic<bool> gloo_is_watched{false};
at::CallbackHandle gloo_listener = at::INVALID_CALLBACK_HANDLE;

constexpr char gloo_prefix[] = "gloo:";
constexpr struct {
    const char *name;
    enum collective_func func;
} gloo_names[] = {
    {"all_reduce", COLLECTIVE_FUNC_ALL_REDUCE}, {"sparse_all_reduce", COLLECTIVE_FUNC_ALL_REDUCE},
    {"broadcast", COLLECTIVE_FUNC_BROADCAST},   {"all_gather", COLLECTIVE_FUNC_ALL_GATHER},
    {"reduce", COLLECTIVE_FUNC_REDUCE},         {"reduce_scatter", COLLECTIVE_FUNC_REDUCE_SCATTER},
    {"gather", COLLECTIVE_FUNC_GATHER},         {"scatter", COLLECTIVE_FUNC_SCATTER},
    {"barrier", COLLECTIVE_FUNC_BARRIER},       {"all_to_all", COLLECTIVE_FUNC_ALL_TO_ALL},
    {"send", COLLECTIVE_FUNC_SEND},             {"recv", COLLECTIVE_FUNC_RECV},
    {"recvAnySource", COLLECTIVE_FUNC_RECV},
};

struct Call final : at::ObserverContext {
    Call(Func *of, uint64_t now) : func(of), begun_ns(now) {}
    Func *func;
    uint64_t begun_ns;
};

uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

/* Without a size are those that are not there, and sparse ones. */
uint64_t bytes_of(const c10::IValue &input) {
    if (!input.isTensor()) return 0;
    const at::Tensor &tensor = input.toTensor();
    return tensor.defined() && tensor.layout() == c10::kStrided ? tensor.nbytes() : 0;
}

/* Of all ranges that users and torch name, only gloo's. What is thrown here torch catches. */
std::unique_ptr<at::ObserverContext> gloo_begun(const at::RecordFunction &range) {
    if (!gloo_is_watched.load(std::memory_order_relaxed)) return nullptr;
    const char *name = range.name();
    if (std::strncmp(name, gloo_prefix, sizeof gloo_prefix - 1) != 0) return nullptr;
    enum collective_func func = COLLECTIVE_FUNC_OTHER;
    for (const auto &known : gloo_names)
        if (std::strcmp(name + sizeof gloo_prefix - 1, known.name) == 0) func = known.func;
    uint64_t bytes = 0;
    for (const c10::IValue &input : range.inputs()) bytes += bytes_of(input);
    funcs[func].count.fetch_add(1, std::memory_order_relaxed);
    funcs[func].bytes.fetch_add(bytes, std::memory_order_relaxed);
    return std::make_unique<Call>(&funcs[func], now_ns());
}

void gloo_ended(const at::RecordFunction &, at::ObserverContext *context) {
    auto *call = static_cast<Call *>(context);
    if (!call) return;
    call->func->timed.fetch_add(1, std::memory_order_relaxed);
    call->func->timed_ns.fetch_add(now_ns() - call->begun_ns, std::memory_order_relaxed);
}

/* To have the range recorded costs a collective some microseconds: the job has them while it is watched. */
void gloo_watch(unsigned what) {
    bool is_watched = what & COLLECTIVE_WATCH_TIMES;
    gloo_is_watched.store(is_watched, std::memory_order_relaxed);
    try {
        if (is_watched)
            at::reenableCallback(gloo_listener);
        else if (what)
            at::disableCallback(gloo_listener);
    } catch (...) {
        gloo_is_watched.store(false, std::memory_order_relaxed);
    }
}

void gloo_read(struct collective_figures *ret) {
    *ret = {};
    for (int func = 0; func < COLLECTIVE_FUNC_COUNT; func++) {
        ret->funcs[func].count = funcs[func].count.load(std::memory_order_relaxed);
        ret->funcs[func].bytes = funcs[func].bytes.load(std::memory_order_relaxed);
        ret->funcs[func].timed = funcs[func].timed.load(std::memory_order_relaxed);
        ret->funcs[func].timed_ns = funcs[func].timed_ns.load(std::memory_order_relaxed);
    }
}

const struct collective_door gloo_door = {COLLECTIVE_DOOR_VERSION, "gloo", true, gloo_watch, gloo_read};

/* In the scope of named ranges alone: operators look into a list of their own, which stays empty. */
const struct collective_door *gloo() {
    try {
        if (gloo_listener == at::INVALID_CALLBACK_HANDLE)
            gloo_listener = at::addGlobalCallback(at::RecordFunctionCallback(gloo_begun, gloo_ended).scopes({at::RecordScope::USER_SCOPE}));
        return &gloo_door;
    } catch (const std::exception &error) {
        fail(error.what());
    } catch (...) {
        fail("an unknown C++ exception");
    }
    return nullptr;
}

const struct bridge_table table = {
    BRIDGE_ABI, sizeof table, TORCH_VERSION, cpu_count, cpu_read, device_read, fault, gloo,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const struct bridge_table *inductop_bridge(uint32_t abi) {
    return abi == BRIDGE_ABI ? &table : nullptr;
}
