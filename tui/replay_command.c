/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/feed.h"
#include "engine/support.h"
#include "tui/app.h"
#include "tui/command.h"
#include "tui/dump.h"
#include "tui/screen.h"
#include "tui/script.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

static const char usage[] =
    "usage: inductop replay TAPE [OPTIONS]\n\n"
    "  --script KEYS       press these keys first, at the end of the tape: names with blanks\n"
    "                      between, \"typed text\", step:N, time:SECONDS, size:COLSxROWS\n"
    "  --dump FILE         write the screen to FILE (.txt, .svg, .styles; - is stdout) and leave\n"
    "  --size COLSxROWS    size of what is written [80x24]\n"
    "  --theme NAME        dark, light, high-contrast, mono\n"
    "  --chart braille|blocks\n"
    "  --ascii --no-color --refresh MS\n";

struct replay_run {
    struct command_words words;
    struct feed *feed;
    struct app *app;
    int width, height, theme;
};

static int read_words(struct replay_run *run, int argc, char **argv, struct err *err) {
    int used = 0,
        rc = command_parse(argc, argv, "script dump size theme chart ascii no-color refresh help",
                           &run->words, err);
    if (rc || run->words.help) return rc;
    run->width = 80, run->height = 24, run->theme = -1;
    if (!run->words.argument) return err_set(err, ERR_USAGE, "no tape: inductop replay TAPE");
    const char *size = run->words.size;
    if (size && (sscanf(size, "%dx%d%n", &run->width, &run->height, &used) != 2 || size[used] ||
                 run->width < 1 || run->height < 1))
        return err_set(err, ERR_USAGE, "--size takes COLSxROWS, not '%s'", size);
    if (run->words.theme && (run->theme = theme_find(run->words.theme)) < 0)
        return err_set(err, ERR_USAGE, "theme '%s' is not known", run->words.theme);
    return 0;
}

/* ---- into a file ---- */

static int write_all(int fd, const struct buf *text) {
    for (size_t at = 0; at < text->size;) {
        ssize_t count = write(fd, text->data + at, text->size - at);
        if (count < 0 && errno != EINTR) return -1;
        if (count > 0) at += (size_t)count;
    }
    return 0;
}

static int write_dump(const struct replay_run *run, const struct canvas *canvas, struct err *err) {
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    CLEANUP(cleanup_close) int fd = -1;
    const char *path = run->words.dump;
    if (has_suffix(path, ".svg"))
        dump_svg(&text, canvas, run->theme < 0 ? THEME_DARK : (enum theme)run->theme);
    else if (has_suffix(path, ".styles"))
        dump_styles(&text, canvas);
    else
        dump_text(&text, canvas);
    bool is_stdout = strcmp(path, "-") == 0;
    if (!is_stdout) fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if ((!is_stdout && fd < 0) || write_all(is_stdout ? STDOUT_FILENO : fd, &text))
        return err_set_errno(err, errno, "could not write the screen to '%s'", path);
    return 0;
}

static int run_script(struct replay_run *run, struct err *err) {
    struct script_screen screen = {.app = run->app, .feed = run->feed};
    screen.canvas = canvas_new(run->width, run->height);
    canvas_set_ascii(screen.canvas, run->words.ascii);
    int rc = script_run(&screen, run->words.script ? run->words.script : "", err);
    if (rc == 0) rc = write_dump(run, screen.canvas, err);
    canvas_free(screen.canvas);
    return rc;
}

/* ---- on the terminal ---- */

static int run_screen(struct replay_run *run, uv_loop_t *loop, struct err *err) {
    int number = 0;
    struct screen_options options = {
        .loop = loop,
        .app = run->app,
        .refresh_ms = run->words.refresh_ms,
        .term = {.ascii = run->words.ascii, .no_color = run->words.no_color, .theme = run->theme}};
    feed_seek(run->feed, 0);
    feed_play(run->feed, true);
    int rc = screen_run(&options, &number, err);
    return rc ? rc : number ? 128 + number : 0;
}

static int run_replay(struct replay_run *run, struct err *err) {
    uv_loop_t loop;
    CLEANUP(cleanup_free) char *support = support_folder();
    const struct feed_options options = {.loop = NULL};
    int rc = feed_tape(&options, run->words.argument, &run->feed, err);
    if (rc) return rc;
    uv_loop_init(&loop);
    run->app = app_new(&(struct app_options){.feed = run->feed,
                                             .support = support,
                                             .has_taste = !run->words.dump,
                                             .ink = run->words.ink});
    feed_seek(run->feed, feed_facts(run->feed).length);
    rc = run->words.dump ? run_script(run, err) : run_screen(run, &loop, err);
    app_free(run->app);
    feed_free(run->feed);
    uv_loop_close(&loop);
    return rc;
}

int replay_command(int argc, char **argv) {
    struct replay_run run = {0};
    struct err err = {.hint = ""};
    int rc = read_words(&run, argc, argv, &err);
    if (rc) return command_complain(&err);
    if (run.words.help) {
        fputs(usage, stdout);
        return 0;
    }
    rc = run_replay(&run, &err);
    return rc < 0 ? command_complain(&err) : rc;
}
