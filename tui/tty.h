/* The terminal as a device: opened anew, raw, written without ever waiting, and put back whatever
 * happens.
 *
 * The descriptor is our own (never an inherited one, whose flags the job would share) and
 * non-blocking: a terminal that does not read holds nobody up. What cannot be written yet is kept.
 * The way back, a string and the saved modes, is prepared when the terminal is entered, so that
 * tty_restore() needs no memory and no library: it may be called from a signal handler, at exit, or
 * when memory is out. In a process that is not in the foreground nothing is touched. Belongs to who
 * made it; one terminal at a time is entered. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_TTY_H
#define INDUCTOP_TUI_TTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"

enum { TTY_LEAVE_MAX = 512, TTY_LEAVE_MS = 300 };

struct tty;

/* `path`: NULL is /dev/tty. */
int tty_open(const char *path, struct tty **ret_tty, struct err *err);

/* Leaves and closes. Accepts NULL. */
struct tty *tty_close(struct tty *tty);

int tty_fd(const struct tty *tty);

/* Columns and rows, 80 by 24 when the terminal does not say. */
void tty_size(const struct tty *tty, int *ret_width, int *ret_height);

/* Raw mode, and `enter` written first; `leave` (at most TTY_LEAVE_MAX bytes) brings it back. Both
 * are copied. */
int tty_enter(struct tty *tty, const char *enter, const char *leave, struct err *err);

/* Throws away what is unwritten, writes `leave` for at most TTY_LEAVE_MS, restores the modes. Can
 * be entered again. */
void tty_leave(struct tty *tty);

/* Adds bytes to be written; tty_flush() writes what the terminal takes now. */
void tty_add(struct tty *tty, const char *bytes, size_t size);

/* Fails when the terminal is gone. */
int tty_flush(struct tty *tty, struct err *err);

size_t tty_waiting(const struct tty *tty);   /* bytes not written yet */
uint64_t tty_written(const struct tty *tty); /* bytes written so far */

/* Reads what is there: bytes, 0 when there are none now, negative when the terminal is gone. */
int tty_read(struct tty *tty, char *ret_bytes, size_t size, struct err *err);

/* Puts the entered terminal back, if there is one. Safe in signal handlers. */
void tty_restore(void);

/* From now on tty_restore() is called at exit, for want of memory, and on SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL and SIGABRT, which then do what they did before. Once in a process. */
void tty_guard(void);

#endif
