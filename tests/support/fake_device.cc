/* The bridge with a device that is not there: an allocator of torch's PrivateUse1 that tells fixed figures, so that what reads devices
 * is tested on any machine. Built by tests/agent/test_bridge.py.
 * SPDX-License-Identifier: Apache-2.0 */
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "engine/rank/bridge/bridge.cc"

namespace {

struct FakeAllocator final : c10::DeviceAllocator {
    bool is_used = false;
    c10::DataPtr allocate(size_t) override {
        return {};
    }
    void copy_data(void *, const void *, size_t) const override {}
    bool initialized() override {
        return true;
    }
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr &, c10::Stream) override {}
    void resetAccumulatedStats(c10::DeviceIndex) override {}
    void resetPeakStats(c10::DeviceIndex) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        c10::CachingDeviceAllocator::DeviceStats stats;
        if (!is_used || index == 1) return stats; /* the middle one of three is another process's */
        stats.allocated_bytes[0].current = 100 + index;
        stats.allocated_bytes[0].peak = 200 + index;
        stats.reserved_bytes[0].current = 300 + index;
        stats.reserved_bytes[0].peak = 400 + index;
        stats.active_bytes[0].current = 500 + index;
        stats.active_bytes[0].peak = 600 + index;
        stats.num_alloc_retries = 7;
        stats.num_ooms = 1;
        return stats;
    }
};

struct ThreeDevices final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
    c10::DeviceIndex deviceCount() const noexcept override {
        return 3;
    }
};

FakeAllocator *fake = new FakeAllocator;

} // namespace

/* Somebody puts another allocator in the place of ours, and takes it away again. */
extern "C" __attribute__((visibility("default"))) void fake_displace(int is_displaced) {
    set_allocator(is_displaced ? inner : counting);
}

extern "C" __attribute__((visibility("default"))) void fake_device(int state) {
    static bool is_there;
    if (state > 0 && !is_there) {
        is_there = true;
        c10::SetAllocator(c10::DeviceType::PrivateUse1, fake, 0);
        c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::DeviceType::PrivateUse1)].store(new ThreeDevices);
    }
    fake->is_used = state > 1;
}
