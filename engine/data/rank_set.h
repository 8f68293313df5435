/* Which ranks: a set of rank numbers and its text, "0-3,7". The holder owns it; all zero is empty.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_RANK_SET_H
#define INDUCTOP_DATA_RANK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANKS_MOST = 1 << 20 }; /* no rank has this number or a higher one */

struct rank_set {
    uint8_t *bits;
    size_t room; /* bytes */
    size_t count;
};

void rank_set_done(struct rank_set *set);
struct rank_set rank_set_dup(const struct rank_set *set);

/* True when it is new; numbers that cannot be are left out. */
bool rank_set_add(struct rank_set *set, int rank);
bool rank_set_has(const struct rank_set *set, int rank);

/* -1 when it is empty. */
int rank_set_first(const struct rank_set *set);

/* "0,1", "0-511", "" when empty; three in a row make a range. The caller frees it. */
char *rank_set_text(const struct rank_set *set);

/* Adds the ranks of such a text; stops at what is none. */
void rank_set_parse(struct rank_set *set, const char *text);

#endif
