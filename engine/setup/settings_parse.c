/* Settings as text: KEY=VALUE[,KEY=VALUE].
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/setup/settings.h"

#include "engine/base/banned.h"

/* Blanks around keys and values mean nothing. */
static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

static void trim_end(struct buf *text) {
    while (text->size && strchr(" \t", text->data[text->size - 1])) text->data[--text->size] = 0;
}

/* Reads up to one of `ends`; returns where that stands. */
static const char *read_bare(const char *text, const char *ends, struct buf *ret) {
    size_t size = strcspn(text, ends);
    buf_add(ret, text, size);
    trim_end(ret);
    return text + size;
}

static const char *read_quoted(const char *text, struct buf *ret) {
    for (text++; *text && *text != '"'; text++) {
        if (*text == '\\' && (text[1] == '"' || text[1] == '\\')) text++;
        buf_add(ret, text, 1);
    }
    return *text ? skip_blanks(text + 1) : NULL;
}

/* One KEY=VALUE or as-written; moves `text` behind it. */
static int read_pair(const char **text, struct settings *change, struct err *err) {
    CLEANUP(buf_done) struct buf key = BUF_INIT, value = BUF_INIT;
    const char *at = read_bare(skip_blanks(*text), "=,", &key);
    const char *name = buf_text(&key);
    bool is_all = strcmp(name, SETTING_AS_WRITTEN) == 0;
    if (!*name) return err_set(err, ERR_SYNTAX, "name of a setting is missing in '%s'", *text);
    if (*at != '=' && !is_all) {
        int code = err_set(err, ERR_SYNTAX, "setting '%s' has no value", name);
        err_hint(err, "Settings are written as KEY=VALUE[,KEY=VALUE], or as-written for none.");
        return code;
    }
    if (*at == '=') {
        at = skip_blanks(at + 1);
        at = *at == '"' ? read_quoted(at, &value) : read_bare(at, ",", &value);
        if (!at)
            return err_set(err, ERR_SYNTAX, "value of setting '%s' has no closing quote", name);
        if (*at && *at != ',')
            return err_set(err, ERR_SYNTAX, "value of setting '%s' goes on after its closing quote",
                           name);
    }
    if (settings_get(change, name))
        return err_set(err, ERR_SYNTAX, "setting '%s' is given twice", name);
    *text = at;
    return settings_set(change, name, buf_text(&value), err);
}

int settings_parse_change(const char *text, struct settings *ret_change, struct err *err) {
    CLEANUP(settings_done) struct settings change = SETTINGS_INIT;
    if (!*skip_blanks(text)) return err_set(err, ERR_SYNTAX, "no setting is given");
    for (;;) {
        int rc = read_pair(&text, &change, err);
        if (rc < 0) return rc;
        if (!*text) break;
        text++;
    }
    settings_done(ret_change);
    *ret_change = change;
    settings_init(&change);
    return 0;
}
