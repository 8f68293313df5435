/* Plays libnccl for tests in Python: looks for a profiler plugin where NCCL looks, takes the highest
 * version that it has, and makes the calls of collectives on one communicator.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/attr.h"
#include "tests/support/nccl_host.h"
#include "engine/base/banned.h"

static void *library, *comm;
static struct host host;

int nccl_play_open(unsigned most);
int nccl_play_calls(int count, uint64_t kernel_ns);
int nccl_play_mask(void);
void nccl_play_close(void);

static void *open_library(void) {
    const char *name = getenv("NCCL_PROFILER_PLUGIN");
    char longer[256];
    void *found = dlopen(name ? name : "libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
    if (found || !name) return found;
    snprintf(longer, sizeof longer, "libnccl-profiler-%s.so", name);
    return dlopen(longer, RTLD_NOW | RTLD_LOCAL);
}

/* `most`: the highest version that this NCCL knows. Returns the version found, 0: none. */
ATTR_EXPORT int nccl_play_open(unsigned most) {
    char symbol[32];
    library = open_library();
    host = (struct host){.version = most};
    for (; library && host.version; host.version--) {
        snprintf(symbol, sizeof symbol, "ncclProfiler_v%u", host.version);
        host.table = dlsym(library, symbol);
        if (host.table) break;
    }
    if (!host.table) return 0;
    comm = host_init(&host, 2);
    return (int)host.version;
}

/* As NCCL does, only what the mask asks for. Returns the handles that were given. */
ATTR_EXPORT int nccl_play_calls(int count, uint64_t kernel_ns) {
    int given = 0;
    for (int i = 0; i < count; i++) {
        void *call = host.mask & HOST_COLL
                         ? host_call(&host, comm, HOST_COLL, "AllReduce", 1000, "ncclFloat32")
                         : NULL;
        host_stop(&host, call);
        given += call != NULL;
        if (!(host.mask & HOST_KERNEL)) continue;
        void *kernel = host_kernel(&host, comm, call, 0, 1000000);
        host_kernel_end(&host, kernel, 1000000 + kernel_ns);
    }
    return given;
}

ATTR_EXPORT int nccl_play_mask(void) {
    return host.mask;
}

ATTR_EXPORT void nccl_play_close(void) {
    if (host.table) host_finalize(&host, comm);
    if (library) dlclose(library);
    library = comm = NULL;
    host.table = NULL;
}
