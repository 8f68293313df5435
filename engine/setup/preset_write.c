/* A preset written as YAML, with what stood there before kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/setup/doc.h"
#include "engine/setup/preset.h"
#include "engine/setup/preset_parts.h"

#include "engine/base/banned.h"

#define OPTIONS_PREFIX "options."

/* ---- one part as text ---- */

static void add_text(struct doc *map, enum preset_part part, const char *text) {
    if (text) doc_add_text(map, preset_part_name(part), text);
}

/* Settings in the order of the table, options in a map of their own, unknown ones last. */
static void add_settings(struct doc *root, const struct settings *settings) {
    struct doc *map = doc_add_map(root, preset_part_name(PRESET_PART_SETTINGS)), *options = NULL;
    for (int id = 0; id <= SETTING_ID_COUNT; id++)
        for (size_t i = 0; i < settings->count; i++) {
            const char *key = settings->pairs[i].key, *value = settings->pairs[i].value;
            int own = setting_find(key);
            if ((own < 0 ? SETTING_ID_COUNT : own) != id) continue;
            if (!has_prefix(key, OPTIONS_PREFIX)) {
                doc_add_text(map, key, value);
                continue;
            }
            if (!options) options = doc_add_map(map, "options");
            doc_add_text(options, key + strlen(OPTIONS_PREFIX), value);
        }
}

static void add_measured_on(struct doc *root, const struct preset *preset) {
    struct doc *map = NULL;
    for (int i = 0; i < PRESET_MEASURE_COUNT; i++) {
        if (!preset->measured[i]) continue;
        if (!map) map = doc_add_map(root, preset_part_name(PRESET_PART_MEASURED_ON));
        doc_add_text(map, preset_measure_name(i), preset->measured[i]);
    }
}

/* Adds the text of one part, nothing when the preset has none. */
static int write_part(const struct preset *preset, enum preset_part part, struct buf *buf,
                      struct err *err) {
    CLEANUP(doc_cleanup) struct doc *root = doc_new_map();
    switch (part) {
    case PRESET_PART_NAME: add_text(root, part, preset->name); break;
    case PRESET_PART_DESCRIPTION: add_text(root, part, preset->description); break;
    case PRESET_PART_SETTINGS: add_settings(root, &preset->settings); break;
    case PRESET_PART_MEASURED_ON: add_measured_on(root, preset); break;
    case PRESET_PART_NOTES: add_text(root, part, preset->notes); break;
    case PRESET_PART_COUNT: break;
    }
    return root->count ? doc_write(root, buf, err) : 0;
}

/* What is written must be read as the same preset: the last guard before a file is replaced. */
static int check_text(const struct preset *preset, const struct buf *text, struct err *err) {
    CLEANUP(preset_done) struct preset again = {0};
    int rc = preset_read(buf_text(text), text->size, &again, err);
    if (rc < 0) return rc;
    for (int part = 0; part < PRESET_PART_COUNT; part++) {
        CLEANUP(buf_done) struct buf wanted = BUF_INIT, got = BUF_INIT;
        if ((rc = write_part(preset, part, &wanted, err)) < 0 ||
            (rc = write_part(&again, part, &got, err)) < 0)
            return rc;
        if (strcmp(buf_text(&wanted), buf_text(&got)) != 0)
            return err_set(err, ERR_INVALID, "'%s' cannot be written as YAML",
                           preset_part_name(part));
    }
    return 0;
}

int preset_write(const struct preset *preset, struct buf *buf, struct err *err) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    bool has_line = preset->description && !strpbrk(preset->description, "\n\r");
    if (has_line) buf_printf(&text, "# When: %s\n", preset->description);
    for (int part = 0; part < PRESET_PART_COUNT; part++) {
        int rc = write_part(preset, part, &text, err);
        if (rc < 0) return rc;
    }
    int rc = check_text(preset, &text, err);
    if (rc == 0) buf_add(buf, text.data, text.size);
    return rc;
}

/* ---- an old file with new parts ---- */

struct rewrite {
    const struct preset *preset;
    struct preset before;
    const char *old, *end;
    struct buf *out;
    bool is_written[PRESET_PART_COUNT];
};

static const char *line_start(const char *text, const char *end, unsigned line) {
    for (; line > 1 && text < end; line--) {
        const char *feed = memchr(text, '\n', (size_t)(end - text));
        text = feed ? feed + 1 : end;
    }
    return text;
}

/* End of a part's own lines: blank lines and comments at the margin behind it belong to nobody. */
static const char *own_end(const char *start, const char *end) {
    const char *own = start;
    while (start < end) {
        const char *feed = memchr(start, '\n', (size_t)(end - start));
        const char *next = feed ? feed + 1 : end;
        size_t blanks = strspn(start, " \t\r");
        bool is_free = *start == '#' || start + blanks >= next || start[blanks] == '\n';
        if (!is_free) own = next;
        start = next;
    }
    return own;
}

/* One part of the old file, between `start` and `end`. */
static int rewrite_part(struct rewrite *rewrite, const char *key, const char *start,
                        const char *end, struct err *err) {
    CLEANUP(buf_done) struct buf old = BUF_INIT, new = BUF_INIT;
    int part = preset_part_find(key), rc;
    if (part >= 0) {
        if ((rc = write_part(&rewrite->before, part, &old, err)) < 0) return rc;
        if ((rc = write_part(rewrite->preset, part, &new, err)) < 0) return rc;
        rewrite->is_written[part] = true;
    }
    if (part < 0 || strcmp(buf_text(&old), buf_text(&new)) == 0) {
        buf_add(rewrite->out, start, (size_t)(end - start));
        return 0;
    }
    const char *own = own_end(start, end);
    buf_puts(rewrite->out, buf_text(&new));
    buf_add(rewrite->out, own, (size_t)(end - own));
    return 0;
}

static int rewrite_parts(struct rewrite *rewrite, const struct doc *root, struct err *err) {
    const char *at = rewrite->old;
    for (size_t i = 0; i < root->count; i++) {
        const char *start = line_start(rewrite->old, rewrite->end, root->children[i]->line);
        const char *end = i + 1 < root->count
                              ? line_start(rewrite->old, rewrite->end, root->children[i + 1]->line)
                              : rewrite->end;
        if (root->children[i]->column != 1)
            return err_set(err, ERR_INVALID, "keys are not at the margin");
        buf_add(rewrite->out, at, (size_t)(start - at));
        int rc = rewrite_part(rewrite, root->children[i]->key, start, end, err);
        if (rc < 0) return rc;
        at = end;
    }
    for (int part = 0; part < PRESET_PART_COUNT; part++) {
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        int rc = rewrite->is_written[part] ? 0 : write_part(rewrite->preset, part, &text, err);
        if (rc < 0) return rc;
        bool is_open =
            text.size && rewrite->out->size && rewrite->out->data[rewrite->out->size - 1] != '\n';
        buf_printf(rewrite->out, "%s%s", is_open ? "\n" : "", buf_text(&text));
    }
    return 0;
}

static int rewrite_text(struct rewrite *rewrite, struct err *err) {
    CLEANUP(doc_cleanup) struct doc *root = NULL;
    int rc = doc_read(rewrite->old, (size_t)(rewrite->end - rewrite->old), &root, err);
    if (rc < 0 || (rc = preset_read_doc(root, &rewrite->before, err)) < 0) return rc;
    if (root->is_flow) return err_set(err, ERR_INVALID, "the file is one flow map");
    if ((rc = rewrite_parts(rewrite, root, err)) < 0) return rc;
    return check_text(rewrite->preset, rewrite->out, err);
}

int preset_rewrite(const struct preset *preset, const char *old, size_t size, struct buf *buf,
                   struct err *err) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct rewrite rewrite = {.preset = preset, .old = old, .end = old + size, .out = &out};
    bool is_kept = old && rewrite_text(&rewrite, NULL) == 0;
    preset_done(&rewrite.before);
    if (!is_kept) return preset_write(preset, buf, err);
    buf_add(buf, out.data, out.size);
    return 0;
}
