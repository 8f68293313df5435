/* The app on a tape, driven by keys. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "tui/app.h"
#include "tui/dump.h"
#include "tui/keymap.h"
#include "tui/panels.h"
#include "tui/script.h"
#include "engine/base/banned.h"

static const char tape[] =
    "{\"v\":1,\"kind\":\"rank\",\"t\":1,\"rank\":0,\"world\":1,\"host\":\"h\",\"pid\":7,\"python\":"
    "\"3.11\",\"torch\":\"2.13.0\","
    "\"device\":\"cpu\",\"group\":\"g\",\"state\":\"hooked\",\"switching\":\"live\"}\n"
    "{\"v\":1,\"kind\":\"variant\",\"t\":1,\"rank\":0,\"variant\":0,\"label\":\"as "
    "written\",\"settings\":{}}\n"
    "{\"v\":1,\"kind\":\"step\",\"t\":2,\"rank\":0,\"step\":0,\"variant\":0,\"clean\":false,"
    "\"why\":[\"first\"]}\n"
    "{\"v\":1,\"kind\":\"step\",\"t\":3,\"rank\":0,\"step\":1,\"ms\":1000,\"variant\":0,\"clean\":"
    "true}\n";

static struct script_screen screen;
static char folder[] = "/tmp/inductop-app-XXXXXX";

static int set_up(void **state) {
    (void)state;
    char path[64];
    if (!strstr(folder, "XXXXXX")) memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    setenv("XDG_CONFIG_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/tape.jsonl", folder);
    FILE *file = fopen(path, "w");
    fputs(tape, file);
    fclose(file);
    assert_int_equal(feed_tape(&(struct feed_options){0}, path, &screen.feed, NULL), 0);
    screen.app = app_new(&(struct app_options){.feed = screen.feed});
    screen.canvas = canvas_new(80, 24);
    screen.has_left = false;
    feed_seek(screen.feed, 10);
    script_settle(&screen);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    app_free(screen.app);
    feed_free(screen.feed);
    canvas_free(screen.canvas);
    unlink("tape.jsonl");
    for (int i = 1; i < 10; i++) {
        char path[32];
        snprintf(path, sizeof path, "inductop-%d.txt", i);
        unlink(path);
    }
    rmdir(folder);
    return 0;
}

static bool shows(const char *text) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    dump_text(&out, screen.canvas);
    return strstr(buf_text(&out), text);
}

static void keys(const char *text) {
    struct err err = {.message = ""};
    int rc = script_run(&screen, text, &err);
    if (rc) fail_msg("%s", err.message);
}

/* Run everywhere, from every panel and view: nothing breaks, and no action causes what its row does
 * not allow. */
static void test_every_action_runs_everywhere_within_its_effects(void **state) {
    static const char *const places[] = {"1", "1 Tab", "1 Tab Tab", "1 Tab Tab Tab", "2", "3", "4",
                                         "5", "6",     "@",         "1 F1"};
    (void)state;
    for (size_t k = 0; k < ARRAY_SIZE(places); k++)
        for (int action = 0; action < ACTION_COUNT; action++) {
            char text[64];
            unsigned effects, allowed = action_get((enum action_id)action)->effects |
                                        APP_EFFECT_DRAW | APP_EFFECT_REPAINT | APP_EFFECT_THEME |
                                        APP_EFFECT_COPY;
            keys("Esc Esc");
            keys(places[k]);
            if (action == ACTION_WRITE && k > 0) continue; /* one file is enough */
            snprintf(text, sizeof text, "%s 3", action_get((enum action_id)action)->name);
            assert_int_equal(app_run(screen.app, text, &effects, NULL), 0);
            assert_int_equal(effects & ~allowed, 0);
            script_settle(&screen);
        }
}

/* Each key that means something anywhere, in every panel, view, field and dialog, on screens from
 * hardly any to huge: it draws, and Esc leads back. */
static void test_every_key_everywhere_on_every_size(void **state) {
    static const char *const places[] = {"",  "Tab", "Tab Tab", "Tab Tab Tab", "z",  "2",   "3",
                                         "4", "5",   "6",       "@",           "F1", "d e", "/",
                                         "W", "C"};
    static const int sizes[][2] = {{1, 1}, {20, 5}, {80, 24}, {300, 80}};
    static const size_t strides[] = {2, 1, 1, 9}; /* large ones take long */
    size_t count;
    const struct binding *bindings = keymap_bindings(&count);
    (void)state;
    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
        for (size_t p = 0; p < ARRAY_SIZE(places); p++)
            for (size_t i = p % strides[s]; i < count; i += strides[s]) {
                struct key key;
                if (bindings[i].action == ACTION_WRITE) continue;
                canvas_resize(screen.canvas, sizes[s][0], sizes[s][1]);
                keys("Esc Esc Esc Esc 1");
                keys(places[p]);
                assert_true(key_read(bindings[i].key, &key));
                app_key(screen.app, &key);
                script_settle(&screen);
                assert_int_equal(canvas_width(screen.canvas), sizes[s][0]);
            }
    canvas_resize(screen.canvas, 80, 24);
    keys("Esc Esc Esc Esc x 1");
    assert_true(shows("nothing staged"));
}

static void test_view_of_every_digit_has_a_panel(void **state) {
    size_t count;
    const struct binding *bindings = keymap_bindings(&count);
    (void)state;
    for (size_t i = 0; i < count; i++)
        if (bindings[i].action == ACTION_VIEW && bindings[i].argument != VIEW_OVERVIEW)
            assert_true(panel_of_view(bindings[i].argument) >= 0);
}

static void test_toggle_key_stages_and_x_forgets(void **state) {
    (void)state;
    keys("d");
    assert_true(shows("1 staged: dynamic as written to on"));
    keys("f");
    assert_true(shows("2 staged"));
    keys("x");
    assert_true(shows("nothing staged"));
}

static void test_copied_is_the_line_that_does_it_again(void **state) {
    (void)state;
    keys("y");
    assert_string_equal(app_copied(screen.app), "inductop -- COMMAND");
    assert_true(shows("to the clipboard: inductop -- COMMAND"));
    keys("2 y");
    assert_string_equal(app_copied(screen.app), "0  1  1000  is eager  -  0  0  -  -  training");
    keys("6 y");
    assert_true(shows("nothing to copy"));
}

static void test_columns_are_chosen_by_name(void **state) {
    (void)state;
    keys("2");
    assert_true(shows("recomp"));
    keys("C ^U \"rank step nonsense\" Enter");
    assert_true(shows("column 'nonsense' is not known"));
    keys("^U \"rank step\" Enter");
    assert_false(shows("recomp"));
    assert_true(shows("step"));
    keys("C ^U \"mem\" Tab");
    assert_true(shows("columns (none: all): memory"));
    keys("^U Enter");
    assert_true(shows("recomp"));
}

static void test_tape_refuses_changes(void **state) {
    (void)state;
    keys("d A");
    assert_true(shows("this is a tape"));
    keys("b");
    assert_true(shows("this is a tape"));
    keys("u");
    assert_true(shows("nothing to undo"));
}

static void test_k_never_leaves_and_q_does(void **state) {
    (void)state;
    keys("k k j Esc");
    assert_false(screen.has_left);
    keys("q");
    assert_true(screen.has_left);
}

static void test_keys_without_a_drawing_between_are_safe(void **state) {
    static const char *const names[] = {"2",   "Down", "Enter", "3", "End",   "@",  "Up", "1",
                                        "Tab", "z",    "/",     "x", "Enter", "F1", "q"};
    (void)state;
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            struct key key;
            assert_true(key_read(names[(i * 7 + (size_t)round) % ARRAY_SIZE(names)], &key));
            app_key(screen.app, &key);
            if (i % 5 == 0) feed_step(screen.feed, round % 2 ? 1 : -1);
            if (i % 3 == 0) app_turn(screen.app, 1);
        }
    script_settle(&screen);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_action_runs_everywhere_within_its_effects,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_key_everywhere_on_every_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_view_of_every_digit_has_a_panel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_toggle_key_stages_and_x_forgets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copied_is_the_line_that_does_it_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_columns_are_chosen_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tape_refuses_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_k_never_leaves_and_q_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_without_a_drawing_between_are_safe, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
