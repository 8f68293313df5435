/* Small questions about text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_STR_H
#define INDUCTOP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool has_prefix(const char *text, const char *prefix);
bool has_suffix(const char *text, const char *suffix);

/* The name nearest to `text` among `count` names by edit distance, or NULL when none is near enough to be meant. */
const char *str_nearest(const char *text, const char *const *names, size_t count);

/* Whole text as a number; false when it is none, or out of range. */
bool str_to_u64(const char *text, uint64_t *ret_value);

/* 32-bit FNV-1a. */
uint32_t str_hash(const char *bytes, size_t size);

#endif
