/* The loader of the bridge to libtorch, with a library that needs no torch.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/rank/bridge/loader.h"
#include "tests/support/fake_bridge.h"
#include "engine/base/banned.h"

static const char path[] = FAKE_BRIDGE;
static struct fake_bridge *answers;

static int find_fake(void **state) {
    (void)state;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    answers = dlsym(library, "fake");
    assert_non_null(answers);
    return chmod(path, 0700);
}

static int as_new(void **state) {
    (void)state;
    *answers = (struct fake_bridge){.torch = "2.13.0", .device_answer = 1};
    return 0;
}

/* Loads, and is refused with a message that has `word` in it. */
static void refuse(const char *file, const char *torch, const char *word) {
    struct bridge bridge = {0};
    struct err err = {0};
    assert_true(bridge_load(&bridge, file, torch, &err) < 0);
    assert_non_null(strstr(err.message, word));
    assert_null(bridge.table);
}

static void test_what_does_not_fit_is_refused_with_its_reason(void **state) {
    (void)state;
    refuse("/nowhere/at/all.so", "2.13.0", "is not there");
    refuse("/dev/null", "2.13.0", "not this user's alone");
    refuse(path, "2.14.1", "built for torch 2.13.0, this is 2.14.1");
    refuse(path, "2.1.0", "this is 2.1.0");
    refuse(path, "strange", "this is strange");
    answers->is_strange = true;
    refuse(path, "2.13.0", "no bridge of this version");
    assert_int_equal(answers->counts, 0);
    answers->is_strange = false;
    answers->fault = "blocks of somebody else";
    refuse(path, "2.13.0", "blocks of somebody else");
    assert_int_equal(answers->counts, 1);
}

static void test_a_file_that_others_can_write_is_not_loaded(void **state) {
    (void)state;
    chmod(path, 0720);
    refuse(path, "2.13.0", "not this user's alone");
    chmod(path, 0702);
    refuse(path, "2.13.0", "not this user's alone");
    chmod(path, 0700);
    char link[] = "/tmp/inductop-bridge-XXXXXX";
    assert_non_null(mkdtemp(link));
    char name[64];
    snprintf(name, sizeof name, "%s/link.so", link);
    assert_int_equal(symlink(path, name), 0);
    refuse(name, "2.13.0", "not this user's alone");
    unlink(name);
    rmdir(link);
    assert_int_equal(answers->counts, 0);
}

static void test_another_patch_release_is_the_same_torch(void **state) {
    (void)state;
    struct bridge bridge = {0};
    struct err err;
    assert_int_equal(bridge_load(&bridge, path, "2.13.1+cu130", NULL), 0);
    assert_non_null(bridge.table);
    assert_true(bridge_load(&bridge, path, "2.13.1+cu130", &err) < 0);
}

static void test_a_step_has_its_own_peak_and_allocations(void **state) {
    (void)state;
    struct bridge bridge = {0};
    struct step_record record = {.valid = STEP_HAS_RSS};
    bridge_step(&bridge, &record);
    assert_int_equal(record.valid, STEP_HAS_RSS); /* nothing is loaded */
    assert_int_equal(bridge_load(&bridge, path, "2.13.0", NULL), 0);
    answers->cpu = (struct bridge_cpu){1000, 5000, 70};
    bridge_step(&bridge, &record);
    assert_int_equal(record.valid, STEP_HAS_RSS | STEP_HAS_CPU | STEP_HAS_ALLOCS);
    assert_int_equal(record.cpu_bytes, 1000);
    assert_int_equal(record.cpu_peak_bytes, 5000);
    assert_int_equal(record.allocs, 70);
    answers->cpu.allocations = 72;
    bridge_step(&bridge, &record);
    assert_int_equal(record.cpu_peak_bytes, 1000);
    assert_int_equal(record.allocs, 2);
    answers->cpu_answer = 1; /* another allocator is there now */
    record.valid = 0;
    bridge_step(&bridge, &record);
    assert_int_equal(record.valid, 0);
}

static void test_devices_are_told_of_when_they_change(void **state) {
    (void)state;
    struct bridge bridge = {0};
    struct step_record record = {0};
    char text[BRIDGE_EVENT_ROOM];
    uint64_t now = UINT64_C(7000000000);
    assert_int_equal(bridge_load(&bridge, path, "2.13.0", NULL), 0);
    bridge_step(&bridge, &record);
    assert_false(record.valid & STEP_HAS_DEVICE);
    assert_int_equal(bridge_event(&bridge, now, text), 0);

    answers->device_answer = 0;
    answers->device = (struct bridge_device){11, 22, 33, 44, 55, 66, 7, 8};
    bridge_step(&bridge, &record);
    assert_true(record.valid & STEP_HAS_DEVICE);
    assert_int_equal(record.device_bytes, 11);
    assert_int_equal(record.device_peak_bytes, 22);
    size_t size = bridge_event(&bridge, now, text);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text, "{\"v\":1,\"kind\":\"memory\",\"ns\":7000000000,\"reserved\":33,"
                              "\"reserved_peak\":44,\"active\":55,"
                              "\"active_peak\":66,\"retries\":7,\"ooms\":8}");
    answers->device.ooms = 9;
    bridge_step(&bridge, &record);
    assert_int_equal(bridge_event(&bridge, now + BRIDGE_EVENT_NS - 1, text), 0);
    assert_true(bridge_event(&bridge, now + BRIDGE_EVENT_NS, text) > 0);
    assert_int_equal(bridge_event(&bridge, now + 9 * BRIDGE_EVENT_NS, text), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_does_not_fit_is_refused_with_its_reason, as_new),
        cmocka_unit_test_setup(test_a_file_that_others_can_write_is_not_loaded, as_new),
        cmocka_unit_test_setup(test_another_patch_release_is_the_same_torch, as_new),
        cmocka_unit_test_setup(test_a_step_has_its_own_peak_and_allocations, as_new),
        cmocka_unit_test_setup(test_devices_are_told_of_when_they_change, as_new),
    };
    return cmocka_run_group_tests(tests, find_fake, NULL);
}
