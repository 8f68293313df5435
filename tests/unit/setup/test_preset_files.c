/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/setup/file.h"
#include "engine/setup/preset.h"
#include "tests/unit/setup/grammar.h"

#include "engine/base/banned.h"

/* Each test has a folder of its own and stands in it; HOME is there, XDG_CONFIG_HOME is not set. */
static int set_up(void **state) {
    char *folder = mem_strdup("/tmp/inductop-test-XXXXXX");
    *state = folder;
    if (!mkdtemp(folder) || chdir(folder) < 0) return -1;
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    umask(022);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static int tear_down(void **state) {
    int rc = chdir("/") < 0 || nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0 ? -1 : 0;
    free(*state);
    return rc;
}

static void put(const char *path, const char *text) {
    struct err err;
    if (file_replace(path, text, strlen(text), &err) < 0) fail_msg("%s", err.message);
}

static void expect_text(const char *path, const char *text) {
    CLEANUP(buf_done) struct buf got = BUF_INIT;
    struct err err;
    if (file_read(path, 1 << 20, &got, &err) < 0) fail_msg("%s", err.message);
    assert_string_equal(buf_text(&got), text);
}

static unsigned mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

/* ---- files ---- */

static void test_replace_makes_folders_and_keeps_the_mode(void **state) {
    (void)state;
    put("a/b/c.yaml", "one");
    assert_int_equal(mode_of("a/b/c.yaml"), 0644);
    assert_int_equal(chmod("a/b/c.yaml", 0600), 0);
    put("a/b/c.yaml", "two");
    expect_text("a/b/c.yaml", "two");
    assert_int_equal(mode_of("a/b/c.yaml"), 0600);
    umask(077);
    put("d.yaml", "");
    assert_int_equal(mode_of("d.yaml"), 0600);
    expect_text("d.yaml", "");
}

static void test_replace_leaves_nothing_behind(void **state) {
    struct err err = {0};
    put("a/x", "old");
    assert_int_equal(mkdir("a/folder", 0777), 0);
    assert_true(file_replace("a/folder", "new", 3, &err) < 0);
    check_message(&err, "file 'a/folder' cannot be written: ");
    assert_true(file_replace("a/x/y", "new", 3, &err) < 0);
    check_message(&err, "a/x");
    CLEANUP(cleanup_free)
    char *command = mem_printf("test \"$(ls -A %s/a)\" = \"folder\nx\"", (char *)*state);
    assert_int_equal(system(command), 0);
    expect_text("a/x", "old");
}

static void test_replace_follows_a_link(void **state) {
    (void)state;
    put("real.yaml", "one");
    assert_int_equal(symlink("real.yaml", "link.yaml"), 0);
    put("link.yaml", "two");
    struct stat status;
    assert_int_equal(lstat("link.yaml", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    expect_text("real.yaml", "two");
}

static void test_read_is_bounded_and_never_waits(void **state) {
    (void)state;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err = {0};
    put("x", "12345");
    assert_int_equal(file_read("x", 4, &text, &err), -ERR_LIMIT);
    check_message(&err, "file 'x' is larger than");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_int_equal(file_read("pipe", 4, &text, &err), -ERR_INVALID);
    check_message(&err, "'pipe' is no regular file");
    assert_int_equal(file_read(".", 4, &text, &err), -ERR_INVALID);
    assert_int_equal(file_read("none", 4, &text, &err), -ERR_SYSTEM);
    check_message(&err, "file 'none' cannot be read: No such file or directory");
}

/* ---- looking for presets ---- */

static void put_preset(const char *path, const char *name) {
    CLEANUP(cleanup_free) char *text = mem_printf("name: %s\nsettings: {scope: eager}\n", name);
    put(path, text);
}

static const char *loaded_name(const char *name, struct preset *preset) {
    struct err err = {0};
    preset_done(preset);
    if (preset_load(name, "support", preset, &err) < 0) fail_msg("%s", err.message);
    return preset->name;
}

static void test_project_comes_before_user_and_shipped(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    put_preset("support/presets/fast.yaml", "shipped");
    assert_string_equal(loaded_name("fast", &preset), "shipped");
    put_preset(".config/inductop/presets/fast.yml", "user");
    assert_string_equal(loaded_name("fast", &preset), "user");
    put_preset("presets/fast.yml", "project yml");
    assert_string_equal(loaded_name("fast", &preset), "project yml");
    put_preset("presets/fast.yaml", "project");
    assert_string_equal(loaded_name("fast", &preset), "project");
    CLEANUP(cleanup_free) char *config = mem_printf("%s/other", (char *)*state);
    setenv("XDG_CONFIG_HOME", config, 1);
    put_preset("other/inductop/presets/mine.yaml", "xdg");
    assert_string_equal(loaded_name("mine", &preset), "xdg");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    CLEANUP(cleanup_free)
    char *folder = preset_folder(PRESET_USER, NULL),
         *wanted = mem_printf("%s/.config/inductop/presets", (char *)*state);
    assert_string_equal(folder, wanted);
}

static void test_a_path_is_a_file(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    put("x.yaml", "settings: {}\n");
    put("sub/y", "settings: {}\n");
    assert_string_equal(loaded_name("x.yaml", &preset), "x");
    assert_string_equal(loaded_name("sub/y", &preset), "y");
    assert_string_equal(loaded_name("./x.yaml", &preset), "x");
}

static const struct {
    const char *name, *message, *hint;
} missing[] = {
    {"fats", "preset 'fats' is not known", "Did you mean 'fast'?"},
    {"zzzzzzzzzz", "preset 'zzzzzzzzzz' is not known", "inductop preset list"},
    {"", "name of a preset is empty", NULL},
    {"no/fast", "preset file 'no/fast' is not there", NULL},
    {"no.yaml", "preset file 'no.yaml' is not there", NULL},
    {"broken",
     "could not load preset 'broken' from 'presets/broken.yaml': line 1, column 12: setting 'mod' "
     "is not known",
     "'mode'"},
    {"presets/broken.yaml",
     "could not load preset 'presets/broken.yaml': line 1, column 12: setting 'mod'", "'mode'"},
    {"folder",
     "could not load preset 'folder' from 'presets/folder.yaml': 'presets/folder.yaml' is no "
     "regular file",
     NULL},
};

static void test_what_cannot_be_loaded_says_why(void **state) {
    (void)state;
    put_preset("presets/fast.yaml", "fast");
    put("presets/broken.yaml", "settings: {mod: default}\n");
    assert_int_equal(mkdir("presets/folder.yaml", 0777), 0);
    for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        struct err err = {0};
        assert_true(preset_load(missing[i].name, NULL, &preset, &err) < 0);
        check_message(&err, missing[i].message);
        if (missing[i].hint) check_hint(&err, missing[i].hint);
    }
}

static void test_list_is_sorted_and_marks_the_hidden(void **state) {
    (void)state;
    struct preset_list list = {0};
    preset_list_fill(&list, "support");
    assert_int_equal(list.count, 0);
    put_preset("support/presets/b.yaml", "b");
    put_preset("support/presets/a.yaml", "a");
    put_preset("presets/b.yml", "b");
    put("presets/README", "no preset");
    put("presets/.hidden.yaml", "no preset");
    preset_list_fill(&list, "support");
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "a");
    assert_string_equal(list.items[1].path, "presets/b.yml");
    assert_int_equal(list.items[1].origin, PRESET_PROJECT);
    assert_string_equal(list.items[2].path, "support/presets/b.yaml");
    assert_true(!list.items[0].is_hidden && !list.items[1].is_hidden && list.items[2].is_hidden);
    preset_list_done(&list);
    assert_int_equal(list.count, 0);
}

/* ---- saving ---- */

static void test_save_makes_and_rewrites(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    struct err err = {0};
    preset.name = mem_strdup("new");
    settings_put(&preset.settings, "scope", "eager");
    CLEANUP(cleanup_free)
    char *folder = preset_folder(PRESET_USER, NULL),
         *path = mem_printf("%s/new.yaml", folder);
    if (preset_save_file(path, &preset, &err) < 0) fail_msg("%s", err.message);
    expect_text(path, "name: new\nsettings:\n  scope: eager\n");
    put(path, "# mine\nname: new\nsettings:\n  scope: eager\n");
    settings_put(&preset.settings, "scope", "whole");
    if (preset_save_file(path, &preset, &err) < 0) fail_msg("%s", err.message);
    expect_text(path, "# mine\nname: new\nsettings:\n  scope: whole\n");
}

static void test_save_does_not_touch_what_is_no_preset(void **state) {
    (void)state;
    CLEANUP(preset_done) struct preset preset = PRESET_INIT;
    struct err err = {0};
    put("x.yaml", "shopping: [milk]\n");
    assert_true(preset_save_file("x.yaml", &preset, &err) < 0);
    check_message(&err, "could not save preset 'x': file 'x.yaml' is there and no preset: key "
                        "'settings' is missing");
    expect_text("x.yaml", "shopping: [milk]\n");
    settings_put(&preset.settings, "mode", "\xff");
    assert_true(preset_save_file("y.yaml", &preset, &err) < 0);
    check_message(&err, "could not save preset 'y': ");
    assert_int_equal(access("y.yaml", F_OK), -1);
}

static void test_shipped_presets_are_sound(void **state) {
    (void)state;
    CLEANUP(cleanup_free)
    char *root =
        mem_strndup(__FILE__, strlen(__FILE__) - strlen("/tests/unit/setup/test_preset_files.c"));
    struct preset_list list = {0};
    preset_list_fill(&list, root);
    assert_true(list.count >= 6);
    for (size_t i = 0; i < list.count; i++) {
        CLEANUP(preset_done) struct preset preset = PRESET_INIT;
        CLEANUP(buf_done) struct buf text = BUF_INIT;
        struct err err = {0};
        if (preset_load_file(list.items[i].path, &preset, &err) < 0) fail_msg("%s", err.message);
        assert_string_equal(preset.name, list.items[i].name);
        assert_true(preset.description && preset.settings.count > 0);
        assert_int_equal(file_read(list.items[i].path, 1 << 16, &text, &err), 0);
        assert_int_equal(strncmp(buf_text(&text), "# When: ", 8), 0);
    }
    preset_list_done(&list);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_replace_makes_folders_and_keeps_the_mode),
        IN_FOLDER(test_replace_leaves_nothing_behind),
        IN_FOLDER(test_replace_follows_a_link),
        IN_FOLDER(test_read_is_bounded_and_never_waits),
        IN_FOLDER(test_project_comes_before_user_and_shipped),
        IN_FOLDER(test_a_path_is_a_file),
        IN_FOLDER(test_what_cannot_be_loaded_says_why),
        IN_FOLDER(test_list_is_sorted_and_marks_the_hidden),
        IN_FOLDER(test_save_makes_and_rewrites),
        IN_FOLDER(test_save_does_not_touch_what_is_no_preset),
        IN_FOLDER(test_shipped_presets_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
