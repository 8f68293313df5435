/* Settings: what can be turned in torch, as a table, and sets of them.
 *
 * A set maps keys to values, both text. A key that is absent is "as written by the script". A key
 * may be meant for one unit: "UNIT/dynamic", UNIT being a name or a number; names may hold dots,
 * never '/'. A change is a set too: merged over what is in force; there the value "as-written"
 * takes its key away, and the key "as-written" (with an empty value) takes all away before the rest
 * of the change is put in.
 *
 * Values are stored in one spelling: true, yes, 1 are "on" and false, no, 0 are "off" where a
 * setting has these values, none is "auto" for dynamic, and Python's True, False and None in
 * options.* are true, false and none. So two spellings are one variant.
 *
 * The table is read-only and for any thread. A set belongs to its holder: settings_init ...
 * settings_done; no locking.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_SETTINGS_H
#define INDUCTOP_SETUP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"

/* ---- the table ---- */

enum setting_id {
#define SETTING(symbol, key, type, effect, toggle, label, path, needs, cannot, risk, help)         \
    SETTING_##symbol,
#define VALUE(symbol, value, needs, help)
#define OPTION_NAME(name)
#include "engine/setup/settings.def"
#undef SETTING
#undef VALUE
#undef OPTION_NAME
    SETTING_ID_COUNT
};

enum setting_type { SETTING_TYPE_CHOICE, SETTING_TYPE_OPEN, SETTING_TYPE_COUNT, SETTING_TYPE_TEXT };
enum setting_effect { SETTING_EFFECT_LIVE, SETTING_EFFECT_NEXT_COMPILE, SETTING_EFFECT_RESTART };
enum setting_label { SETTING_LABEL_VALUE, SETTING_LABEL_KEY };

struct setting {
    const char *key; /* "options.*" stands for every key with that beginning */
    enum setting_type type;
    enum setting_effect effect;
    char toggle; /* key on the screen, 0 without one */
    enum setting_label label;
    const char *path;   /* in torch: "torch.compile:mode", "torch._dynamo.config.recompile_limit",
                           "env:NAME" */
    const char *needs;  /* device type without which it cannot act, or "" */
    const char *cannot; /* says that, for "n/a: ..." */
    const char *risk;
    const char *help;
};

struct setting_value {
    enum setting_id setting;
    const char *value;
    const char *needs;
    const char *help;
};

#define SETTING_AS_WRITTEN "as-written"

const struct setting *setting_get(enum setting_id id);

/* The row for a key, with or without "UNIT/" in front of it; -1 when there is none. */
int setting_find(const char *key);

/* Known values of a setting, in order; of an OPEN setting they are not all. NULL and 0 when it has
 * none. */
const struct setting_value *setting_values(enum setting_id id, size_t *ret_count);

/* Names of inductor options that are worth a suggestion. */
const char *const *setting_option_names(size_t *ret_count);

const char *setting_type_name(enum setting_type type);       /* "choice", "open", "count", "text" */
const char *setting_effect_name(enum setting_effect effect); /* "live", "next compile", "restart" */

/* ---- sets ---- */

enum { SETTINGS_MAX = 64, SETTING_KEY_MAX = 160, SETTING_VALUE_MAX = 512 };

struct settings_pair {
    char *key, *value;
};

/* Read it by for (size_t i = 0; i < set.count; i++) set.pairs[i].key, .value; the order is that of
 * the lines "key=value". */
struct settings {
    struct settings_pair *pairs;
    size_t count, room;
};

#define SETTINGS_INIT                                                                              \
    { NULL, 0, 0 }

void settings_init(struct settings *set);
void settings_done(struct settings *set);
void settings_clear(struct settings *set);

/* Makes `set` (initialised) equal to `from`. */
void settings_copy(struct settings *set, const struct settings *from);

/* Lends the value, until the set changes; NULL when the key is absent. */
const char *settings_get(const struct settings *set, const char *key);

/* Checks key and value (as settings_check) and stores the value in its one spelling. On failure
 * nothing changes. */
int settings_set(struct settings *set, const char *key, const char *value, struct err *err);

/* Stores both as they are, unchecked: for what a rank told us. */
void settings_put(struct settings *set, const char *key, const char *value);

void settings_remove(struct settings *set, const char *key);

/* Puts a change over a full set; the result is a full set without "as-written" in it. */
void settings_merge(struct settings *set, const struct settings *change);

bool is_same_settings(const struct settings *a, const struct settings *b);

/* The number of this set everywhere (the variant): 0 when it is empty, else FNV-1a of its sorted
 * lines "key=value\n", without the top bit, and never 0. */
uint32_t settings_key(const struct settings *set);

/* Short and readable, "regional dynamic=on"; "as written" when empty. The caller frees it. */
char *settings_label(const struct settings *set);

/* "KEY=VALUE,KEY=VALUE" as settings_parse_change() reads it; "as-written" when empty. The caller
 * frees it. */
char *settings_text(const struct settings *set);

/* ---- checks and text ---- */

/* Can this key have this value? Says no with the reason and the nearest names. What only torch
 * knows (registered backends, inductor's options and their types) passes here and is decided by the
 * rank before anything is applied. Settings that do not act live are refused with their reason. */
int settings_check(const char *key, const char *value, struct err *err);

/* Do the values of one change, or of a preset, go together? torch refuses mode with options. (A mode
 * that is in force can be refined by options later: it is a set of options then.) */
int settings_check_set(const struct settings *set, struct err *err);

/* Reads "KEY=VALUE[,KEY=VALUE...]", or the word as-written among them, into `ret_change`
 * (initialised), which is replaced on success and untouched on failure. A value with commas stands
 * in double quotes, where \" and \\ are '"' and '\'. Every pair is checked; a key may come only
 * once. */
int settings_parse_change(const char *text, struct settings *ret_change, struct err *err);

#endif
