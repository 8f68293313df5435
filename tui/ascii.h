/* What stands in for a character on a terminal that shows ASCII only. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_ASCII_H
#define INDUCTOP_TUI_ASCII_H

#include <stdint.h>

/* One printable ASCII character of the same use: '-' for a line, '#' for a block, 'e' for e with an
 * accent; '?' when there is none. */
char ascii_for(uint32_t point);

#endif
