/* What stays on the terminal when a screen has gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FAREWELL_H
#define INDUCTOP_TUI_FAREWELL_H

#include "engine/feed.h"

/* The job in figures so far, as without a screen; on stderr. */
void farewell_summary(const struct feed *feed);

/* The job goes on: how to come back. */
void farewell_attach(const char *name);

#endif
