/* Memory for our own processes: never NULL. Out of memory ends the program, after the hook has put the terminal back.
 * The rank side does not use this: it allocates at its start only and counts what it could not get.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_MEM_H
#define INDUCTOP_BASE_MEM_H

#include <stddef.h>

#include "engine/base/attr.h"

void *mem_new(size_t size);                                /* zeroed */
void *mem_array(size_t count, size_t size);                /* zeroed */
void *mem_resize(void *memory, size_t count, size_t size); /* new room is not zeroed */
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t size);
char *mem_printf(const char *format, ...) ATTR_PRINTF(1, 2);

/* Called before the program ends for want of memory. */
void mem_set_hook(void (*hook)(void));

#endif
