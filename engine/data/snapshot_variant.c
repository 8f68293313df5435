/* The sets of settings in a snapshot: their figures over all ranks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/data/pairs.h"
#include "engine/data/snapshot_parts.h"
#include "engine/data/stats.h"
#include "engine/base/banned.h"

static void variants_done(void *thing) {
    struct snapshot_variants *variants = thing;
    for (size_t i = 0; i < variants->count; i++) {
        free((char *)variants->variants[i].label);
        shared_unref(variants->variants[i].settings);
    }
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

const struct snapshot_use *snapshot_use(const struct snapshot_rank *rank, uint32_t variant) {
    for (size_t i = 0; i < rank->use_count; i++)
        if (rank->uses[i].variant == variant) return &rank->uses[i];
    return NULL;
}

static void add_use(struct snapshot_variant *variant, const struct snapshot_use *use) {
    variant->is_let_go = use->is_let_go && (variant->is_let_go || !variant->ranks);
    variant->ranks++;
    variant->steps = most(variant->steps, use->steps);
    variant->clean = most(variant->clean, use->clean);
    variant->compiles = most(variant->compiles, use->compiles);
    variant->recompiles = most(variant->recompiles, use->recompiles);
    variant->breaks = most(variant->breaks, use->breaks);
    variant->compile_s = fmax(variant->compile_s, use->compile_s);
    variant->rss_peak = fmax(variant->rss_peak, use->rss_peak);
    variant->torch_peak = fmax(variant->torch_peak, use->torch_peak);
    variant->memory_over_eager = fmax(variant->memory_over_eager, use->memory_over_eager);
}

struct ratio {
    int rank;
    struct snapshot_speedup speedup;
};

/* Those that have a ratio by it, the others behind them. */
static int compare(const void *a, const void *b) {
    const struct snapshot_speedup *x = &((const struct ratio *)a)->speedup,
                                  *y = &((const struct ratio *)b)->speedup;
    if (x->has_ratio != y->has_ratio) return y->has_ratio - x->has_ratio;
    return x->has_ratio ? (x->ratio > y->ratio) - (x->ratio < y->ratio) : 0;
}

/* Of the rank in the middle; without any ratio, that of any rank that has a verdict. */
static struct snapshot_speedup middle_of(struct ratio *ratios, size_t count, int *ret_rank) {
    size_t with_ratio = 0;
    *ret_rank = -1;
    if (!count) return freeze_speedup(&(struct store_speedup){0});
    qsort(ratios, count, sizeof ratios[0], compare);
    while (with_ratio < count && ratios[with_ratio].speedup.has_ratio) with_ratio++;
    size_t at = with_ratio ? (with_ratio - 1) / 2 : 0;
    *ret_rank = ratios[at].rank;
    return ratios[at].speedup;
}

struct scratch {
    double *medians;
    struct ratio *ratios, *versus;
};

/* What the ranks compared last with the same settings as the last of them. */
static size_t keep_last(struct ratio *versus, size_t count) {
    size_t kept = 0;
    uint32_t against = count ? versus[count - 1].speedup.against : 0;
    for (size_t i = 0; i < count; i++)
        if (versus[i].speedup.against == against) versus[kept++] = versus[i];
    return kept;
}

static void sum_up(struct snapshot_variant *variant, const struct snapshot_rank *const *ranks,
                   size_t count, const struct scratch *scratch) {
    size_t ratios = 0, versus = 0, medians = 0;
    int rank;
    variant->compile_s = variant->rss_peak = NAN;
    variant->torch_peak = variant->memory_over_eager = NAN;
    for (size_t i = 0; i < count; i++) {
        const struct snapshot_use *use = snapshot_use(ranks[i], variant->variant);
        if (!use) continue;
        add_use(variant, use);
        variant->current += ranks[i]->has_variant && ranks[i]->variant == variant->variant;
        scratch->medians[medians++] = use->median_ms;
        if (use->speedup.verdict)
            scratch->ratios[ratios++] = (struct ratio){ranks[i]->rank, use->speedup};
        if (use->versus.verdict)
            scratch->versus[versus++] = (struct ratio){ranks[i]->rank, use->versus};
    }
    variant->median_ms = middle(scratch->medians, medians);
    variant->speedup = middle_of(scratch->ratios, ratios, &variant->speedup_rank);
    variant->versus = middle_of(scratch->versus, keep_last(scratch->versus, versus), &rank);
    bool is_faster = variant->speedup.verdict && strcmp(variant->speedup.verdict, "faster") == 0;
    double ratio = is_faster ? variant->speedup.ratio : NAN;
    variant->break_even = stats_break_even(variant->compile_s, ratio, variant->median_ms);
}

static bool is_eager(const struct store *store, uint32_t variant) {
    bool is_any = false;
    for (size_t i = 0; i < store->count; i++) {
        if (!store_rank_is_shown(store, i)) continue;
        if (!is_eager_variant(store, store->processes[i], variant)) return false;
        is_any = true;
    }
    return is_any;
}

const struct snapshot_variants *
freeze_variants(struct store *store, const struct snapshot_rank *const *ranks, size_t count) {
    size_t room = HASH_COUNT(store->variants);
    struct snapshot_variants *variants =
        shared_new(sizeof *variants + room * sizeof variants->variants[0], variants_done);
    struct scratch scratch = {mem_array(count + 1, sizeof(double)),
                              mem_array(count + 1, sizeof(struct ratio)),
                              mem_array(count + 1, sizeof(struct ratio))};
    for (struct variant *from = store->variants; from; from = from->hh.next) {
        struct snapshot_variant *to = &variants->variants[variants->count++];
        if (!from->frozen && from->settings) from->frozen = pairs_new(from->settings);
        to->variant = from->key;
        to->label = mem_strdup(from->label);
        to->settings = shared_ref(from->frozen);
        to->is_eager = is_eager(store, from->key);
        sum_up(to, ranks, count, &scratch);
    }
    free(scratch.medians);
    free(scratch.ratios);
    free(scratch.versus);
    return variants;
}
