/* Small files of ours, read bounded and replaced as a whole. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_FILE_H
#define INDUCTOP_SETUP_FILE_H

#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"

/* Adds the whole of a regular file to `buf`; refuses one of more than `max` bytes. Never waits (for
 * a pipe, say). */
int file_read(const char *path, size_t max, struct buf *buf, struct err *err);

/* Where a file of this name of the user's belongs: $XDG_CONFIG_HOME/inductop/NAME or
 * ~/.config/inductop/NAME; NULL: there is no such place. The caller frees it. */
char *file_of_user(const char *name);

/* Makes `path` hold these bytes, or leaves it as it was: a file beside it is written, synced and
 * renamed. Folders above it are made. A file that was there keeps its mode, a new one is 0666 less
 * the umask; a symbolic link stays and its target is replaced. */
int file_replace(const char *path, const char *bytes, size_t size, struct err *err);

/* Makes the folders above `path` as far as they are missing, each with `mode` less the umask. */
int file_make_folders(const char *path, unsigned mode, struct err *err);

#endif
