/* Lines of the front to the user, on the stderr that it shares with the job. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_SAY_H
#define INDUCTOP_RUN_SAY_H

#include <stdbool.h>

#include "engine/base/attr.h"

/* Writes one line, "inductop: " in front and a newline behind, 1 KiB at most. Never waits longer
 * than 100 ms: a line that nobody reads is dropped. Changes no flag of descriptor 2, which belongs
 * to others too. */
void keeper_say(const char *format, ...) ATTR_PRINTF(1, 2);

/* Somebody reads stderr, or nobody ever will (its reader is gone): who writes to it does not wait.
 */
bool is_stderr_writable(void);

#endif
