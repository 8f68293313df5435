/* Presets: settings with a name, kept as YAML files.
 *
 *     # When: ...                      a comment that says when to use it
 *     name: fast                       without it, the file's name
 *     description: for long jobs
 *     settings:                        the only key that must be there; may be empty
 *       mode: max-autotune
 *       options:                       the same as options.epilogue_fusion: false
 *         epilogue_fusion: false
 *     measured_on:                     keys: preset.def
 *       step_ms: 31.9
 *       speedup: 1.34
 *     notes: |
 *       more lines
 *
 * A file has 64 KiB at most; anchors and aliases are refused. Keys of other programs at the top and
 * in measured_on are passed over, but what looks like one of ours misspelt is an error, and so is
 * everything unknown under settings.
 *
 * Rewriting a file keeps: every top-level part whose content is
 * the same, byte by byte with its comments; all unknown top-level keys; all comments and blank
 * lines between the parts. It loses comments and unknown keys inside a part that changed, and
 * everything unknown where the file is one flow map or its keys are not at the margin.
 *
 * A struct preset belongs to its holder: preset_init ... preset_done. No locking.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_PRESET_H
#define INDUCTOP_SETUP_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"
#include "engine/setup/settings.h"

enum preset_measure {
#define MEASURE(symbol, name, type, unit, help) MEASURE_##symbol,
#include "engine/setup/preset.def"
#undef MEASURE
    PRESET_MEASURE_COUNT
};

struct preset {
    char *name;        /* NULL: none */
    char *description; /* NULL: none */
    char *notes;       /* NULL: none */
    struct settings settings;
    char *measured[PRESET_MEASURE_COUNT]; /* as text, NULL where missing */
};

#define PRESET_INIT                                                                                \
    { 0 }

void preset_init(struct preset *preset);
void preset_done(struct preset *preset);

const char *preset_measure_name(enum preset_measure measure);

/* A measured figure; NAN when it is missing. */
double preset_number(const struct preset *preset, enum preset_measure measure);

/* Sets what was measured; NULL takes it away. Checks the type. */
int preset_measure(struct preset *preset, enum preset_measure measure, const char *text,
                   struct err *err);

/* ---- reading and writing ---- */

/* Reads the text of a preset file. `ret` (initialised) is untouched on failure. Messages begin
 * "line N, column M: ". */
int preset_read(const char *text, size_t size, struct preset *ret, struct err *err);

/* Adds the preset as the text of a new file. */
int preset_write(const struct preset *preset, struct buf *buf, struct err *err);

/* Adds the preset as `old` rewritten; as preset_write() when `old` is NULL or cannot be kept. */
int preset_rewrite(const struct preset *preset, const char *old, size_t size, struct buf *buf,
                   struct err *err);

/* Reads a file. A preset without a name gets the file's. Messages begin
 * "could not load preset 'PATH': ". */
int preset_load_file(const char *path, struct preset *ret, struct err *err);

/* Writes a file, atomically, over what is there; makes its folder. A file there that is no preset
 * is not touched. */
int preset_save_file(const char *path, const struct preset *preset, struct err *err);

/* ---- where they are ---- */

enum preset_origin { PRESET_PROJECT, PRESET_USER, PRESET_SHIPPED, PRESET_ORIGIN_COUNT };

const char *preset_origin_name(enum preset_origin origin); /* "project", "user", "shipped" */

/* Folder of an origin: ./presets, $XDG_CONFIG_HOME/inductop/presets (or ~/.config/...),
 * `support`/presets. NULL when there is none (no HOME; `support` is NULL). The caller frees it. */
char *preset_folder(enum preset_origin origin, const char *support);

/* Path of a preset. What has a '/' in it or ends in .yaml or .yml is a file; else project, user and
 * shipped folder are asked in this order. The caller frees the path. */
int preset_find(const char *name, const char *support, char **ret_path, struct err *err);

/* Finds and reads. Messages about the file begin "could not load preset 'NAME' from 'PATH': ". */
int preset_load(const char *name, const char *support, struct preset *ret, struct err *err);

struct preset_item {
    char *name, *path;
    enum preset_origin origin;
    bool is_hidden; /* one of the same name comes before it */
};

struct preset_list {
    struct preset_item *items; /* by name, then by origin */
    size_t count, room;
};

/* All that can be found; folders that are not there are passed over. Fill an all-zero list, empty
 * it with preset_list_done(). */
void preset_list_fill(struct preset_list *list, const char *support);
void preset_list_done(struct preset_list *list);

#endif
