/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/preset.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/setup/doc.h"
#include "engine/setup/file.h"
#include "engine/setup/preset_parts.h"
#include "engine/setup/spelling.h"

#include "engine/base/banned.h"

enum measure_type { MEASURE_TYPE_TEXT, MEASURE_TYPE_COUNT, MEASURE_TYPE_NUMBER };
enum { MEASURE_MAX = 200 };

static const struct {
    const char *name;
    enum measure_type type;
} measures[PRESET_MEASURE_COUNT] = {
#define MEASURE(symbol, name, type, unit, help) {name, MEASURE_TYPE_##type},
#include "engine/setup/preset.def"
#undef MEASURE
};

void preset_init(struct preset *preset) {
    *preset = (struct preset){0};
}

void preset_done(struct preset *preset) {
    free(preset->name);
    free(preset->description);
    free(preset->notes);
    settings_done(&preset->settings);
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++) free(preset->measured[i]);
    preset_init(preset);
}

const char *preset_measure_name(enum preset_measure measure) {
    return measures[measure].name;
}

/* As strtod, whatever the locale of the program says about decimal points. */
static bool to_number(const char *text, double *ret) {
    if (!*text || text[strspn(text, "0123456789+-.eE")]) return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return false;
    char *end;
    *ret = strtod_l(text, &end, plain);
    freelocale(plain);
    return !*end && isfinite(*ret);
}

double preset_number(const struct preset *preset, enum preset_measure measure) {
    double number;
    const char *text = preset->measured[measure];
    return text && measures[measure].type != MEASURE_TYPE_TEXT && to_number(text, &number) ? number
                                                                                           : NAN;
}

int preset_measure(struct preset *preset, enum preset_measure measure, const char *text,
                   struct err *err) {
    const char *name = measures[measure].name;
    double number;
    uint64_t count;
    if (text && strlen(text) > MEASURE_MAX)
        return err_set(err, ERR_LIMIT, "value of '%s' is too long", name);
    if (text && measures[measure].type == MEASURE_TYPE_NUMBER &&
        !(to_number(text, &number) && number >= 0))
        return err_set(err, ERR_INVALID, "value '%s' of '%s' is no number from 0", text, name);
    if (text && measures[measure].type == MEASURE_TYPE_COUNT && !str_to_u64(text, &count))
        return err_set(err, ERR_INVALID, "value '%s' of '%s' is no whole number", text, name);
    if (text && !is_clean_text(text))
        return err_set(err, ERR_INVALID, "value of '%s' holds characters that are no text", name);
    free(preset->measured[measure]);
    preset->measured[measure] = text ? mem_strdup(text) : NULL;
    return 0;
}

/* ---- files ---- */

/* "fast" of "/somewhere/fast.yaml". */
static char *stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = strlen(name);
    if (has_suffix(name, ".yaml")) size -= strlen(".yaml");
    if (has_suffix(name, ".yml")) size -= strlen(".yml");
    return mem_strndup(name, size);
}

int preset_read_file(const char *path, struct preset *ret, struct err *err) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    int rc = file_read(path, DOC_SIZE_MAX, &text, err);
    if (rc == 0) rc = preset_read(buf_text(&text), text.size, ret, err);
    if (rc == 0 && !ret->name) ret->name = stem(path);
    return rc;
}

int preset_load_file(const char *path, struct preset *ret, struct err *err) {
    int rc = preset_read_file(path, ret, err);
    return rc < 0 ? (err_wrap(err, "could not load preset '%s'", path), rc) : 0;
}

static int save(const char *path, const struct preset *preset, struct err *err) {
    CLEANUP(buf_done) struct buf old = BUF_INIT, text = BUF_INIT;
    struct err missing;
    bool has_old = file_read(path, DOC_SIZE_MAX, &old, &missing) == 0;
    if (!has_old && missing.code != ERR_SYSTEM)
        return err_set(err, missing.code, "%s", missing.message);
    if (has_old && old.size) {
        CLEANUP(preset_done) struct preset before = {0};
        int rc = preset_read(old.data, old.size, &before, err);
        if (rc < 0) return err_wrap(err, "file '%s' is there and no preset", path), rc;
    }
    int rc = preset_rewrite(preset, old.size ? old.data : NULL, old.size, &text, err);
    return rc < 0 ? rc : file_replace(path, text.data, text.size, err);
}

int preset_save_file(const char *path, const struct preset *preset, struct err *err) {
    int rc = save(path, preset, err);
    if (rc == 0) return 0;
    CLEANUP(cleanup_free) char *name = stem(path);
    return err_wrap(err, "could not save preset '%s'", name), rc;
}
