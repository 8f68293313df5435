/* What the host has left for this process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_HOST_H
#define INDUCTOP_BASE_HOST_H

/* Bytes of memory that can still be had; NaN: not known. Limits of the control groups that this process is in, of both versions, count
 * when they are nearer than the machine's. Reads /proc and /sys/fs/cgroup; any thread. */
double host_memory_left(void);

/* From now on /proc and /sys are looked for in `folder`, which is borrowed; NULL: the real ones. For tests. */
void host_set_root(const char *folder);

#endif
