/* Keys and values that snapshots share, made of a JSON object.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_PAIRS_H
#define INDUCTOP_DATA_PAIRS_H

#include <jansson.h>

#include "engine/data/snapshot.h"

/* In order of the keys; numbers and truth values as texts, other values left out. NULL for what is
 * no object. A new reference. */
struct snapshot_pairs *pairs_new(const json_t *object);

#endif
