/* Names that may have been meant, for hints after a slip of the finger. Pure, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_NEAREST_H
#define INDUCTOP_SETUP_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/err.h"

enum { NEAREST_MAX = 3 };

/* Places in `names` of those that are nearest to `text`, best first, and how many; 0 when none is
 * near enough to be meant. Distance: letters put in, left out, replaced, or swapped with their
 * neighbour; case does not count. */
size_t nearest_find(const char *text, const char *const *names, size_t count,
                    size_t ret_places[NEAREST_MAX]);

/* Puts "Did you mean 'a' or 'b'?" into the hint. Without a near name the hint stays as it was. */
void nearest_hint(struct err *err, const char *text, const char *const *names, size_t count);

/* Is `text` plainly one of `names`, misspelt? Stricter than a hint: two slips at most, five letters
 * or more, and a text that contains the whole name ("inductor2") was chosen on purpose. An exact
 * name is no slip. */
bool is_slip_of(const char *text, const char *const *names, size_t count);

#endif
