/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/printer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/words.h"
#include "engine/base/banned.h"

enum { LINE_MAX_BYTES = 400, CAUSE_MAX = 160 };

/* What was told of a thing already, and by how many ranks: what every rank says is told once. */
struct told {
    char key[200];
    int count;
    UT_hash_handle hh;
};

struct printer {
    struct told *told;
    json_t *labels; /* key of a variant, as text, to its label */
    int ranks;      /* that are hooked */
};

struct printer *printer_new(void) {
    struct printer *printer = mem_new(sizeof *printer);
    printer->labels = json_object();
    return printer;
}

void printer_free(struct printer *printer) {
    if (!printer) return;
    struct told *one, *next;
    HASH_ITER(hh, printer->told, one, next) {
        HASH_DEL(printer->told, one);
        free(one);
    }
    json_decref(printer->labels);
    free(printer);
}

/* How often this was said, this time included. */
static int count_told(struct printer *printer, const char *text) {
    struct told *one;
    char key[sizeof one->key];
    snprintf(key, sizeof key, "%s", text);
    HASH_FIND_STR(printer->told, key, one);
    if (!one) {
        one = mem_new(sizeof *one);
        memcpy(one->key, key, sizeof key);
        HASH_ADD_STR(printer->told, key, one);
    }
    return ++one->count;
}

/* One line, control characters made harmless: texts come from the job. */
static void line(struct buf *out, const char *text) {
    size_t n = strlen(text), size = n > LINE_MAX_BYTES ? LINE_MAX_BYTES : n;
    buf_puts(out, "inductop: ");
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        buf_add(out, c < 32 || c == 127 ? " " : (const char *)&text[i], 1);
    }
    buf_puts(out, n > size ? "...\n" : "\n");
}

void printer_text(struct buf *ret_lines, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        CLEANUP(cleanup_free) char *one = mem_strndup(text, n);
        if (n) line(ret_lines, one);
        text += n + (text[n] == '\n');
    }
}

static const char *label_in(const struct printer *printer, const struct event *event, const char *field) {
    char key[24];
    int64_t variant = 0;
    if (!event_int(event, field, &variant)) return "?";
    if (variant == 0) return "as written";
    snprintf(key, sizeof key, "%" PRId64, variant);
    const char *label = json_string_value(json_object_get(printer->labels, key));
    return label ? label : "?";
}

static const char *label_of(const struct printer *printer, const struct event *event) {
    return label_in(printer, event, "variant");
}

static const char *or_empty(const char *text) {
    return text ? text : "";
}

static void who(const struct event *event, struct buf *text) {
    if (event->has_rank) buf_printf(text, "rank %d: ", event->rank);
}

static void say_job(struct printer *printer, const struct event *event, struct buf *text) {
    (void)printer;
    int64_t number;
    const char *state = event_text(event, "state");
    if (strcmp(state, "running") == 0)
        buf_printf(text, "session '%s': inductop send %s KEY=VALUE changes settings while it runs",
                   or_empty(event_text(event, "name")), or_empty(event_text(event, "name")));
    else if (event_int(event, "signal", &number)) buf_printf(text, "the job was ended by signal %" PRId64, number);
    else if (event_int(event, "exit", &number)) buf_printf(text, "the job ended with exit code %" PRId64, number);
    else buf_puts(text, "the job has ended, its exit status is not known");
}

static void say_rank(struct printer *printer, const struct event *event, struct buf *text) {
    const char *state = event_text(event, "state"), *reason = event_text(event, "reason");
    const char *torch = event_text(event, "torch"), *device = event_text(event, "device");
    const char *switching = event_text(event, "switching");
    char key[200];
    snprintf(key, sizeof key, "rank %d %s %s %.100s", event->rank, state, switching ? switching : "", or_empty(reason));
    if (count_told(printer, key) > 1 || strcmp(state, "running") == 0) return;
    snprintf(key, sizeof key, "rank %d", event->rank);
    if (strcmp(state, "hooked") == 0 && count_told(printer, key) == 1) printer->ranks++;
    who(event, text);
    buf_puts(text, state);
    if (strcmp(state, "hooked") == 0) {
        buf_printf(text, ", torch %s, %s", torch ? torch : "?", device ? device : "?");
        if (switching && strcmp(switching, "live")) buf_printf(text, ", switching: %s", switching);
    }
    if (reason && *reason) buf_printf(text, ": %s", reason);
}

static void say_unit(struct printer *printer, const struct event *event, struct buf *text) {
    int64_t number = 0, at = 0;
    char key[200];
    event_int(event, "unit", &number);
    snprintf(key, sizeof key, "unit %" PRId64 " %s", number, or_empty(event_text(event, "name")));
    if (count_told(printer, key) > 1) return;
    buf_printf(text, "unit %" PRId64 ": %s", number, or_empty(event_text(event, "name")));
    if (event_text(event, "file") && event_int(event, "line", &at))
        buf_printf(text, ", compiled at %s:%" PRId64, event_text(event, "file"), at);
    const char *origin = event_text(event, "origin");
    if (origin && strcmp(origin, "script")) buf_printf(text, " (%s)", origin);
}

/* When a trouble comes, or becomes another one. */
static void say_active(struct printer *printer, const struct event *event, struct buf *text) {
    int64_t number = 0;
    char key[200];
    const char *trouble = event_text(event, "trouble");
    if (!trouble) return;
    event_int(event, "unit", &number);
    snprintf(key, sizeof key, "active %d %" PRId64 " %s", event->rank, number, or_empty(event_text(event, "state")));
    if (count_told(printer, key) > 1) return;
    who(event, text);
    buf_printf(text, "unit %" PRId64 " %s: %s", number, or_empty(event_text(event, "name")), trouble);
}

/* The first of a kind, of each unit and its settings. */
static void say_verify(struct printer *printer, const struct event *event, struct buf *text) {
    int64_t number = 0;
    double loss, eager, gradient, eager_gradient;
    char key[200];
    const char *verdict = or_empty(event_text(event, "verdict")), *why = event_text(event, "why");
    event_int(event, "unit", &number);
    snprintf(key, sizeof key, "verify %d %" PRId64 " %s %s", event->rank, number, label_of(printer, event), verdict);
    if (count_told(printer, key) > 1) return;
    who(event, text);
    buf_printf(text, "verify %s [%s]: %s", or_empty(event_text(event, "id")), label_of(printer, event), verdict);
    if (strcmp(verdict, "n/a")) buf_puts(text, strcmp(verdict, "same") ? " from eager" : " as eager");
    if (why) buf_printf(text, ": %s", why);
    if (event_number(event, "loss", &loss) && event_number(event, "eager_loss", &eager))
        buf_printf(text, ", loss %.6g (eager %.6g)", loss, eager);
    if (event_number(event, "gradient", &gradient) && event_number(event, "eager_gradient", &eager_gradient))
        buf_printf(text, ", gradient %.6g (%.6g)", gradient, eager_gradient);
}

static void say_compile(struct printer *printer, const struct event *event, struct buf *text) {
    double ms = 0;
    const char *words = event_text(event, "words"), *failed = event_text(event, "failed");
    const char *cause = words ? words : event_text(event, "cause");
    const char *trigger = event_text(event, "trigger"), *frame = event_text(event, "frame");
    event_number(event, "ms", &ms);
    who(event, text);
    buf_printf(text, "compile %s (%s) %.1f s", or_empty(event_text(event, "id")), or_empty(trigger), ms / 1e3);
    if (frame) buf_printf(text, " %s", frame);
    buf_printf(text, " [%s]", label_of(printer, event));
    if (failed) buf_printf(text, ", failed: %s", failed);
    if (cause && strcmp(or_empty(trigger), "recompile") == 0) buf_printf(text, ": %.*s", CAUSE_MAX, cause);
}

static void say_break(struct printer *printer, const struct event *event, struct buf *text) {
    (void)printer;
    int64_t at = 0;
    int64_t runs = 0;
    const char *code = event_text(event, "code"), *effect = event_text(event, "effect");
    bool is_meant = effect && strcmp(effect, "ddp") == 0;
    if (is_meant || event_int(event, "runs", &runs)) return; /* intended, or said already */
    who(event, text);
    buf_puts(text, "graph break");
    if (event_text(event, "file") && event_int(event, "line", &at))
        buf_printf(text, " at %s:%" PRId64, event_text(event, "file"), at);
    buf_printf(text, ": %s", or_empty(event_text(event, "reason")));
    if (code) buf_printf(text, " [%s]", code);
}

static void settings_text(const json_t *settings, struct buf *text) {
    const char *key;
    const json_t *value;
    bool any = false;
    json_object_foreach((json_t *)settings, key, value) {
        if (strcmp(key, "as-written") == 0) continue;
        buf_printf(text, "%s%s=%s", any ? " " : "", key, or_empty(json_string_value(value)));
        any = true;
    }
    if (!any) buf_puts(text, "as written");
}

/* What a rank says of a switch is told when all have said it; of a proposal, the engine's own word is enough. */
static bool is_worth_a_line(struct printer *printer, const struct event *event) {
    char key[200];
    int64_t id = 0, at = 0;
    const char *by = or_empty(event_text(event, "by")), *status = event_text(event, "status");
    if (strcmp(status, "ready") == 0 || event_is_true(event, "again")) return false;
    if (!event->has_rank) return true;
    if (strcmp(status, "failed") == 0) return true;
    if (strcmp(by, "set") && strcmp(by, "at")) return false;
    event_int(event, "id", &id);
    event_int(event, "at", &at);
    snprintf(key, sizeof key, "switch %s %" PRId64 " %" PRId64 " %s %.100s", by, id, at, status, or_empty(event_text(event, "reason")));
    return count_told(printer, key) == printer->ranks;
}

/* "3 versions of 1 function" */
static void say_freed(const json_t *freed, struct buf *text) {
    int64_t versions = json_integer_value(json_object_get(freed, "versions"));
    int64_t functions = json_integer_value(json_object_get(freed, "functions"));
    buf_printf(text, ": %" PRId64 " version%s of %" PRId64 " function%s on each rank", versions, versions == 1 ? "" : "s", functions,
               functions == 1 ? "" : "s");
}

static void say_switch(struct printer *printer, const struct event *event, struct buf *text) {
    int64_t id = 0, at = 0, line_number = 0;
    const char *status = event_text(event, "status"), *reason = event_text(event, "reason");
    const json_t *freed = json_object_get(event->body, "freed");
    if (!is_worth_a_line(printer, event)) return;
    event_int(event, "id", &id);
    if (strcmp(status, "failed") == 0) who(event, text);
    bool is_forget = json_object_get(event->body, "forgot");
    buf_printf(text, "switch %" PRId64 " (%s) %s", id, or_empty(event_text(event, "by")), is_forget ? "lets go of " : "to ");
    if (is_forget) buf_puts(text, label_in(printer, event, "forgot"));
    else settings_text(json_object_get(event->body, "to"), text);
    buf_printf(text, ": %s", status);
    if (event->has_rank && printer->ranks > 1 && strcmp(status, "failed")) buf_printf(text, " on %d ranks", printer->ranks);
    if (event_int(event, "at", &at)) buf_printf(text, " at step %" PRId64, at);
    if (freed) say_freed(freed, text);
    if (reason && *reason) buf_printf(text, ": %s", reason);
    if (event_text(event, "file") && event_int(event, "line", &line_number))
        buf_printf(text, " (%s:%" PRId64 ")", event_text(event, "file"), line_number);
}

static void say_variant(struct printer *printer, const struct event *event, struct buf *text) {
    (void)text;
    char key[24];
    int64_t variant = 0;
    event_int(event, "variant", &variant);
    snprintf(key, sizeof key, "%" PRId64, variant);
    json_object_set(printer->labels, key, json_object_get(event->body, "label"));
}

static void say_speedup(struct printer *printer, const struct event *event, struct buf *text) {
    double ratio;
    if (!event_number(event, "ratio", &ratio)) return;
    bool is_versus = json_object_get(event->body, "against");
    CLEANUP(cleanup_free) char *found = words_of_speedup(event, is_versus ? label_in(printer, event, "against") : "eager");
    who(event, text);
    buf_printf(text, "%s: %s", label_of(printer, event), found);
}

static void say_problem(struct printer *printer, const struct event *event, struct buf *text) {
    (void)printer;
    const char *hint = event_text(event, "hint");
    who(event, text);
    buf_printf(text, "%s: %s", or_empty(event_text(event, "what")), or_empty(event_text(event, "text")));
    if (hint) buf_printf(text, ". %s", hint);
}

/* Once: that it costs more by now stands in the table at the end. */
static void say_finding(struct printer *printer, const struct event *event, struct buf *text) {
    const char *rule = event_text(event, "rule"), *subject = event_text(event, "subject"), *action = event_text(event, "action");
    const char *sentence = or_empty(event_text(event, "text"));
    CLEANUP(cleanup_free) char *key = rule ? mem_printf("finding %s %d %s", rule, event->has_rank ? event->rank : -1, or_empty(subject))
                                           : mem_strdup(sentence);
    if (count_told(printer, key) > 1) return;
    who(event, text);
    buf_puts(text, sentence);
    if (action) buf_printf(text, ". %s", action);
}

static void (*const say[EVENT_KIND_COUNT])(struct printer *, const struct event *, struct buf *) = {
    [EVENT_JOB] = say_job,         [EVENT_RANK] = say_rank,       [EVENT_UNIT] = say_unit,
    [EVENT_COMPILE] = say_compile, [EVENT_BREAK] = say_break,     [EVENT_SWITCH] = say_switch,
    [EVENT_VARIANT] = say_variant, [EVENT_SPEEDUP] = say_speedup, [EVENT_PROBLEM] = say_problem,
    [EVENT_FINDING] = say_finding, [EVENT_ACTIVE] = say_active,
    [EVENT_VERIFY] = say_verify,
};

void printer_event(struct printer *printer, const struct event *event, struct buf *ret_lines) {
    if (event->kind >= EVENT_KIND_COUNT || !say[event->kind]) return;
    struct buf text = BUF_INIT;
    say[event->kind](printer, event, &text);
    if (text.size) line(ret_lines, text.data);
    buf_done(&text);
}
