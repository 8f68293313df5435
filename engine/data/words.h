/* What is told, in plain words: texts that more than one list shows. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_WORDS_H
#define INDUCTOP_DATA_WORDS_H

#include <jansson.h>

#include "engine/event/event.h"

struct switch_facts;

/* "dynamic auto to on, scope whole to as written"; "" when they are the same. Both are objects of
 * settings, NULL: not told, as empty. The caller frees it. */
char *words_of_change(const json_t *from, const json_t *to);

/* What a switch does: words_of_change(), or "measuring against LABEL" of a comparison, or what it
 * lets go of; `forgot`: the label of those settings, NULL: none. The caller frees it. */
char *words_of_switch(const struct switch_facts *facts, const char *forgot);

/* "train.py:41" from the event's `file` and `line`, without folders; NULL without a file. The
 * caller frees it. */
char *words_of_place(const struct event *event);

/* torch's cause of a recompile without the compile id in front ("0/0: "), within `cause`. */
const char *words_cause(const char *cause);

/* Why it was compiled again, as the event tells it: in words, else torch's reason without the id in
 * front and the brackets of L['x']; NULL when it tells neither. The caller frees it. */
char *words_of_cause(const struct event *event);

/* What a speedup event found: "1.34 over eager (95 %: 1.32 to 1.36, 6 pairs), faster; forward 1.41
 * (1.38 to 1.44); pays after 120 steps", with the phases that differ for sure. `against`: label of
 * what it is over. The caller frees it. */
char *words_of_speedup(const struct event *event, const char *against);

/* The same text for causes that differ in numbers only. The caller frees it. */
char *words_without_numbers(const char *text);

#endif
