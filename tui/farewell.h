/* What stays on the terminal when a screen has gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FAREWELL_H
#define INDUCTOP_TUI_FAREWELL_H

#include "engine/feed.h"
#include "tui/text.h"

/* The job in figures so far, as without a screen; on stderr. */
void farewell_summary(const struct feed *feed);

/* Feeds the end of what the job's output was saved as: in the file that was asked for, or, `path`
 * NULL, with the session. False: there is none that can be read, nothing was fed. */
bool farewell_saved(const struct session *session, const char *path, struct text *ret);

/* The job goes on: how to come back. */
void farewell_attach(const char *name);

#endif
