/* What is staged: changes of settings that a person has turned but not applied, over what is in
 * force.
 *
 * Pure: no terminal, no engine. A staging belongs to its holder: staging_init ... staging_done. One
 * thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_STAGING_H
#define INDUCTOP_TUI_STAGING_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/data/snapshot.h"
#include "engine/setup/settings.h"

struct staging {
    struct settings now;    /* in force, as the ranks told it; empty: as written */
    struct settings change; /* over it; a value "as-written" takes its key away */
};

/* Adds the pairs, or puts them in the place of those with the same key; NULL: none. */
void settings_put_pairs(struct settings *set, const struct snapshot_pairs *pairs);

void staging_init(struct staging *staging);
void staging_done(struct staging *staging);

/* What is in force; `pairs` may be NULL. What is staged and now in force is staged no more. */
void staging_set_now(struct staging *staging, const struct snapshot_pairs *pairs);

/* The value in force, or staged; NULL: as written, or nothing staged. Lent until the next change.
 */
const char *staging_now(const struct staging *staging, const char *key);
const char *staging_next(const struct staging *staging, const char *key);

/* Stages a value, checked; the value in force takes the key out of what is staged. */
int staging_put(struct staging *staging, const char *key, const char *value, struct err *err);

/* Stages the next value (1) or the one before (-1) of a setting, for all units or ("UNIT/KEY") for
 * one, that can act on this device (NULL: not known). Fails when it cannot act there, with the
 * reason. */
int staging_turn(struct staging *staging, const char *key, int direction, const char *device,
                 struct err *err);

/* Stages whatever leads from what is in force to `target`. */
void staging_aim(struct staging *staging, const struct settings *target);

void staging_clear(struct staging *staging);

/* What would be in force. Into an initialised set. */
void staging_result(const struct staging *staging, struct settings *ret);

/* "dynamic as written to on, scope whole to regional". Added to `out`. */
void staging_words(const struct staging *staging, struct buf *out);

/* Why a setting, or one of its values, cannot act on a device; NULL: it can, or nobody knows. */
const char *setting_objection(enum setting_id id, const char *device);
const char *setting_value_objection(const struct setting_value *value, const char *device);

/* The setting with this key on the screen; -1: none. */
int setting_of_toggle(char toggle);

#endif
