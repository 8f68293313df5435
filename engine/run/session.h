/* The session directory of a job: BASE/NAME, private to the user, where the parts of inductop find each other.
 *
 * BASE is /tmp/inductop-UID (INDUCTOP_TMPDIR/inductop-UID when that is set), as tmux does: it outlives a logout. Both are 0700,
 * owned by us and no links, or they are not used. Names are short because socket paths are limited to 107 bytes.
 * Files: sock, page, start.json, job (its pid), lock, exit, tape.jsonl, and with a terminal tty, output, output.1. Ended sessions keep `exit` and their tape, the last 20.
 * No threads of its own; any thread may use it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_SESSION_H
#define INDUCTOP_RUN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/base/err.h"

enum { SESSION_KEPT = 20 };

struct session {
    char *name, *dir; /* owned */
    int fd;           /* of the directory, close-on-exec */
};

/* Makes a new session. `name` NULL: made from `command` (the job's words) and our pid. A name that is taken by a job that still
 * runs is an error. Old ended sessions beyond SESSION_KEPT are removed, and what is useless in the others. */
int session_create(struct session *ret, const char *name, char *const *command, struct err *err);

/* Opens one that is there. `name` NULL: the newest that has not ended. */
int session_open(struct session *ret, const char *name, struct err *err);

void session_done(struct session *session);

/* Writes a file of the session atomically, 0600. */
int session_write(const struct session *session, const char *file, const char *bytes, size_t size, struct err *err);

/* Whole file as text, owned by the caller, or NULL (with err). 1 MiB at most. */
char *session_read(const struct session *session, const char *file, struct err *err);

/* Takes the engine's lock: descriptor >= 0 that holds it until closed, -1 when another engine has it or on an error. */
int session_lock(const struct session *session, struct err *err);

/* An engine holds the lock just now. */
bool session_has_engine(const struct session *session);

/* The job has ended: there is an exit file, or nobody is left who could write one. */
bool session_is_ended(const struct session *session);

/* Absolute path of a file in the session; the caller owns it. */
char *session_path(const struct session *session, const char *file);

/* Start time of a process in clock ticks since boot, 0 when it is gone: tells a pid from its successor. */
unsigned long long process_start(pid_t pid);

#endif
