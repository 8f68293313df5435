/* Resident memory of this process: a kept descriptor on /proc/self/statm, 1 us a sample, read by
 * the sender thread only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_MEMORY_H
#define INDUCTOP_RANK_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

struct memory_sampler {
    int fd; /* -1: none; the readings stay 0 then, which means not known */
    uint64_t page_bytes;
    _Atomic uint64_t rss_bytes; /* the last sample; any thread may read it */
    _Atomic uint64_t
        rss_peak_bytes; /* highest sample, so a peak between two samples is not in it */
};

void memory_init(struct memory_sampler *sampler);
void memory_done(struct memory_sampler *sampler);
void memory_sample(struct memory_sampler *sampler);

#endif
