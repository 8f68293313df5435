/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/telling.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/data/switches.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

void telling_line_done(struct line *line) {
    free(line->key);
    free(line->what);
    free(line->text);
    free(line->place);
    *line = (struct line){0};
}

static const char *text_of(const struct event *event, const char *field) {
    const char *text = event_text(event, field);
    return text ? text : "";
}

static bool is_text(const struct event *event, const char *field, const char *wanted) {
    return strcmp(text_of(event, field), wanted) == 0;
}

static void tell_job(const struct event *event, struct line *line) {
    int64_t number;
    line->what = mem_strdup("job");
    if (event_int(event, "signal", &number))
        line->text = mem_printf("ended by signal %" PRId64, number);
    else if (event_int(event, "exit", &number))
        line->text = mem_printf("ended with exit code %" PRId64, number);
    else if (is_text(event, "state", "ended") || is_text(event, "state", "lost"))
        line->text = mem_strdup("ended, its exit status is not known");
    else
        line->text = mem_strdup(text_of(event, "state"));
    if (event_int(event, "exit", &number) && number == 0)
        line->level = LEVEL_GOOD;
    else if (!is_text(event, "state", "running"))
        line->level = LEVEL_BAD;
}

static const struct {
    const char *state;
    enum snapshot_level level;
} states[] = {
    {"hooked", LEVEL_PLAIN}, {"running", LEVEL_PLAIN}, {"refused", LEVEL_BAD},
    {"stalled", LEVEL_NOTE}, {"lost", LEVEL_BAD},      {"finished", LEVEL_PLAIN},
    {"exited", LEVEL_PLAIN},
};

static void tell_rank(const struct event *event, struct line *line) {
    const char *state = text_of(event, "state"), *reason = event_text(event, "reason");
    const char *switching = event_text(event, "switching");
    struct buf text = BUF_INIT;
    int64_t exit = 0;
    buf_puts(&text, state);
    if (strcmp(state, "hooked") == 0) {
        buf_printf(&text, ", torch %s, %s", text_of(event, "torch"), text_of(event, "device"));
        if (switching && strcmp(switching, "live") != 0)
            buf_printf(&text, ", switching: %s", switching);
    }
    if (event_int(event, "exit", &exit)) buf_printf(&text, " with code %" PRId64, exit);
    if (reason && reason[0]) buf_printf(&text, ": %s", reason);
    line->what = mem_strdup("rank");
    line->text = buf_take(&text);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcmp(states[i].state, state) == 0) line->level = states[i].level;
    if (exit) line->level = LEVEL_BAD;
}

static void tell_unit(const struct event *event, struct line *line) {
    const char *origin = text_of(event, "origin");
    bool is_script = strcmp(origin, "script") == 0;
    line->what = mem_strdup("unit");
    line->text = mem_printf("%s is compiled%s%s", text_of(event, "name"), is_script ? "" : " by ",
                            is_script ? "" : origin);
    line->place = words_of_place(event);
}

static void tell_compile(const struct event *event, const struct telling *telling,
                         struct line *line) {
    const char *failed = event_text(event, "failed"), *trigger = text_of(event, "trigger");
    CLEANUP(cleanup_free) char *cause = words_of_cause(event);
    bool is_again = strcmp(trigger, "recompile") == 0;
    struct buf text = BUF_INIT;
    buf_puts(&text, text_of(event, "frame"));
    if (failed) buf_printf(&text, "%sfailed: %s", text.size ? " " : "", failed);
    if (is_again && cause)
        buf_printf(&text, "%s%s", text.size ? ": " : "", cause);
    else if (!is_again)
        buf_printf(&text, "%s(%s, %s)", text.size ? " " : "", trigger, telling->label);
    line->what = mem_strdup(is_again ? "recompile" : "compile");
    line->text = buf_take(&text);
    line->place = words_of_place(event);
    line->level = failed ? LEVEL_BAD : is_again ? LEVEL_NOTE : LEVEL_PLAIN;
    event_number(event, "ms", &line->ms);
    line->has_step = telling->has_step;
    line->step = telling->step;
}

static void tell_break(const struct event *event, const struct telling *telling,
                       struct line *line) {
    bool is_meant = is_text(event, "effect", "ddp");
    line->what = mem_strdup(is_meant ? "graph split" : "graph break");
    line->text = mem_strdup(text_of(event, "reason"));
    line->place = words_of_place(event);
    line->level = is_meant ? LEVEL_PLAIN : LEVEL_NOTE;
    line->has_step = telling->has_step;
    line->step = telling->step;
}

static void tell_speedup(const struct event *event, const struct telling *telling,
                         struct line *line) {
    CLEANUP(cleanup_free) char *found = words_of_speedup(event, telling->against);
    line->what = mem_strdup("speedup");
    line->text = mem_printf("%s: %s", telling->label, found);
    if (is_text(event, "verdict", "faster")) line->level = LEVEL_GOOD;
    if (is_text(event, "verdict", "slower")) line->level = LEVEL_BAD;
}

static void tell_sentence(const struct event *event, struct line *line) {
    const char *hint = event_text(event, event->kind == EVENT_PROBLEM ? "hint" : "action");
    line->what = mem_strdup(event->kind == EVENT_PROBLEM ? "problem" : "finding");
    line->text = hint ? mem_printf("%s. %s", text_of(event, "text"), hint)
                      : mem_strdup(text_of(event, "text"));
    line->level = event->kind == EVENT_PROBLEM ? LEVEL_BAD : LEVEL_NOTE;
}

/* One line; figures apart, what is the same on several ranks has the same key. */
static void finish(const struct event *event, const struct telling *telling, struct line *line) {
    for (char *at = line->text; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t') *at = ' ';
    bool is_speedup = event->kind == EVENT_SPEEDUP;
    CLEANUP(cleanup_free)
    char *plain = words_without_numbers(is_speedup ? telling->label : line->text);
    line->key = mem_printf("%s %s %s", line->what, plain,
                           is_speedup ? telling->against : line->place ? line->place : "");
}

bool line_of_event(const struct event *event, const struct telling *telling, struct line *ret) {
    *ret = (struct line){.ms = NAN, .has_step = event->has_step, .step = event->step};
    switch ((int)event->kind) {
    case EVENT_JOB: tell_job(event, ret); break;
    case EVENT_RANK:
        if (is_text(event, "state", "asleep")) return false;
        tell_rank(event, ret);
        break;
    case EVENT_UNIT: tell_unit(event, ret); break;
    case EVENT_COMPILE: tell_compile(event, telling, ret); break;
    case EVENT_BREAK: tell_break(event, telling, ret); break;
    case EVENT_SPEEDUP: tell_speedup(event, telling, ret); break;
    case EVENT_PROBLEM:
    case EVENT_FINDING: tell_sentence(event, ret); break;
    default: return false;
    }
    finish(event, telling, ret);
    return true;
}

static enum snapshot_level level_of(enum switch_status status) {
    if (status == SWITCH_APPLIED) return LEVEL_GOOD;
    if (status == SWITCH_NOT_REACHED) return LEVEL_NOTE;
    return status > SWITCH_NOT_REACHED ? LEVEL_BAD : LEVEL_PLAIN;
}

bool line_of_switch(const struct switch_facts *facts, enum switch_status status, const char *forgot, struct line *ret) {
    if (facts->is_tried_again || status < SWITCH_COMMITTED) return false;
    *ret = (struct line){.ms = facts->lost_ms, .has_step = facts->has_at};
    ret->step = (uint64_t)facts->at;
    bool is_measure = strcmp(facts->by, "baseline") == 0;
    struct buf text = BUF_INIT;
    CLEANUP(cleanup_free) char *change = words_of_switch(facts, forgot);
    buf_puts(&text, change[0] ? change : "nothing changes");
    if (strcmp(facts->by, "engine") == 0) buf_puts(&text, " (put back)");
    buf_printf(&text, ", %s", switch_status_name(status));
    if (facts->has_at) buf_printf(&text, " at %" PRId64, facts->at);
    if (facts->reason && status > SWITCH_APPLIED) buf_printf(&text, ": %s", facts->reason);
    ret->what = facts->id ? mem_printf("switch %" PRId64, facts->id) : mem_strdup("switch");
    ret->text = buf_take(&text);
    ret->place = facts->place ? mem_strdup(facts->place) : NULL;
    ret->level = level_of(status);
    ret->key = mem_printf("switch %" PRIu64, facts->seq);
    if (is_measure) ret->ms = NAN;
    return true;
}
