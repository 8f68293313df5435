/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/memory.h"

#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

static void raise(bool *has, uint64_t *most, uint64_t value) {
    if (!*has || value > *most) *most = value;
    *has = true;
}

/* What is compiled, tuned, recorded or switched takes memory for good, and is no leak. */
static void grow(struct memory *memory, const struct step_record *record) {
    const uint32_t builds = STEP_WHY_FIRST | STEP_WHY_COMPILE | STEP_WHY_SWITCH | STEP_WHY_AUTOTUNE | STEP_WHY_RECORDING |
                            STEP_WHY_FAILED | STEP_WHY_PREPARE | STEP_WHY_VERIFY;
    if (record->why & builds) {
        growth_clear(&memory->torch_growth);
        growth_clear(&memory->rss_growth);
        return;
    }
    if (record->valid & STEP_HAS_DEVICE) growth_add(&memory->torch_growth, (double)record->device_bytes);
    else if (record->valid & STEP_HAS_CPU) growth_add(&memory->torch_growth, (double)record->cpu_bytes);
    if (record->valid & STEP_HAS_RSS) growth_add(&memory->rss_growth, (double)record->rss_bytes);
}

void memory_step(struct memory *memory, struct memory_peaks *use,
                 const struct step_record *record) {
    grow(memory, record);
    if (record->valid & STEP_HAS_CPU) {
        raise(&memory->has_cpu, &memory->cpu_most, record->cpu_peak_bytes);
        if (record->why == 0) raise(&use->has_cpu, &use->cpu, record->cpu_peak_bytes);
    }
    if (record->valid & STEP_HAS_DEVICE) {
        bool rose = !memory->has_device || record->device_peak_bytes > memory->device_peak;
        if (rose) raise(&use->has_device, &use->device, record->device_peak_bytes);
        memory->has_device = true;
        memory->device_peak = record->device_peak_bytes;
    }
}

static void take_bridge(struct memory *memory, const struct event *event) {
    int64_t since = 0;
    const char *state = event_text(event, "state");
    memory->is_counted = state && strcmp(state, "counting") == 0;
    memory->is_whole = memory->is_counted && !event_int(event, "since", &since);
    memory->since = since > 0 ? (uint64_t)since : 0;
}

void memory_take(struct memory *memory, const struct event *event) {
    const struct {
        const char *field;
        uint64_t *place;
    } figures[] = {
        {"reserved", &memory->reserved},
        {"reserved_peak", &memory->reserved_peak},
        {"retries", &memory->retries},
        {"ooms", &memory->ooms},
    };
    if (event->kind == EVENT_BRIDGE) take_bridge(memory, event);
    if (event->kind != EVENT_MEMORY) return;
    memory->has_reserved = true;
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        int64_t value;
        if (event_int(event, figures[i].field, &value) && value >= 0)
            *figures[i].place = (uint64_t)value;
    }
}

double memory_peak(const struct memory_peaks *use) {
    if (use->has_device) return (double)use->device;
    return use->has_cpu ? (double)use->cpu : NAN;
}

double memory_over_eager(const struct memory *memory, const struct memory_peaks *use,
                         const struct memory_peaks *eager) {
    if (use->has_device && eager->has_device && eager->device)
        return (double)use->device / (double)eager->device;
    bool has_device = memory->has_device; /* then what lies on the CPU is not what matters */
    if (has_device || !memory->is_whole || !use->has_cpu || !eager->has_cpu || !eager->cpu)
        return NAN;
    return (double)use->cpu / (double)eager->cpu;
}
