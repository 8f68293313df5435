/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/snapshot.h"
#include "engine/base/banned.h"

/* Texts are those of the event's body, which each of them keeps. */
struct problem {
    struct snapshot_problem shown;
    json_t *body;
};

struct finding {
    struct snapshot_finding shown;
    json_t *body;
};

struct output {
    struct snapshot_output shown;
    json_t *body;
};

static void problem_done(void *thing) {
    json_decref(((struct problem *)thing)->body);
}

static void finding_done(void *thing) {
    json_decref(((struct finding *)thing)->body);
}

static void output_done(void *thing) {
    json_decref(((struct output *)thing)->body);
}

static int rank_of(const struct event *event) {
    return event->has_rank ? event->rank : -1;
}

static const char *text_of(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? text : "";
}

void notes_problem(struct roll *problems, const struct event *event) {
    struct problem *problem = shared_new(sizeof *problem, problem_done);
    struct shared shared = problem->shown.shared;
    problem->body = json_incref(event->body);
    problem->shown = (struct snapshot_problem){
        .shared = shared,
        .t = event->t,
        .rank = rank_of(event),
        .what = text_of(event, "what"),
        .text = text_of(event, "text"),
        .hint = event_text(event, "hint"),
        .count = 1,
    };
    for (size_t i = problems->count; i-- > 0;) {
        const struct snapshot_problem *old = roll_at(problems, i);
        if (old->rank != problem->shown.rank || strcmp(old->text, problem->shown.text) != 0 ||
            strcmp(old->what, problem->shown.what) != 0)
            continue;
        problem->shown.count += old->count;
        roll_set(problems, i, problem);
        return;
    }
    roll_add(problems, problem);
}

static bool is_same(const json_t *a, const json_t *b, const char *field) {
    const json_t *x = json_object_get(a, field), *y = json_object_get(b, field);
    return x && y ? json_equal(x, y) : x == y;
}

/* One that comes from no rule is known by its text. */
static bool is_same_finding(const struct finding *a, const struct finding *b) {
    if (a->shown.rank != b->shown.rank || !is_same(a->body, b->body, "rule")) return false;
    if (!json_object_get(a->body, "rule")) return strcmp(a->shown.text, b->shown.text) == 0;
    return is_same(a->body, b->body, "subject");
}

void notes_finding(struct roll *findings, const struct event *event) {
    struct finding *finding = shared_new(sizeof *finding, finding_done);
    struct shared shared = finding->shown.shared;
    finding->body = json_incref(event->body);
    finding->shown = (struct snapshot_finding){
        .shared = shared,
        .t = event->t,
        .rank = rank_of(event),
        .rule = event_text(event, "rule"),
        .subject = event_text(event, "subject"),
        .text = text_of(event, "text"),
        .action = event_text(event, "action"),
        .evidence = event_text(event, "evidence"),
        .lost_s = NAN,
        .gain = NAN,
        .count = 1,
    };
    event_number(event, "lost_s", &finding->shown.lost_s);
    event_number(event, "gain", &finding->shown.gain);
    for (size_t i = findings->count; i-- > 0;) {
        const struct finding *old = roll_at(findings, i);
        if (!is_same_finding(old, finding)) continue;
        finding->shown.count += old->shown.count;
        roll_set(findings, i, finding);
        return;
    }
    roll_add(findings, finding);
}

void notes_output(struct roll *outputs, const struct event *event) {
    struct output *output = shared_new(sizeof *output, output_done);
    struct shared shared = output->shown.shared;
    output->body = json_incref(event->body);
    output->shown = (struct snapshot_output){
        .shared = shared,
        .t = event->t,
        .rank = rank_of(event),
        .stream = text_of(event, "stream"),
        .text = text_of(event, "text"),
    };
    roll_add(outputs, output);
}

static double weight(const struct snapshot_finding *finding) {
    return isnan(finding->lost_s) ? -1 : finding->lost_s;
}

int snapshot_finding_order(const void *a, const void *b) {
    const struct snapshot_finding *x = *(const struct snapshot_finding *const *)a;
    const struct snapshot_finding *y = *(const struct snapshot_finding *const *)b;
    double p = weight(x), q = weight(y);
    return p != q ? (q > p) - (q < p) : (x->t > y->t) - (x->t < y->t);
}

json_t *notes_findings(const struct roll *findings) {
    json_t *array = json_array();
    CLEANUP(cleanup_free) const struct snapshot_finding **order =
        mem_array(findings->count + 1, sizeof order[0]);
    for (size_t i = 0; i < findings->count; i++) order[i] = roll_at(findings, i);
    qsort(order, findings->count, sizeof order[0], snapshot_finding_order);
    for (size_t i = 0; i < findings->count; i++) {
        json_t *object = json_copy(((const struct finding *)order[i])->body);
        if (order[i]->rank >= 0) json_object_set_new(object, "rank", json_integer(order[i]->rank));
        json_array_append_new(array, object);
    }
    return array;
}
