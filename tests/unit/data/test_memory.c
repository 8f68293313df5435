/* Peaks of memory per set of settings, and what they are compared with.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/data/memory.h"
#include "engine/data/summary.h"
#include "tests/unit/data/tell.h"
#include "engine/base/banned.h"

enum { EAGER = 9, COMPILED = 7 };

/* One rank, whose bridge counts. */
static struct store *store_with(const char *bridge) {
    struct store *store = viewed_store();
    hello(store, 0);
    tell(store, "unit", "'t':0,'rank':0,'unit':0,'name':'Net','origin':'script'");
    tell(store, "variant",
         "'t':0,'rank':0,'variant':9,'label':'eager','settings':{'scope':'eager'}");
    tell(store, "variant",
         "'t':0,'rank':0,'variant':7,'label':'whole','settings':{'scope':'whole'}");
    if (bridge) tell(store, "bridge", bridge);
    return store;
}

static void cpu_step(struct store *store, uint32_t variant, uint64_t peak, uint32_t why) {
    struct step_record record = {.dur_ns = 5000000,
                                 .variant = variant,
                                 .why = why,
                                 .valid = STEP_HAS_CPU,
                                 .cpu_bytes = 10,
                                 .cpu_peak_bytes = peak};
    store_step(store, &record, 0, NULL, 0);
}

static void device_step(struct store *store, uint32_t variant, uint64_t peak) {
    struct step_record record = {.dur_ns = 5000000,
                                 .variant = variant,
                                 .valid = STEP_HAS_DEVICE,
                                 .device_bytes = 10,
                                 .device_peak_bytes = peak};
    store_step(store, &record, 0, NULL, 0);
}

static const char counting[] = "'t':0,'rank':0,'state':'counting','library':'/b.so'";

static void test_a_peak_is_that_of_clean_steps(void **state) {
    (void)state;
    struct store *store = store_with(counting);
    cpu_step(store, EAGER, 400, 0);
    cpu_step(store, EAGER, 300, 0);
    cpu_step(store, COMPILED, 900, STEP_WHY_COMPILE);
    cpu_step(store, COMPILED, 200, 0);
    assert_int_equal(store_use(store, 0, 0)->peaks.cpu, 400);
    assert_int_equal(store_use(store, 0, 1)->peaks.cpu, 200);
    assert_true(store_use_memory_over_eager(store, 0, 0) == 1.0);
    assert_true(store_use_memory_over_eager(store, 0, 1) == 0.5);
    const struct snapshot *snapshot = snapshot_take(store, 1);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    assert_true(rank->cpu_most == 900 && rank->cpu_is_whole && rank->cpu_bytes == 10);
    assert_true(rank->uses[1].torch_peak == 200 && rank->uses[1].memory_over_eager == 0.5);
    assert_true(snapshot_variant(snapshot, COMPILED)->memory_over_eager == 0.5);
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_what_lacks_something_is_not_compared(void **state) {
    (void)state;
    static const char *const bridges[] = {NULL, "'t':0,'rank':0,'state':'counting','since':76",
                                          "'t':0,'rank':0,'state':'failed','reason':'none'"};
    for (size_t i = 0; i < sizeof bridges / sizeof bridges[0]; i++) {
        struct store *store = store_with(bridges[i]);
        cpu_step(store, EAGER, 400, 0);
        cpu_step(store, COMPILED, 200, 0);
        assert_int_equal(store_use(store, 0, 1)->peaks.cpu, 200);
        assert_true(isnan(store_use_memory_over_eager(store, 0, 1)));
        store_free(store);
    }
    struct store *store = store_with(counting);
    cpu_step(store, COMPILED, 200, 0);
    assert_true(isnan(store_use_memory_over_eager(store, 0, 0))); /* eager did not run */
    store_free(store);
}

/* The device's allocator has one peak for all: it is of the settings under which it rose. */
static void test_a_device_peak_is_of_who_raised_it(void **state) {
    (void)state;
    struct store *store = store_with(counting);
    device_step(store, COMPILED, 500);
    device_step(store, EAGER, 1000);
    device_step(store, EAGER, 1000);
    device_step(store, COMPILED, 1000);
    assert_int_equal(store_use(store, 0, 0)->peaks.device, 500);
    assert_int_equal(store_use(store, 0, 1)->peaks.device, 1000);
    assert_true(store_use_memory_over_eager(store, 0, 0) == 0.5);
    device_step(store, 3, 1000);
    assert_false(store_use(store, 0, 2)->peaks.has_device);
    cpu_step(store, EAGER, 100, 0);
    cpu_step(store, 3, 50, 0);
    assert_true(isnan(store_use_memory_over_eager(store, 0, 2))); /* not the CPU's instead */
    store_free(store);
}

static void test_devices_are_told_apart_from_steps(void **state) {
    (void)state;
    struct store *store = store_with(NULL);
    tell(store, "memory", "'t':1,'rank':0,'reserved':300,'reserved_peak':400,'retries':2,'ooms':1");
    const struct snapshot *snapshot = snapshot_take(store, 1);
    const struct snapshot_rank *rank = snapshot->ranks[0];
    assert_true(rank->reserved == 300 && rank->reserved_peak == 400 && rank->retries == 2 &&
                rank->ooms == 1);
    assert_true(isnan(rank->cpu_most) && isnan(rank->device_peak));
    snapshot_unref(snapshot);
    store_free(store);
}

static void test_a_summary_tells_it_and_gives_it_back(void **state) {
    (void)state;
    struct store *store = store_with(counting), *late = store_new();
    struct event event;
    cpu_step(store, EAGER, 400, 0);
    cpu_step(store, COMPILED, 200, 0);
    summary_event(store, &event);
    assert_int_equal(event_check(&event, NULL), 0);
    json_t *use = json_array_get(
        json_object_get(json_array_get(json_object_get(event.body, "ranks"), 0), "variants"), 1);
    assert_int_equal(json_integer_value(json_object_get(use, "peak_cpu")), 200);
    assert_true(json_real_value(json_object_get(use, "memory_over_eager")) == 0.5);
    assert_null(json_object_get(use, "peak_device"));
    store_take(late, &event, NULL);
    assert_int_equal(store_use(late, 0, 1)->peaks.cpu, 200);
    event_done(&event);
    struct buf table = BUF_INIT;
    summary_table(store, &table, 100);
    assert_non_null(strstr(buf_text(&table), "peak   torch of eager\n"));
    assert_non_null(strstr(buf_text(&table), "   200 B     0.50\n"));
    buf_done(&table);
    store_free(store);
    store_free(late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peak_is_that_of_clean_steps),
        cmocka_unit_test(test_what_lacks_something_is_not_compared),
        cmocka_unit_test(test_a_device_peak_is_of_who_raised_it),
        cmocka_unit_test(test_devices_are_told_apart_from_steps),
        cmocka_unit_test(test_a_summary_tells_it_and_gives_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
