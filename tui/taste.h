/* What a person likes on every screen: kept from one run to the next in the user's file `screen`
 * (engine/setup/file.h), one "key value" a line; lines that are not known stay.
 *
 *     theme                the name of a theme
 *     columns.PANEL        names of the columns that its table shows, with blanks between
 *
 * One thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TASTE_H
#define INDUCTOP_TUI_TASTE_H

#include "engine/base/err.h"

/* The value, owned by the caller; NULL: there is none. */
char *taste_get(const char *key);

/* `value` "" forgets it. */
int taste_put(const char *key, const char *value, struct err *err);

#endif
