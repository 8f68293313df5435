/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/attr.h"
#include "engine/base/host.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

static char folder[] = "/tmp/inductop-host-XXXXXX";

static void put(const char *path, const char *text) {
    CLEANUP(cleanup_free) char *whole = mem_printf("%s%s", folder, path);
    for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void expect(double bytes) {
    assert_true(fabs(host_memory_left() - bytes) < 1);
}

static void the_nearest_limit_counts(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    host_set_root(folder);
    assert_true(isnan(host_memory_left()));
    put("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 1000 kB\n");
    expect(1024000);
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n");
    expect(1024000);
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "100000\n");
    expect(1024000);
    put("/sys/fs/cgroup/job/memory.max", "500000\n"); /* of the group above */
    put("/sys/fs/cgroup/job/memory.current", "300000\n");
    expect(200000);
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 50000\n");
    expect(250000);
    put("/proc/self/cgroup", "5:cpu:/c\n4:hugetlb,memory:/old\n");
    expect(1024000);
    put("/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "90000\n");
    put("/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "20000\n");
    expect(70000);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "60000\n"); /* of the root */
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "50000\n");
    expect(10000);
    host_set_root(NULL);
    assert_true(host_memory_left() > 0);
    CLEANUP(cleanup_free) char *clean = mem_printf("rm -rf %s", folder);
    assert_int_equal(system(clean), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_limit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
