/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/shares.h"

#include <math.h>

#include "engine/base/banned.h"

const char *const share_names[SHARE_COUNT] = {"data", "forward", "backward", "optimizer"};

void shares_of_step(const struct step_record *record, double ret_ms[SHARE_COUNT]) {
    static const uint32_t bits[SHARE_COUNT] = {STEP_HAS_DATA, STEP_HAS_FORWARD, STEP_HAS_BACKWARD,
                                               STEP_HAS_OPTIMIZER};
    const uint64_t ns[SHARE_COUNT] = {record->data_ns, record->forward_ns, record->backward_ns,
                                      record->optimizer_ns};
    for (int i = 0; i < SHARE_COUNT; i++)
        ret_ms[i] = record->valid & bits[i] ? (double)ns[i] / 1e6 : NAN;
}

void shares_add(struct shares *shares, const struct step_record *record) {
    const uint32_t any = STEP_HAS_DATA | STEP_HAS_FORWARD | STEP_HAS_BACKWARD | STEP_HAS_OPTIMIZER;
    double ms[SHARE_COUNT];
    if (record->valid & STEP_HAS_OWN) shares->own_all_ms += (double)record->own_ns / 1e6;
    if (record->why || !record->dur_ns) return;
    if (record->valid & STEP_HAS_OWN) {
        shares->own_steps++;
        shares->own_ms += (double)record->own_ns / 1e6;
    }
    if (!(record->valid & any)) return;
    shares_of_step(record, ms);
    shares->steps++;
    shares->ms += (double)record->dur_ns / 1e6;
    for (int i = 0; i < SHARE_COUNT; i++)
        if (!isnan(ms[i])) shares->of[i] += ms[i];
}

double shares_own_ms(const struct shares *shares) {
    return shares->own_steps ? shares->own_ms / (double)shares->own_steps : NAN;
}

double shares_mean_ms(const struct shares *shares, enum share_phase phase) {
    return shares->steps ? shares->of[phase] / (double)shares->steps : NAN;
}
