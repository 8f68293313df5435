/* Which key does what, where. The footer, the help and the printed list of keys all come from this
 * table.
 *
 * Read-only, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_KEYMAP_H
#define INDUCTOP_TUI_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "tui/keys.h"

enum action_id {
#define GROUP(symbol, title)
#define ACTION(symbol, name, group, effects, help) ACTION_##symbol,
#include "tui/actions.def"
#undef GROUP
#undef ACTION
    ACTION_COUNT,
    ACTION_NONE = ACTION_COUNT
};

enum action_group {
#define GROUP(symbol, title) ACTION_GROUP_##symbol,
#define ACTION(symbol, name, group, effects, help)
#include "tui/actions.def"
#undef GROUP
#undef ACTION
    ACTION_GROUP_COUNT
};

enum action_effect {
    ACTION_EFFECT_SEND = 1,
    ACTION_EFFECT_JOB = 2,
    ACTION_EFFECT_LEAVE = 4,
    ACTION_EFFECT_SUSPEND = 8,
    ACTION_EFFECT_SAVE = 16
};

struct action {
    const char *name, *help;
    enum action_group group;
    unsigned effects;
};

/* Where a key means something. The first one holds everywhere but under the last four, which have
 * the keys to themselves. */
enum key_scope {
    KEY_SCOPE_ALL,
    KEY_SCOPE_SETTINGS,
    KEY_SCOPE_TABLE,  /* ranks, compiles, breaks, findings, presets */
    KEY_SCOPE_TEXT,   /* output, the log of changes */
    KEY_SCOPE_REPLAY, /* on a tape, besides what else holds */
    KEY_SCOPE_DEEPER, /* there is a way back, besides what else holds */
    KEY_SCOPE_HELP,
    KEY_SCOPE_DIALOG,
    KEY_SCOPE_FIELD, /* a line that takes text: characters that are no row here go into it */
    KEY_SCOPE_JOB,   /* keys go to the job: those that are no row here too */
    KEY_SCOPE_COUNT
};

struct binding {
    const char *key; /* as tui/keys.h names it */
    enum action_id action;
    unsigned scopes;    /* 1 << key_scope */
    int argument;       /* of the action: the view of a digit, the letter of a toggle */
    const char *footer; /* what the footer says; rows with the same words stand together; NULL: not
                           in the footer */
};

const struct binding *keymap_bindings(size_t *ret_count);

const struct action *action_get(enum action_id id);
int action_find(const char *name); /* -1: none */
const char *action_group_title(enum action_group group);

/* The row for a key where these scopes hold (1 << key_scope); NULL: the key does nothing there. */
const struct binding *keymap_find(const struct key *key, unsigned scopes);

/* What holds in a scope: it alone, or it and KEY_SCOPE_ALL. */
unsigned keymap_scopes(enum key_scope scope);

/* The names of the keys that do this, "F1 ? h", where these scopes hold. Added to `out`. */
void keymap_keys(struct buf *out, enum action_id action, unsigned scopes);

const char *key_scope_name(enum key_scope scope);

/* ---- footer ---- */

/* One thing that the footer offers: its keys, what it does, and the row for a click. */
struct footer_entry {
    char keys[48];
    const char *label;
    const struct binding *binding;
    int x, width; /* where footer_make() puts it */
};

enum { FOOTER_ENTRIES_MAX = 24 };

/* What the footer offers in so many columns, in the order of the table; what does not fit is left
 * out from the end, but the last one (quit) stays. Returns how many. */
size_t footer_make(struct footer_entry ret_entries[FOOTER_ENTRIES_MAX], unsigned scopes, int width);

/* ---- help ---- */

/* All actions that have keys where these scopes hold, by groups, as lines "keys<TAB>help", group
 * titles without a tab. */
void keymap_help(struct buf *out, unsigned scopes);

#endif
