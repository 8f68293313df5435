/* Begins and ends what callgrind counts; loaded into the Python that is measured (capture.py). Outside of valgrind nothing happens.
 * SPDX-License-Identifier: Apache-2.0 */
#include <valgrind/callgrind.h>

void count_begin(void);
void count_end(const char *name);

void count_begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

/* Leaves the count in a file of callgrind's, under this name. */
void count_end(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
