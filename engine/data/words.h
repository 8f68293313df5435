/* What is told, in plain words: texts that more than one list shows. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_WORDS_H
#define INDUCTOP_DATA_WORDS_H

#include <jansson.h>

#include "engine/event/event.h"

/* "dynamic auto to on, scope whole to as written"; "" when they are the same. Both are objects of
 * settings, NULL: not told, as empty. The caller frees it. */
char *words_of_change(const json_t *from, const json_t *to);

/* What a switch does that lets go of a set of settings. The caller frees it. */
char *words_of_forget(const char *label);

/* "train.py:41" from the event's `file` and `line`, without folders; NULL without a file. The
 * caller frees it. */
char *words_of_place(const struct event *event);

/* torch's cause of a recompile without the compile id in front ("0/0: "), within `cause`. */
const char *words_cause(const char *cause);

/* Why it was compiled again, as the event tells it: in words, else torch's reason without the id in
 * front and the brackets of L['x']; NULL when it tells neither. The caller frees it. */
char *words_of_cause(const struct event *event);

/* The same text for causes that differ in numbers only. The caller frees it. */
char *words_without_numbers(const char *text);

#endif
