/* The tables of the wire as JSON text, so that the agent's tests can compare names without reading
 * C.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_TABLES_H
#define INDUCTOP_RANK_TABLES_H

#include <stddef.h>

/* Writes the text, with its NUL, and returns its length; 0: it does not fit into `room`. No state.
 */
size_t tables_print(char *ret_text, size_t room);

#endif
