/* The NCCL profiler plugin under fire from several threads, for the thread sanitizer: 4 threads are
 * NCCL, each with communicators that come and go, at 100,000 events a second together for as many
 * seconds as asked for; kernels end on a thread other than the one that began them, some events are
 * never ended, some twice; the core watches, stops watching and reads meanwhile. Exit 1 when what
 * was counted does not add up.
 *
 *     nccl [SECONDS]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/rank/nccl/abi.h"
#include "engine/wire/door.h"
#include "tests/support/nccl_host.h"
#include "engine/base/banned.h"

enum { THREADS = 4, MAILBOX = 64, PER_ROUND = 8, ROUND_NS = 1280000 }; /* 4 * 8 * 4 events in 1.28 ms */

extern struct nccl_profiler_v3 ncclProfiler_v3;
extern struct nccl_profiler_v6 ncclProfiler_v6;
extern const struct collective_door inductop_nccl_door;

/* Kernels that another thread ends. */
static _Atomic(void *) mailbox[MAILBOX];
static _Atomic uint64_t calls, refusals, spoilt;
static _Atomic bool stop;

static void one_call(struct host *host, void *comm, uint64_t i) {
    void *call = host_call(host, comm, i % 3 ? HOST_COLL : HOST_P2P, i % 3 ? "AllReduce" : "Send", 256, "ncclFloat32");
    atomic_fetch_add(&calls, 1);
    void *mine = host_kernel(host, comm, call, 0, 1000 * i + 1), *yours = host_kernel(host, comm, call, 1, 1000 * i + 1);
    if (i % 64) host_stop(host, call); /* one in 64 is never ended */
    host_kernel_end(host, mine, 1000 * i + 801);
    if (i % 65 == 0) host_stop(host, call);
    void *old = atomic_exchange(&mailbox[i % MAILBOX], yours);
    if (old) host_kernel_end(host, old, UINT64_C(1000) * i + 901);
}

static void *be_nccl(void *arg) {
    struct host host = {.version = (uintptr_t)arg % 2 ? 6 : 3};
    host.table = host.version == 6 ? (const void *)&ncclProfiler_v6 : &ncclProfiler_v3;
    uint64_t next = clock_now_ns(), i = 1;
    while (!atomic_load(&stop)) {
        void *comm = host_init(&host, 4);
        for (int round = 0; round < 100 && !atomic_load(&stop); round++) {
            for (int k = 0; k < PER_ROUND; k++) one_call(&host, comm, i++);
            next += ROUND_NS;
            uint64_t now = clock_now_ns();
            if (now < next) nanosleep(&(struct timespec){.tv_nsec = (long)(next - now)}, NULL);
        }
        host_finalize(&host, comm);
        for (int k = 0; k < 100; k++) { /* the mask is ours again at once: what a write by the core would spoil */
            host_finalize(&host, host_init(&host, 4));
            host.mask = k;
            sched_yield();
            if (host.mask != k) atomic_fetch_add(&spoilt, 1);
        }
    }
    atomic_fetch_add(&refusals, host.refusals);
    return NULL;
}

static uint64_t counted(const struct collective_figures *figures) {
    uint64_t count = 0;
    for (int f = 0; f < COLLECTIVE_FUNC_COUNT; f++) count += figures->funcs[f].count;
    return count;
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
    pthread_t threads[THREADS];
    struct collective_figures figures;
    const struct collective_door *door = &inductop_nccl_door;
    uint64_t from = clock_now_ns(), reads = 0;
    door->watch(COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, be_nccl, (void *)i)) abort();
    while ((double)(clock_now_ns() - from) < seconds * 1e9) {
        door->watch(COLLECTIVE_WATCH_CALLS | (reads % 2 ? 0 : COLLECTIVE_WATCH_TIMES));
        door->read(&figures);
        reads++;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    double took = (double)(clock_now_ns() - from) / 1e9;
    door->read(&figures);
    const struct collective_func_figures *reduce = &figures.funcs[COLLECTIVE_FUNC_ALL_REDUCE];
    printf("%.0f calls/s, %" PRIu64 " counted of %" PRIu64 ", %" PRIu64 " timed, %" PRIu64 " dropped, %" PRIu64
           " strange, %" PRIu64 " reads, %" PRIu64 " communicators open\n",
           (double)atomic_load(&calls) / took, counted(&figures), atomic_load(&calls), reduce->timed, figures.dropped,
           figures.strange, reads, figures.comms);
    bool is_good = counted(&figures) == atomic_load(&calls) && reduce->bytes == reduce->count * 1024 &&
                   reduce->timed > 0 && figures.strange > 0 && figures.comms == 0 && atomic_load(&refusals) == 0 && atomic_load(&spoilt) == 0;
    puts(is_good ? "good" : "does not add up");
    return !is_good;
}
