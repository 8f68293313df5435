/* Findings about where the time of a step goes, and about what was measured.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/tune/rules.h"
#include "engine/base/banned.h"

static const double data_share_least = 0.2; /* of the step's time */
static const double optimizer_share_least = 0.4;
static const double optimizer_ms_least = 1;

static const char *label_of(const struct snapshot_variant *variant) {
    return variant->label ? variant->label : "as written";
}

/* What is in force somewhere and was measured to be so: "faster", "slower". From `*at` on; NULL: no more. */
static const struct snapshot_variant *next_measured(const struct snapshot *snapshot, const char *verdict, size_t *at) {
    while (*at < snapshot->variant_count) {
        const struct snapshot_variant *variant = &snapshot->variants[(*at)++];
        const struct snapshot_speedup *speedup = &variant->speedup;
        if (variant->current && speedup->has_ratio && speedup->verdict && strcmp(speedup->verdict, verdict) == 0) return variant;
    }
    return NULL;
}

/* The share of the step that every rank spends in a phase: the rank that spends least there speaks for all; where others spend more,
 * that is the straggler's rule. */
struct ceiling {
    double share, mean_ms, step_ms, lost_s;
    uint64_t steps;
    int rank;
};

static bool least_share(const struct snapshot *snapshot, enum share_phase phase, struct ceiling *ret) {
    bool is_known = false;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        if (snapshot_is_over(rank)) continue;
        const struct snapshot_use *use = rules_use(rank);
        if (!use || !rules_has_enough(&use->shares)) return false;
        const struct shares *shares = &use->shares;
        double share = shares->of[phase] / shares->ms;
        if (is_known && share > ret->share) continue;
        is_known = true;
        *ret = (struct ceiling){.share = share,
                                .mean_ms = shares_mean_ms(shares, phase),
                                .step_ms = shares->ms / (double)shares->steps,
                                .lost_s = shares->of[phase] / 1e3,
                                .steps = shares->steps,
                                .rank = rank->rank};
    }
    return is_known;
}

static struct finding *add_ceiling(const struct look *look, const struct ceiling *ceiling) {
    double gain = 1 / (1 - fmin(ceiling->share, 0.99));
    struct finding *finding = finding_add(look, NULL, (struct finding){.rank = -1, .lost_s = ceiling->lost_s, .gain = gain});
    if (finding)
        finding->evidence = mem_printf("rank %d: %.2f of %.2f ms, mean of %" PRIu64 " clean steps", ceiling->rank, ceiling->mean_ms,
                                       ceiling->step_ms, ceiling->steps);
    return finding;
}

/* The step waits for the data loader: settings of the compiler cannot help there. */
void find_data_wait(const struct look *look) {
    struct ceiling ceiling;
    if (!least_share(look->snapshot, SHARE_DATA, &ceiling) || ceiling.share < data_share_least) return;
    struct finding *finding = add_ceiling(look, &ceiling);
    if (!finding) return;
    finding->text = mem_printf("%.0f %% of the step waits for data: compile settings can give %.2fx at the most", 100 * ceiling.share,
                               1 / ceiling.share);
    finding->action = mem_strdup("More workers in the DataLoader (num_workers, persistent_workers), pin_memory, less work per sample");
}

/* What is compiled is forward and backward; the optimizer goes over all parameters by itself. */
void find_optimizer(const struct look *look) {
    struct ceiling ceiling;
    if (!least_share(look->snapshot, SHARE_OPTIMIZER, &ceiling) || ceiling.share < optimizer_share_least) return;
    if (ceiling.mean_ms < optimizer_ms_least) return;
    struct finding *finding = add_ceiling(look, &ceiling);
    if (!finding) return;
    finding->text = mem_printf("%.0f %% of the step comes after the backward, until the optimizer is through: compiling the model can give %.2fx at the most",
                               100 * ceiling.share, 1 / ceiling.share);
    finding->action = mem_strdup("fused=True in the optimizer, or compile its step: torch.compile(optimizer.step); gradients that are clipped or reduced by hand count here, too");
}

/* What is in force is slower than eager, by the judge. */
void find_slower(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    size_t at = 0;
    for (const struct snapshot_variant *variant; (variant = next_measured(snapshot, "slower", &at));) {
        const struct snapshot_speedup *speedup = &variant->speedup;
        double lost_s = (1 - speedup->ratio) * variant->median_ms * (double)variant->steps / 1e3;
        CLEANUP(cleanup_free) char *subject = mem_printf("%" PRIu32, variant->variant);
        struct finding *finding =
            finding_add(look, subject, (struct finding){.rank = -1, .lost_s = lost_s, .gain = 1 / speedup->ratio});
        if (!finding) continue;
        finding->text = mem_printf("%s is slower than eager: %.2fx (%.2f to %.2f)", label_of(variant), speedup->ratio, speedup->low,
                                   speedup->high);
        finding->action = mem_strdup("scope=eager takes the compiler out; scope=regional or another mode may do better");
        finding->evidence = mem_printf("%" PRId64 " pairs of blocks on rank %d", speedup->pairs, variant->speedup_rank);
    }
}

/* Compiling has cost more than it can have gained so far. Only with a measured speedup. */
void find_break_even(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    size_t at = 0;
    for (const struct snapshot_variant *variant; (variant = next_measured(snapshot, "faster", &at));) {
        const struct snapshot_speedup *speedup = &variant->speedup;
        double even = variant->break_even, gained_ms = variant->compile_s * 1e3 / even; /* a step */
        if (!(even > 4.0 * (double)variant->steps) || variant->compile_s < 60) continue;
        double lost_s = variant->compile_s - gained_ms * (double)variant->steps / 1e3;
        CLEANUP(cleanup_free) char *subject = mem_printf("%" PRIu32, variant->variant);
        struct finding *finding = finding_add(look, subject, (struct finding){.rank = -1, .lost_s = lost_s, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_printf("%s pays after %.0f steps: %.0f s of compiling, %.2f ms gained a step", label_of(variant), even,
                                   variant->compile_s, gained_ms);
        finding->action = mem_strdup("Short runs: scope=regional compiles one block for all, and a warm cache (TORCHINDUCTOR_CACHE_DIR) saves most of it");
        finding->evidence = mem_printf("%.2fx (%.2f to %.2f), %" PRIu64 " steps so far", speedup->ratio, speedup->low, speedup->high,
                                       variant->steps);
    }
}
