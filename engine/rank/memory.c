/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/memory.h"

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/banned.h"

void memory_init(struct memory_sampler *sampler) {
    sampler->fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    sampler->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    atomic_store(&sampler->rss_bytes, 0);
    atomic_store(&sampler->rss_peak_bytes, 0);
    memory_sample(sampler);
}

void memory_done(struct memory_sampler *sampler) {
    if (sampler->fd >= 0) close(sampler->fd);
    sampler->fd = -1;
}

/* The second of the numbers in `text`; 0 without one. */
static uint64_t second_number(const char *text) {
    uint64_t value = 0;
    while (*text && *text != ' ') text++;
    while (*text == ' ') text++;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

void memory_sample(struct memory_sampler *sampler) {
    char text[128];
    ssize_t size = sampler->fd < 0 ? 0 : pread(sampler->fd, text, sizeof text - 1, 0);
    if (size <= 0) return;
    text[size] = 0;
    uint64_t rss = second_number(text) * sampler->page_bytes;
    atomic_store_explicit(&sampler->rss_bytes, rss, memory_order_relaxed);
    if (rss > atomic_load_explicit(&sampler->rss_peak_bytes, memory_order_relaxed))
        atomic_store_explicit(&sampler->rss_peak_bytes, rss, memory_order_relaxed);
}
