/* The NCCL profiler plugin through each version of the interface, driven as NCCL drives it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/rank/nccl/abi.h"
#include "engine/rank/nccl/counting.h"
#include "tests/support/nccl_host.h"
#include "engine/base/banned.h"

#define TABLE(version) extern struct nccl_profiler_v##version ncclProfiler_v##version;
TABLE(1) TABLE(2) TABLE(3) TABLE(4) TABLE(5) TABLE(6)
#undef TABLE
extern const struct collective_door inductop_nccl_door;

static struct host hosts[HOST_VERSIONS + 1];
static struct collective_figures before;
static uint64_t fake_ns;

static uint64_t fake_clock(void) {
    return fake_ns += 100;
}

static int set_up(void **state) {
    (void)state;
    const void *const tables[] = {NULL, &ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3, &ncclProfiler_v4,
                                  &ncclProfiler_v5, &ncclProfiler_v6};
    for (unsigned v = 1; v <= HOST_VERSIONS; v++) hosts[v] = (struct host){.version = v, .table = tables[v], .mask = -1};
    inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
    inductop_nccl_door.read(&before);
    fake_ns = 1000;
    clock_set_source(fake_clock);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    clock_set_source(NULL);
    for (unsigned v = 1; v <= HOST_VERSIONS; v++) assert_int_equal(hosts[v].refusals, 0);
    return 0;
}

/* What was counted since set_up(). */
static struct collective_figures since(void) {
    struct collective_figures now;
    inductop_nccl_door.read(&now);
    for (int f = 0; f < COLLECTIVE_FUNC_COUNT; f++) {
        now.funcs[f].count -= before.funcs[f].count;
        now.funcs[f].bytes -= before.funcs[f].bytes;
        now.funcs[f].host_ns -= before.funcs[f].host_ns;
        now.funcs[f].timed -= before.funcs[f].timed;
        now.funcs[f].timed_ns -= before.funcs[f].timed_ns;
    }
    now.captured -= before.captured;
    now.dropped -= before.dropped;
    now.strange -= before.strange;
    return now;
}

static struct collective_func_figures of(enum collective_func func) {
    return since().funcs[func];
}

#define EACH_VERSION(host) for (struct host *host = hosts + 1; host <= hosts + HOST_VERSIONS; host++)

/* ---- layout */

static void test_records_have_the_published_sizes(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct nccl_v1_event), 120);
    assert_int_equal(sizeof(struct nccl_v2_event), 128);
    assert_int_equal(sizeof(struct nccl_v3_event), 120);
    assert_int_equal(sizeof(struct nccl_v4_event), 104);
    assert_int_equal(sizeof(struct nccl_v5_event), 112);
    assert_int_equal(sizeof(struct nccl_v6_event), 112);
}

static void test_tables_are_complete(void **state) {
    (void)state;
    EACH_VERSION(host) {
        assert_string_equal(host->table->name, "inductop");
        assert_non_null(host->table->init);
        assert_non_null(host->table->start);
        assert_non_null(host->table->stop);
        assert_non_null(host->table->state);
        assert_non_null(host->table->finalize);
    }
}

/* ---- what is wanted */

static void test_wants_nothing_until_it_is_watched(void **state) {
    (void)state;
    inductop_nccl_door.watch(0);
    EACH_VERSION(host) {
        void *comm = host_init(host, 2);
        assert_non_null(comm);
        assert_int_equal(host->mask, 0);
        assert_null(host_call(host, comm, HOST_COLL, "AllReduce", 10, "ncclFloat32"));
        assert_null(host_kernel(host, comm, NULL, 0, 5));
        host_finalize(host, comm);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, 0);
    assert_int_equal(since().strange, 0);
}

static void test_mask_follows_what_is_watched(void **state) {
    (void)state;
    const int calls = HOST_COLL | HOST_P2P;
    EACH_VERSION(host) {
        int all = calls | (host->version >= 6 ? HOST_COPY : 0);
        int times = host_has_times(host) ? HOST_KERNEL : 0;
        void *comm = host_init(host, 2);
        assert_int_equal(host->mask, all | times);
        inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS);
        assert_int_equal(host->mask, all);
        inductop_nccl_door.watch(0);
        assert_int_equal(host->mask, 0);
        inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
        assert_int_equal(host->mask, all | times);
        host_finalize(host, comm);
    }
}

/* The mask is NCCL's: nobody writes to it when the last communicator is gone. */
static void test_mask_is_left_alone_after_finalize(void **state) {
    (void)state;
    EACH_VERSION(host) {
        void *first = host_init(host, 2), *second = host_init(host, 2);
        assert_ptr_not_equal(first, second);
        host_finalize(host, first);
        host->mask = 0;
        inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS);
        assert_true(host->mask & HOST_COLL);
        host_finalize(host, second);
        host->mask = 0x55;
        inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
        assert_int_equal(host->mask, 0x55);
    }
}

/* ---- counts */

static void test_counts_collectives_and_bytes(void **state) {
    (void)state;
    EACH_VERSION(host) {
        void *comm = host_init(host, 2);
        host_stop(host, host_call(host, comm, HOST_COLL, "AllReduce", 1000, "ncclFloat32"));
        host_stop(host, host_call(host, comm, HOST_COLL, "AllGather", 10, "ncclInt64"));
        host_stop(host, host_call(host, comm, HOST_COLL, "ReduceScatter", 10, "ncclBfloat16"));
        host_stop(host, host_call(host, comm, HOST_COLL, "Broadcast", 7, "ncclInt8"));
        host_stop(host, host_call(host, comm, HOST_P2P, "Send", 100, "ncclFloat16"));
        host_finalize(host, comm);
        assert_int_equal(since().version, host->version);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, HOST_VERSIONS);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).bytes, HOST_VERSIONS * 4000);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).host_ns, HOST_VERSIONS * 100);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_GATHER).bytes, HOST_VERSIONS * 80);
    assert_int_equal(of(COLLECTIVE_FUNC_REDUCE_SCATTER).bytes, HOST_VERSIONS * 20);
    assert_int_equal(of(COLLECTIVE_FUNC_BROADCAST).bytes, HOST_VERSIONS * 7);
    assert_int_equal(of(COLLECTIVE_FUNC_SEND).count, HOST_VERSIONS);
    assert_int_equal(of(COLLECTIVE_FUNC_SEND).bytes, HOST_VERSIONS * 200);
    assert_int_equal(since().dropped, 0);
    assert_int_equal(since().strange, 0);
}

static void test_unknown_names_count_as_other(void **state) {
    (void)state;
    EACH_VERSION(host) {
        if (host->version == 1) continue; /* numbers */
        void *comm = host_init(host, 2);
        host_stop(host, host_call(host, comm, HOST_COLL, "AllScramble", 3, "ncclInt64"));
        host_stop(host, host_call(host, comm, HOST_COLL, "AllReduce", 3, "ncclFloat4"));
        host_finalize(host, comm);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_OTHER).count, HOST_VERSIONS - 1);
    assert_int_equal(of(COLLECTIVE_FUNC_OTHER).bytes, (HOST_VERSIONS - 1) * 24);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).bytes, 0);
    assert_int_equal(since().strange, HOST_VERSIONS - 1);
}

static void test_other_kinds_are_ignored(void **state) {
    (void)state;
    EACH_VERSION(host) {
        void *comm = host_init(host, 2);
        for (uint64_t kind = 1; kind <= (host->version < 5 ? 1u << 7 : 1u << 20); kind <<= 1) {
            uint64_t ours = HOST_COLL | HOST_P2P | (host->version >= 6 ? HOST_COPY : 0u);
            if (host_has_times(host)) ours |= HOST_KERNEL;
            if (!(kind & ours)) assert_null(host_bare(host, comm, kind, (void *)0xdead));
        }
        host_finalize(host, comm);
    }
    assert_int_equal(since().dropped + since().strange + since().captured, 0);
}

static void test_captured_calls_are_told_apart(void **state) {
    (void)state;
    for (unsigned v = 5; v <= HOST_VERSIONS; v++) {
        void *comm = host_init(&hosts[v], 2);
        for (int i = 0; i < 4; i++) host_api(&hosts[v], comm, i & 1, i & 2);
        host_finalize(&hosts[v], comm);
    }
    assert_int_equal(since().captured, 4);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, 0);
}

static void test_copies_count_since_version_6(void **state) {
    (void)state;
    for (unsigned v = 5; v <= HOST_VERSIONS; v++) {
        void *comm = host_init(&hosts[v], 2);
        host_stop(&hosts[v], host_call(&hosts[v], comm, HOST_COPY, "AlltoAll", 50, "ncclFloat32"));
        host_finalize(&hosts[v], comm);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_TO_ALL).count, 1);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_TO_ALL).bytes, 200);
}

static void test_communicators_are_counted(void **state) {
    (void)state;
    void *comms[3];
    for (int i = 0; i < 3; i++) comms[i] = host_init(&hosts[4], 2 + i);
    assert_int_equal(since().comms, before.comms + 3);
    assert_true(since().ranks >= 4);
    for (int i = 0; i < 3; i++) host_finalize(&hosts[4], comms[i]);
    host_finalize(&hosts[4], comms[0]); /* twice */
    host_finalize(&hosts[4], &comms);   /* not ours */
    assert_int_equal(since().comms, before.comms);
    assert_int_equal(since().strange, 2);
}

static void test_more_communicators_than_places_count_as_well(void **state) {
    (void)state;
    static void *comms[COUNTING_COMMS + 2];
    for (int i = 0; i < COUNTING_COMMS + 2; i++) comms[i] = host_init(&hosts[5], 2);
    assert_null(comms[COUNTING_COMMS + 1]);
    assert_int_equal(since().dropped, 2);
    host_stop(&hosts[5], host_call(&hosts[5], NULL, HOST_COLL, "AllReduce", 1, "ncclFloat32"));
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, 1);
    for (int i = 0; i < COUNTING_COMMS; i++) host_finalize(&hosts[5], comms[i]);
    assert_int_equal(since().comms, before.comms);
}

/* ---- times */

static void test_time_is_from_first_start_to_last_end_of_its_kernels(void **state) {
    (void)state;
    for (unsigned v = 4; v <= HOST_VERSIONS; v++) {
        struct host *host = &hosts[v];
        void *comm = host_init(host, 2);
        void *call = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
        host_stop(host, call); /* enqueued: its kernels come later */
        void *second = host_kernel(host, comm, call, 1, 5000000);
        void *first = host_kernel(host, comm, call, 0, 4000000);
        void *third = host_kernel(host, comm, call, 2, 4500000);
        host_kernel_end(host, second, 6000000);
        host_kernel_end(host, first, 5500000);
        host_kernel_end(host, third, 5600000);
        host_finalize(host, comm);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed, 3);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed_ns, 3 * 2000000);
    assert_int_equal(since().strange, 0);
}

/* Version 3 has no times of the device: the proxy thread's word for it. */
static void test_version_3_is_timed_by_our_clock(void **state) {
    (void)state;
    struct host *host = &hosts[3];
    void *comm = host_init(host, 2);
    void *call = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
    void *kernel = host_kernel(host, comm, call, 0, 0);
    fake_ns += 3900;
    host_kernel_end(host, kernel, 0);
    host_stop(host, call);
    host_finalize(host, comm);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed, 1);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed_ns, 4000);
}

static void test_old_versions_have_no_times(void **state) {
    (void)state;
    for (unsigned v = 1; v <= 2; v++) {
        void *comm = host_init(&hosts[v], 2);
        void *call = host_call(&hosts[v], comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
        assert_null(host_bare(&hosts[v], comm, HOST_KERNEL, call));
        host_stop(&hosts[v], call);
        host_finalize(&hosts[v], comm);
    }
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed, 0);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, 2);
}

static void test_calls_that_overlap_keep_their_own_times(void **state) {
    (void)state;
    struct host *host = &hosts[6];
    void *comm = host_init(host, 2);
    void *a = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
    void *b = host_call(host, comm, HOST_COLL, "AllGather", 1, "ncclFloat32");
    void *kernel_b = host_kernel(host, comm, b, 0, 10000);
    void *kernel_a = host_kernel(host, comm, a, 0, 16000);
    host_stop(host, b);
    host_kernel_end(host, kernel_a, 32000);
    host_stop(host, a);
    host_kernel_end(host, kernel_b, 74000);
    host_finalize(host, comm);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed_ns, 16000);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_GATHER).timed_ns, 64000);
}

/* A collective that hangs for minutes must not look like a short one. */
static void test_a_very_long_time_is_the_longest_that_fits(void **state) {
    (void)state;
    struct host *host = &hosts[6];
    void *comm = host_init(host, 2), *call = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
    void *kernel = host_kernel(host, comm, call, 0, 1000);
    host_kernel_end(host, kernel, UINT64_C(600000000000));
    host_finalize(host, comm);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed_ns, UINT64_C(16) * UINT32_MAX);
}

/* ---- what must not happen */

static void test_strange_events_harm_nothing(void **state) {
    (void)state;
    struct host *host = &hosts[6];
    void *comm = host_init(host, 2);
    void *call = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
    host_stop(host, call);
    host_stop(host, call);                 /* ended twice */
    host_stop(host, (void *)0x1234567890); /* of nobody */
    host_stop(host, (void *)UINTPTR_MAX);
    host_kernel_end(host, host_kernel(host, comm, NULL, 0, 100), 200); /* no parent */
    host_kernel_end(host, host_kernel(host, comm, &call, 0, 100), 200); /* not ours */
    void *parent = host_kernel(host, comm, call, 0, 100);
    host_kernel_end(host, host_kernel(host, comm, parent, 0, 100), 200); /* a kernel's kernel */
    host_kernel_end(host, parent, 50);                                   /* ends before it began */
    host_kernel_end(host, parent, 300);                                  /* and again: neither is a time */
    host->table->state(call, HOST_KERNEL_STOP, NULL);
    host->table->state(NULL, 0, NULL);
    host->table->stop(NULL);
    host_finalize(host, comm);
    assert_int_equal(since().strange, 3 + 2 + 1 + 1 + 2);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).timed, 0);
    assert_int_equal(of(COLLECTIVE_FUNC_ALL_REDUCE).count, 1);
}

static void test_kernel_of_a_call_long_gone_is_no_time_of_another(void **state) {
    (void)state;
    struct host *host = &hosts[5];
    void *comm = host_init(host, 2);
    void *old = host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
    host_stop(host, old);
    for (int i = 0; i < COUNTING_CALLS; i++) host_stop(host, host_call(host, comm, HOST_COLL, "Broadcast", 1, "ncclFloat32"));
    host_kernel_end(host, host_kernel(host, comm, old, 0, 100), 100000);
    host_finalize(host, comm);
    assert_int_equal(of(COLLECTIVE_FUNC_BROADCAST).timed_ns + of(COLLECTIVE_FUNC_ALL_REDUCE).timed_ns, 0);
    assert_int_equal(since().strange, 1);
}

static void test_open_events_are_bounded_and_go_with_their_communicator(void **state) {
    (void)state;
    EACH_VERSION(host) {
        struct collective_figures start = since();
        void *comm = host_init(host, 2), *other = host_init(host, 2);
        void *kept = host_call(host, other, HOST_COLL, "AllReduce", 1, "ncclFloat32");
        for (int i = 0; i < COUNTING_CALLS + 100; i++) host_call(host, comm, HOST_COLL, "AllReduce", 1, "ncclFloat32");
        struct collective_figures full = since();
        assert_int_equal(full.dropped - start.dropped, 101);
        assert_int_equal(full.funcs[COLLECTIVE_FUNC_ALL_REDUCE].count - start.funcs[COLLECTIVE_FUNC_ALL_REDUCE].count, COUNTING_CALLS + 101);
        host_finalize(host, comm); /* with all of them open */
        for (int i = 0; i < COUNTING_CALLS / 2; i++) assert_non_null(host_call(host, other, HOST_COLL, "AllReduce", 1, "ncclFloat32"));
        host_stop(host, kept);
        assert_int_equal(since().strange, 0);
        host_finalize(host, other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_have_the_published_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tables_are_complete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wants_nothing_until_it_is_watched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mask_follows_what_is_watched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mask_is_left_alone_after_finalize, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts_collectives_and_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_names_count_as_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_kinds_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_captured_calls_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copies_count_since_version_6, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_communicators_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_communicators_than_places_count_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_is_from_first_start_to_last_end_of_its_kernels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_version_3_is_timed_by_our_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_versions_have_no_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls_that_overlap_keep_their_own_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_very_long_time_is_the_longest_that_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strange_events_harm_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kernel_of_a_call_long_gone_is_no_time_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_events_are_bounded_and_go_with_their_communicator, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
