/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/rank/phases.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

enum { US = 1, OTHER = 2 };

static void assert_share(struct phase_share share, uint32_t bit, uint64_t ns) {
    assert_int_equal(share.bit, bit);
    assert_int_equal(share.ns, ns);
}

static void a_step_is_told_apart(void **state) {
    (void)state;
    struct phases phases = {0};
    assert_share(phases_boundary(&phases, US, 100), 0, 0);
    assert_share(phases_begin(&phases, US, STEP_HAS_DATA, 110), 0, 0);
    assert_share(phases_end(&phases, US, 140), STEP_HAS_DATA, 30);
    assert_share(phases_begin(&phases, US, STEP_HAS_BACKWARD, 190), STEP_HAS_FORWARD, 50);
    assert_share(phases_end(&phases, US, 260), STEP_HAS_BACKWARD, 70);
    assert_share(phases_stepped(&phases, US, 275), STEP_HAS_OPTIMIZER, 15);
    assert_share(phases_boundary(&phases, US, 275), 0, 0);
}

static void without_a_loader_there_is_no_forward(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    assert_share(phases_begin(&phases, US, STEP_HAS_BACKWARD, 190), 0, 0);
}

static void a_batch_fetched_ahead_is_for_the_next_step(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    phases_begin(&phases, US, STEP_HAS_DATA, 110);
    phases_end(&phases, US, 140);
    phases_boundary(&phases, US, 150);
    assert_share(phases_begin(&phases, US, STEP_HAS_BACKWARD, 190), STEP_HAS_FORWARD, 40);
    phases_end(&phases, US, 200);
    assert_share(phases_begin(&phases, US, STEP_HAS_BACKWARD, 230), 0, 0); /* of the same batch */
}

/* A batch that is fetched ahead, behind the backward, is no part of the optimizer's time. */
static void what_comes_behind_a_batch_is_no_optimizer(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    phases_begin(&phases, US, STEP_HAS_BACKWARD, 150);
    phases_end(&phases, US, 200);
    phases_begin(&phases, US, STEP_HAS_DATA, 210);
    assert_share(phases_end(&phases, US, 230), STEP_HAS_DATA, 20);
    assert_share(phases_stepped(&phases, US, 250), 0, 0);
}

static void two_optimizers_add_up(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    phases_begin(&phases, US, STEP_HAS_BACKWARD, 150);
    phases_end(&phases, US, 200);
    assert_share(phases_stepped(&phases, US, 210), STEP_HAS_OPTIMIZER, 10);
    assert_share(phases_stepped(&phases, US, 230), STEP_HAS_OPTIMIZER, 20);
}

static void a_backward_inside_another_is_part_of_it(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    phases_begin(&phases, US, STEP_HAS_BACKWARD, 150);
    assert_share(phases_begin(&phases, US, STEP_HAS_BACKWARD, 160), 0, 0);
    assert_share(phases_end(&phases, US, 170), 0, 0);
    assert_share(phases_stepped(&phases, US, 180), 0, 0); /* an optimizer inside backward */
    assert_share(phases_end(&phases, US, 200), STEP_HAS_BACKWARD, 50);
}

static void other_threads_are_not_counted(void **state) {
    (void)state;
    struct phases phases = {0};
    assert_share(phases_begin(&phases, US, STEP_HAS_DATA, 50), 0, 0); /* nobody trains yet */
    phases_boundary(&phases, US, 100);
    assert_share(phases_end(&phases, US, 110), 0, 0); /* of the call that began before */
    assert_share(phases_begin(&phases, OTHER, STEP_HAS_DATA, 120), 0, 0);
    assert_share(phases_begin(&phases, US, STEP_HAS_DATA, 130), 0, 0);
    assert_share(phases_end(&phases, OTHER, 140), 0, 0);
    assert_share(phases_end(&phases, US, 150), STEP_HAS_DATA, 20);
}

static void a_boundary_inside_a_call_divides_it(void **state) {
    (void)state;
    struct phases phases = {0};
    phases_boundary(&phases, US, 100);
    phases_begin(&phases, US, STEP_HAS_BACKWARD, 150);
    assert_share(phases_boundary(&phases, US, 170), STEP_HAS_BACKWARD, 20);
    assert_share(phases_end(&phases, US, 200), STEP_HAS_BACKWARD, 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_told_apart),
        cmocka_unit_test(without_a_loader_there_is_no_forward),
        cmocka_unit_test(a_batch_fetched_ahead_is_for_the_next_step),
        cmocka_unit_test(what_comes_behind_a_batch_is_no_optimizer),
        cmocka_unit_test(two_optimizers_add_up),
        cmocka_unit_test(a_backward_inside_another_is_part_of_it),
        cmocka_unit_test(other_threads_are_not_counted),
        cmocka_unit_test(a_boundary_inside_a_call_divides_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
