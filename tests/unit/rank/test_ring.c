/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rank/ring.h"
#include "engine/base/banned.h"

static struct step_ring *steps;
static struct frame_ring *frames;

static int set_up(void **state) {
    (void)state;
    steps = aligned_alloc(64, (sizeof *steps + 63) / 64 * 64);
    frames = aligned_alloc(64, (sizeof *frames + 63) / 64 * 64);
    memset(steps, 0, sizeof *steps);
    memset(frames, 0, sizeof *frames);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(steps);
    free(frames);
    return 0;
}

static uint64_t put(uint64_t step) {
    struct step_record record = {.step = step, .seq = (uint32_t)step};
    return step_ring_push(steps, &record);
}

static void test_steps_come_out_in_order_round_after_round(void **state) {
    (void)state;
    struct step_record out[100];
    uint64_t in = 0, expected = 0;
    while (expected < 3 * STEP_RING_ROOM) {
        for (int i = 0; i < 97; i++, in++) assert_true(put(in) == in + 1);
        size_t count = step_ring_pop(steps, out, 100);
        assert_int_equal(count, 97);
        for (size_t i = 0; i < count; i++) assert_true(out[i].step == expected++);
    }
    assert_int_equal(step_ring_pop(steps, out, 100), 0);
    assert_int_equal(step_ring_used(steps), 0);
}

static void test_full_step_ring_drops_the_newest_and_counts(void **state) {
    (void)state;
    for (uint64_t i = 0; i < STEP_RING_ROOM; i++) assert_true(put(i) > 0);
    assert_true(put(99999) == 0);
    assert_int_equal(step_ring_used(steps), STEP_RING_ROOM);
    assert_int_equal(atomic_load(&steps->dropped), 1);
    struct step_record out;
    assert_int_equal(step_ring_pop(steps, &out, 1), 1);
    assert_true(out.step == 0);
    assert_true(put(5000) > 0);
}

static void test_skip_takes_the_oldest_and_counts(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 10; i++) put(i);
    assert_int_equal(step_ring_skip(steps, 4), 4);
    assert_int_equal(atomic_load(&steps->dropped), 4);
    struct step_record out;
    step_ring_pop(steps, &out, 1);
    assert_true(out.step == 4);
}

enum { PRODUCERS = 4, EACH = 50000 };
static _Atomic uint64_t accepted;

static void *produce(void *arg) {
    uint64_t who = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; i < EACH; i++)
        if (put(who << 32 | i)) atomic_fetch_add(&accepted, 1);
    return NULL;
}

static void test_many_producers_lose_nothing_that_was_accepted(void **state) {
    (void)state;
    atomic_store(&accepted, 0);
    pthread_t thread[PRODUCERS];
    for (uintptr_t i = 0; i < PRODUCERS; i++) pthread_create(&thread[i], NULL, produce, (void *)i);
    uint64_t got = 0, next[PRODUCERS] = {0};
    struct step_record out[64];
    for (;;) {
        size_t count = step_ring_pop(steps, out, 64);
        for (size_t i = 0; i < count; i++) {
            uint64_t who = out[i].step >> 32, number = out[i].step & UINT32_MAX;
            assert_true(number >= next[who]); /* each producer's own come in order */
            next[who] = number + 1;
        }
        got += count;
        if (got + atomic_load(&steps->dropped) == (uint64_t)PRODUCERS * EACH) break;
    }
    for (int i = 0; i < PRODUCERS; i++) pthread_join(thread[i], NULL);
    assert_true(got == atomic_load(&accepted));
}

static size_t pop(uint8_t *ret, uint8_t *ret_type) {
    size_t size = frame_ring_peek(frames, ret_type);
    if (size) frame_ring_pop(frames, ret, size);
    return size;
}

static void test_frames_come_out_whole_over_the_edge(void **state) {
    (void)state;
    static uint8_t in[EVENT_MAX], out[EVENT_MAX + FRAME_HEADER_SIZE];
    uint8_t type;
    for (size_t round = 0; round < 100; round++) {
        size_t size = (round * 7919) % EVENT_MAX;
        memset(in, (int)round, size);
        bool was_empty;
        assert_true(frame_ring_push(frames, (uint8_t)(round % 9 + 1), in, size, &was_empty));
        assert_true(was_empty);
        assert_true(frame_ring_push(frames, 2, "x", 1, &was_empty));
        assert_false(was_empty);
        assert_int_equal(pop(out, &type), size + FRAME_HEADER_SIZE);
        assert_int_equal(type, round % 9 + 1);
        struct frame frame;
        assert_int_equal(frame_parse(out, size + FRAME_HEADER_SIZE, &frame),
                         size + FRAME_HEADER_SIZE);
        assert_memory_equal(frame.payload, in, size);
        assert_int_equal(pop(out, &type), 1 + FRAME_HEADER_SIZE);
    }
    assert_int_equal(frame_ring_used(frames), 0);
}

static void test_full_frame_ring_drops_and_counts(void **state) {
    (void)state;
    static const uint8_t big[EVENT_MAX];
    int kept = 0;
    while (frame_ring_push(frames, 2, big, sizeof big, NULL)) kept++;
    assert_int_equal(kept, FRAME_RING_ROOM / (EVENT_MAX + FRAME_HEADER_SIZE));
    assert_int_equal(atomic_load(&frames->dropped), 1);
    frame_ring_skip(frames);
    assert_int_equal(atomic_load(&frames->dropped), 2);
    assert_true(frame_ring_push(frames, 2, big, sizeof big, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps_come_out_in_order_round_after_round, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_full_step_ring_drops_the_newest_and_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_skip_takes_the_oldest_and_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_producers_lose_nothing_that_was_accepted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_frames_come_out_whole_over_the_edge, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_full_frame_ring_drops_and_counts, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
