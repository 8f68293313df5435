/* What the NCCL profiler plugin costs NCCL's threads: nanoseconds a collective (its start and its
 * end), alone and with the kernel of one channel, in each version of the interface, and when nothing
 * is watched. The best of many short rounds, since whatever else runs on the machine only adds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "engine/base/clock.h"
#include "engine/rank/nccl/abi.h"
#include "engine/wire/door.h"
#include "tests/support/nccl_host.h"
#include "engine/base/banned.h"

enum { ROUNDS = 200, CALLS = 2000 };

#define TABLE(version) extern struct nccl_profiler_v##version ncclProfiler_v##version;
TABLE(1) TABLE(2) TABLE(3) TABLE(4) TABLE(5) TABLE(6)
#undef TABLE
extern const struct collective_door inductop_nccl_door;

static double best_ns(struct host *host, void *comm, bool has_kernel) {
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = clock_now_ns();
        for (int i = 0; i < CALLS; i++) {
            void *call = host_call(host, comm, HOST_COLL, "AllReduce", 1000, "ncclFloat32");
            if (has_kernel) host_kernel_end(host, host_kernel(host, comm, call, 0, 1000), 2000);
            host_stop(host, call);
        }
        uint64_t took = clock_now_ns() - from;
        if (took < best) best = took;
    }
    return (double)best / CALLS;
}

int main(void) {
    const void *const tables[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
                                  &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
    puts("version   collective   with a kernel   not watched   (ns, making the record included)");
    for (unsigned v = 1; v <= HOST_VERSIONS; v++) {
        struct host host = {.version = v, .table = tables[v - 1]};
        inductop_nccl_door.watch(0);
        void *comm = host_init(&host, 2);
        double idle = best_ns(&host, comm, false);
        inductop_nccl_door.watch(COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
        double call = best_ns(&host, comm, false);
        printf("%7u %12.1f", v, call);
        if (host_has_times(&host)) printf(" %15.1f", best_ns(&host, comm, true));
        else printf(" %15s", "-");
        printf(" %13.1f\n", idle);
        host_finalize(&host, comm);
    }
    return 0;
}
