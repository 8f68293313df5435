/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "tui/keymap.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

enum { WORD_SIZE = 512 };

void script_settle(struct script_screen *screen) {
    while (app_turn(screen->app, 1)) {
    }
    app_draw(screen->app, screen->canvas);
}

static void press(struct script_screen *screen, const struct key *key) {
    unsigned effects = app_key(screen->app, key);
    if (effects & ACTION_EFFECT_LEAVE) screen->has_left = true;
    script_settle(screen);
}

static void type(struct script_screen *screen, const char *text) {
    for (size_t i = 0, size = strlen(text); i < size;) {
        struct key key = {.kind = KEY_KIND_CHARACTER};
        uint32_t point;
        i += utf8_read(text + i, size - i, &point);
        key.code = (int)point;
        press(screen, &key);
    }
}

static int go(struct script_screen *screen, const char *word, struct err *err) {
    uint64_t step;
    char *end;
    if (has_prefix(word, "step:") && str_to_u64(word + 5, &step))
        feed_seek_step(screen->feed, step);
    else {
        double t = strtod(word + 5, &end);
        if (*end || !word[5])
            return err_set(err, ERR_INVALID, "word '%s' is no place on a tape", word);
        feed_seek(screen->feed, t);
    }
    script_settle(screen);
    return 0;
}

static int run_word(struct script_screen *screen, const char *word, struct err *err) {
    struct key key;
    int width, height, used = 0;
    if (has_prefix(word, "step:") || has_prefix(word, "time:")) return go(screen, word, err);
    if (sscanf(word, "size:%dx%d%n", &width, &height, &used) == 2 && !word[used]) {
        canvas_resize(screen->canvas, width, height);
        script_settle(screen);
        return 0;
    }
    if (!key_read(word, &key))
        return err_set(err, ERR_INVALID, "word '%s' of the script is no key", word);
    press(screen, &key);
    return 0;
}

/* The text between quotes, from behind the first; returns where it goes on. */
static const char *quoted(const char *text, char ret[WORD_SIZE]) {
    size_t size = 0;
    for (; *text && *text != '"'; text++) {
        if (*text == '\\' && text[1]) text++;
        if (size + 1 < WORD_SIZE) ret[size++] = *text;
    }
    ret[size] = 0;
    return *text ? text + 1 : text;
}

int script_run(struct script_screen *screen, const char *text, struct err *err) {
    static const char blanks[] = " \t\r\n";
    char word[WORD_SIZE];
    script_settle(screen);
    while (*(text += strspn(text, blanks)) && !screen->has_left) {
        bool is_comment = text[0] == '#' && (!text[1] || strchr(blanks, text[1]));
        if (is_comment) {
            text += strcspn(text, "\n");
        } else if (*text == '"' && text[1] && text[1] != ' ') {
            text = quoted(text + 1, word);
            type(screen, word);
        } else {
            size_t size = strcspn(text, blanks);
            snprintf(word, sizeof word, "%.*s", (int)size, text);
            text += size;
            int rc = run_word(screen, word, err);
            if (rc) return rc;
        }
    }
    return 0;
}
