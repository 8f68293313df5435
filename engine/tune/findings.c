/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/tune/rules.h"
#include "engine/base/banned.h"

static const double seconds_least = 1.0; /* of all clean steps together */

/* One row a rule. */
static const struct rule {
    const char *name;
    void (*look)(const struct look *look);
    bool passes;      /* when it holds again it is another one */
    double patience_s; /* it must hold as long, without a gap, before it is told */
} rules[] = {
    {"waiting", find_waiting, .passes = true},
    {"stuck", find_stuck, .passes = true},
    {"numbers", find_numbers},
    {"alone", find_alone},
    {"data", find_data_wait},
    {"optimizer", find_optimizer},
    {"slower", find_slower},
    {"recompiles", find_recompiles},
    {"limit", find_limit},
    {"breaks", find_breaks},
    {"guards", find_guards},
    {"off", find_not_compiled},
    {"straggler", find_straggler},
    {"skew", find_skew, .patience_s = 15},
    {"memory", find_growth},
    {"break-even", find_break_even},
};

struct known {
    char *key;
    double lost_s, gain; /* as told last */
    uint64_t look;       /* at which it held last */
    double since;        /* it holds */
    bool passes, is_told;
    UT_hash_handle hh;
};

struct findings {
    struct known *known;
    struct finding *due;
    size_t due_count, due_room, due_next;
    uint64_t looks;
    bool is_urgent;
};

static void finding_done(struct finding *finding) {
    free(finding->subject);
    free(finding->text);
    free(finding->action);
    free(finding->evidence);
}

static struct known *known_of(const struct look *look, const char *subject, int rank) {
    struct findings *findings = look->findings;
    CLEANUP(cleanup_free) char *key = mem_printf("%s %d %s", look->rule->name, rank, subject);
    struct known *known;
    HASH_FIND_STR(findings->known, key, known);
    if (known) return known;
    known = mem_new(sizeof *known);
    known->key = TAKE(key);
    known->passes = look->rule->passes;
    known->look = findings->looks;
    known->since = look->snapshot->now;
    HASH_ADD_KEYPTR(hh, findings->known, known->key, strlen(known->key), known);
    return known;
}

/* True when it is to be told. */
static bool is_news(const struct look *look, const char *subject, const struct finding *finding) {
    struct known *known = known_of(look, subject, finding->rank);
    double now = look->snapshot->now;
    if (known->look + 1 < look->findings->looks) known->since = now;
    known->look = look->findings->looks;
    if (now - known->since < look->rule->patience_s) return false;
    bool costs_more = finding->lost_s >= known->lost_s * 1.5 && finding->lost_s >= known->lost_s + 1;
    bool gains_other = fabs(finding->gain / known->gain - 1) >= 0.1;
    if (known->is_told && !costs_more && !gains_other) return false;
    known->is_told = true;
    known->lost_s = finding->lost_s;
    known->gain = finding->gain;
    return true;
}

struct finding *finding_add(const struct look *look, const char *subject, struct finding figures) {
    struct findings *findings = look->findings;
    if (!subject) subject = "";
    if (!is_news(look, subject, &figures)) return NULL;
    if (findings->due_count == findings->due_room) {
        findings->due_room = findings->due_room ? 2 * findings->due_room : 8;
        findings->due = mem_resize(findings->due, findings->due_room, sizeof *findings->due);
    }
    figures.rule = look->rule->name;
    figures.subject = mem_strdup(subject);
    findings->due[findings->due_count] = figures;
    return &findings->due[findings->due_count++];
}

void finding_is_urgent(const struct look *look) {
    look->findings->is_urgent = true;
}

const struct snapshot_use *rules_use(const struct snapshot_rank *rank) {
    return rank->has_variant ? snapshot_use(rank, rank->variant) : NULL;
}

bool rules_has_enough(const struct shares *shares) {
    return shares->steps >= STEPS_LEAST && shares->ms >= seconds_least * 1e3;
}

static void forget_passed(struct findings *findings) {
    struct known *known, *next;
    HASH_ITER(hh, findings->known, known, next) {
        if (!known->passes || known->look == findings->looks) continue;
        HASH_DEL(findings->known, known);
        free(known->key);
        free(known);
    }
}

struct findings *findings_new(void) {
    return mem_new(sizeof(struct findings));
}

struct findings *findings_free(struct findings *findings) {
    if (!findings) return NULL;
    struct known *known, *next;
    HASH_ITER(hh, findings->known, known, next) {
        HASH_DEL(findings->known, known);
        free(known->key);
        free(known);
    }
    for (size_t i = findings->due_next; i < findings->due_count; i++) finding_done(&findings->due[i]);
    free(findings->due);
    free(findings);
    return NULL;
}

/* Most seconds lost first; what is not known last. */
static int by_weight(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    double p = isnan(x->lost_s) ? -1 : x->lost_s, q = isnan(y->lost_s) ? -1 : y->lost_s;
    return (q > p) - (q < p);
}

void findings_look(struct findings *findings, const struct snapshot *snapshot) {
    if (findings->due_next == findings->due_count) findings->due_next = findings->due_count = 0;
    findings->looks++;
    findings->is_urgent = false;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) rules[i].look(&(struct look){findings, snapshot, &rules[i]});
    forget_passed(findings);
    if (findings->due_count == findings->due_next) return;
    qsort(findings->due + findings->due_next, findings->due_count - findings->due_next, sizeof *findings->due, by_weight);
}

bool findings_are_urgent(const struct findings *findings) {
    return findings->is_urgent;
}

static void put_text(json_t *body, const char *name, const char *text) {
    if (text && *text) json_object_set_new(body, name, event_string(text));
}

bool findings_next(struct findings *findings, struct event *ret) {
    if (findings->due_next == findings->due_count) return false;
    struct finding *finding = &findings->due[findings->due_next++];
    *ret = event_make(EVENT_FINDING, 0, "{ss}", "rule", finding->rule);
    put_text(ret->body, "subject", finding->subject);
    put_text(ret->body, "text", finding->text);
    put_text(ret->body, "action", finding->action);
    put_text(ret->body, "evidence", finding->evidence);
    if (isfinite(finding->lost_s)) json_object_set_new(ret->body, "lost_s", json_real(finding->lost_s));
    if (isfinite(finding->gain)) json_object_set_new(ret->body, "gain", json_real(finding->gain));
    if (finding->rank >= 0) event_set_rank(ret, finding->rank);
    finding_done(finding);
    return true;
}
