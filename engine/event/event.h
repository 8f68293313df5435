/* Events in our own processes: JSON to struct event and back.
 *
 * An event owns its body: a JSON object with the fields of its kind as they were told, unknown ones
 * included. The common fields `v`, `kind`, `ns`, `t`, `rank` and `step` are not in the body: they
 * are the members of the struct. One owner, one thread at a time. event_parse(), event_from_step()
 * and event_make() begin an event, event_done() ends it.
 *
 * Bounds: a line has EVENT_LINE_MAX bytes at most, arrays and objects nest EVENT_DEPTH_MAX deep at
 * most, a text has EVENT_TEXT_MAX bytes at most: a longer one is cut at a character, and the body
 * then says `cut: true`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_EVENT_EVENT_H
#define INDUCTOP_EVENT_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/wire/kinds.h"
#include "engine/wire/record.h"

enum { EVENT_LINE_MAX = 1 << 20, EVENT_DEPTH_MAX = 16, EVENT_TEXT_MAX = 16 << 10 };

struct event {
    enum event_kind
        kind; /* EVENT_KIND_COUNT: a kind that we do not know; its name is then the body's `kind` */
    double t; /* seconds since the job's start */
    bool has_rank, has_step;
    int rank;
    uint64_t step;
    json_t *body; /* owned, never NULL between begin and done */
};

#define EVENT_INIT                                                                                 \
    { .kind = EVENT_KIND_COUNT, .body = NULL }

/* An event of an unknown kind with an empty body. */
void event_init(struct event *event);

/* Forgiving: an event that is all zero, or done already, is fine. */
void event_done(struct event *event);

/* Reads one JSON object. `ns` (CLOCK_MONOTONIC) becomes t = (ns - start_ns) / 1e9; without `ns`
 * there must be a `t`, as on a tape. Checks the version, the kind, that required fields are there,
 * that each known field has its type and each choice is one of the table's; a null stands for an
 * optional field that is missing and is left out. Unknown kinds and fields are kept. Returns how
 * many names are not known (0: all are; `tag` and `cut` are known everywhere), or a negative code:
 * then `ret` is untouched and nothing is to be done. Bad data from a rank is no fault of the
 * program: count it there and go on. */
int event_parse(const char *bytes, size_t size, uint64_t start_ns, struct event *ret,
                struct err *err);

/* The same checks for an event that was made here. Returns as event_parse(). */
int event_check(const struct event *event, struct err *err);

/* A step record as an event: only what is valid, nanoseconds as milliseconds, `why` as names.
 * Cannot fail. */
void event_from_step(const struct step_record *record, int rank, uint64_t start_ns,
                     struct event *ret);

/* Not clean for a reason that we do not know: the bit that "unknown" stands for in `why`. */
#define STEP_WHY_UNKNOWN (UINT32_C(1) << 31)

/* The record that a step event came from, `end_ns` counted from the job's start: event_from_step()
 * backwards. What cannot be in an event (seq) is 0. A step that is not clean has a bit in `why`, a
 * clean one has none. */
void event_to_step(const struct event *event, struct step_record *ret);

/* A line with a step event, read without the detour over JSON values, as event_parse() and
 * event_to_step() would. False, and nothing set, for any other line and for what is unusual in one:
 * then event_parse() has the last word. */
bool event_step_parse(const char *line, size_t size, struct step_record *ret_record, int *ret_rank);

/* Adds the line that event_from_step() and event_print() give (but never an exponent). */
void event_step_print(const struct step_record *record, int rank, uint64_t start_ns,
                      struct buf *buf);

/* Adds one compact line without a newline: v, kind, t, rank and step first (the last two when they
 * are there), then the body in its own order. Numbers keep 15 digits. */
void event_print(const struct event *event, struct buf *buf);

/* A new event; `format` and what follows is a json_pack() format of an object, "{}" when there is
 * nothing to say. Its texts must be valid UTF-8: pass others by "o" and event_string(). A format
 * that cannot be packed is a bug: asserts, or else gives an empty body. */
struct event event_make(enum event_kind kind, double t, const char *format, ...) ATTR_WARN_UNUSED;
void event_set_rank(struct event *event, int rank);
void event_set_step(struct event *event, uint64_t step);

/* Any bytes as a JSON text: what is not UTF-8 becomes '?', and it is cut at EVENT_TEXT_MAX. A new
 * reference, never NULL; NULL gives an empty text. */
json_t *event_string(const char *text);

/* Fields of the body. The text is lent, and NULL when the field is missing or no text; the others
 * return false and leave `ret_value` alone. event_number() takes whole numbers too. */
const char *event_text(const struct event *event, const char *field);
bool event_int(const struct event *event, const char *field, int64_t *ret_value);
bool event_number(const struct event *event, const char *field, double *ret_value);
bool event_is_true(const struct event *event, const char *field); /* present and true */

#endif
