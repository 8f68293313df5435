/* Descriptors around a fork: what our processes inherited from the shell must not live on in them,
 * or the readers of a pipe miss its end and its writers their SIGPIPE (`yes | JOB` would hang until
 * we end). libc only, nothing is allocated: for use between fork and exec too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_DESCRIPTORS_H
#define INDUCTOP_RUN_DESCRIPTORS_H

#include <stddef.h>

/* Puts /dev/null, close-on-exec, where 0, 1 or 2 is closed, so that nothing we open lands there and
 * the job still finds it closed. Call it before anything else is opened. */
void descriptors_fill_standard(void);

/* Puts /dev/null, close-on-exec, in the place of every descriptor from `first` to `last`. */
void descriptors_to_null(int first, int last);

/* Closes every descriptor from `first` up but those in `keep`; -1 in `keep` is skipped. */
void descriptors_close_others(int first, const int *keep, size_t keep_count);

/* Whether exec closes it. Nothing happens to -1 or a closed one. */
void descriptor_close_on_exec(int fd);
void descriptor_survive_exec(int fd);

#endif
