/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/summary.h"

#include <math.h>
#include <string.h>

#include "engine/base/banned.h"

static void put_int(json_t *object, const char *name, uint64_t value) {
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* NaN is left out: jansson makes no number of it. */
static void put_real(json_t *object, const char *name, double value) {
    if (isfinite(value)) json_object_set_new(object, name, json_real(value));
}

static void put_text(json_t *object, const char *name, const char *text) {
    if (text && text[0]) json_object_set_new(object, name, event_string(text));
}

static json_t *drops(const uint64_t *dropped) {
    return json_pack("{s:I, s:I, s:I}", "steps", (json_int_t)dropped[LOSS_STEPS], "events",
                     (json_int_t)dropped[LOSS_EVENTS], "bad", (json_int_t)dropped[LOSS_BAD]);
}

static json_t *speedup_of(const struct store_speedup *speedup) {
    json_t *object = json_object();
    if (speedup->has_ratio) {
        put_real(object, "ratio", speedup->ratio);
        put_real(object, "low", speedup->low);
        put_real(object, "high", speedup->high);
    }
    put_int(object, "pairs", (uint64_t)speedup->pairs);
    put_text(object, "verdict", speedup->verdict);
    put_real(object, "within", speedup->within);
    return object;
}

typedef double median_of(const struct store *store, size_t rank, size_t i);

static json_t *phases_of(const struct shares *shares) {
    json_t *object = json_object();
    for (int i = 0; i < SHARE_COUNT; i++)
        if (shares->of[i] > 0) put_real(object, share_names[i], shares_mean_ms(shares, i));
    return object;
}

static json_t *use_of(const struct store *store, size_t rank, size_t i, median_of *median) {
    const struct store_use *use = store_use(store, rank, i);
    json_t *object = json_object();
    put_int(object, "variant", use->variant);
    json_object_set_new(object, "label", event_string(store_variant_label(store, use->variant)));
    put_int(object, "steps", use->steps);
    put_int(object, "clean", use->clean);
    put_real(object, "median_ms", median(store, rank, i));
    put_real(object, "compile_s", use->compile_s);
    put_int(object, "compiles", use->compiles);
    put_int(object, "recompiles", use->recompiles);
    put_int(object, "breaks", use->breaks);
    if (use->has_peak_rss) put_int(object, "peak_rss", use->peak_rss);
    if (use->peaks.has_cpu) put_int(object, "peak_cpu", use->peaks.cpu);
    if (use->peaks.has_device) put_int(object, "peak_device", use->peaks.device);
    put_real(object, "memory_over_eager", store_use_memory_over_eager(store, rank, i));
    if (use->shares.steps) json_object_set_new(object, "phases_ms", phases_of(&use->shares));
    if (use->speedup.verdict) json_object_set_new(object, "speedup", speedup_of(&use->speedup));
    if (!use->versus.verdict) return object;
    json_t *versus = speedup_of(&use->versus);
    put_int(versus, "against", use->versus.against);
    json_object_set_new(object, "versus", versus);
    return object;
}

static json_t *rank_of(const struct store *store, size_t i, median_of *median) {
    const struct store_rank *rank = store_rank(store, i);
    json_t *object = json_object(), *variants = json_array();
    put_int(object, "rank", (uint64_t)rank->rank);
    put_text(object, "group", rank->group);
    put_int(object, "steps", rank->steps);
    json_object_set_new(object, "drops", drops(rank->dropped));
    if (rank->compilers.is_told)
        json_object_set_new(object, "compilers",
                            json_pack("{sf sI}", "cpu_ms", rank->compilers.cpu_ms, "rss_peak",
                                      (json_int_t)rank->compilers.rss_peak));
    for (size_t j = 0; j < rank->use_count; j++)
        json_array_append_new(variants, use_of(store, i, j, median));
    json_object_set_new(object, "variants", variants);
    return object;
}

static json_t *switch_of(const struct store *store, size_t i) {
    const struct switch_facts *facts = store_switch(store, i);
    json_t *object = json_object();
    json_object_set_new(object, "id", json_integer(facts->id));
    json_object_set_new(object, "by", event_string(facts->by));
    put_text(object, "group", facts->group);
    if (facts->to) json_object_set(object, "to", facts->to);
    if (facts->has_at) json_object_set_new(object, "at", json_integer(facts->at));
    json_object_set_new(object, "status",
                        json_string(switch_status_name(store_switch_status(store, i))));
    put_text(object, "reason", facts->reason);
    return object;
}

static void make(const struct store *store, size_t first, size_t behind, median_of *median,
                 struct event *ret) {
    uint64_t lost[STORE_LOSS_COUNT];
    json_t *ranks = json_array(), *switches = json_array(), *causes = store_causes(store);
    for (size_t i = first; i < behind; i++)
        if (store_rank_is_shown(store, i)) json_array_append_new(ranks, rank_of(store, i, median));
    for (size_t i = 0; i < store_switch_count(store); i++)
        if (!store_switch(store, i)->is_tried_again)
            json_array_append_new(switches, switch_of(store, i));
    for (int i = 0; i < STORE_LOSS_COUNT; i++)
        lost[i] = store_dropped_total(store, (enum store_loss)i);
    *ret = event_make(EVENT_SUMMARY, store_time(store), "{s:o, s:o, s:o}", "ranks", ranks,
                      "switches", switches, "drops", drops(lost));
    if (json_array_size(causes)) json_object_set(ret->body, "causes", causes);
    json_decref(causes);
    json_t *findings = store_findings(store);
    if (json_array_size(findings)) json_object_set(ret->body, "findings", findings);
    json_decref(findings);
}

void summary_event(const struct store *store, struct event *ret) {
    make(store, 0, store_rank_count(store), store_use_median_ms, ret);
}

void summary_part(const struct store *store, size_t first, size_t count, struct event *ret) {
    size_t ranks = store_rank_count(store), from = first < ranks ? first : ranks;
    size_t behind = count < ranks - from ? from + count : ranks;
    make(store, from, behind, store_use_quick_median_ms, ret);
    json_array_clear(json_object_get(ret->body, "switches"));
    if (first) json_object_del(ret->body, "causes");
}
