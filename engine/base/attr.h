/* Attributes and scope-bound clean-up.
 *
 * A local that owns something carries CLEANUP(function); handing it out uses TAKE(local), which leaves NULL behind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_ATTR_H
#define INDUCTOP_BASE_ATTR_H

#include <stddef.h>

#define ATTR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define ATTR_UNUSED __attribute__((unused))
#define ATTR_WARN_UNUSED __attribute__((warn_unused_result))
#define ATTR_EXPORT __attribute__((visibility("default")))

/* The function gets a pointer to the variable when it goes out of scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* Value of a pointer variable, which is NULL afterwards. */
#define TAKE(variable)                     \
    __extension__({                        \
        __typeof__(variable) *p_ = &(variable); \
        __typeof__(variable) v_ = *p_;     \
        *p_ = NULL;                        \
        v_;                                \
    })

/* Value of a descriptor variable, which is -1 afterwards. */
#define TAKE_FD(variable)       \
    __extension__({             \
        int *p_ = &(variable);  \
        int v_ = *p_;           \
        *p_ = -1;               \
        v_;                     \
    })

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Clean-up helpers for CLEANUP(): forgiving, NULL and -1 are fine. */
void cleanup_free(void *pointer_to_pointer);
void cleanup_close(int *fd);

#endif
