/* The engine as a process: what `inductop engine-process` runs, and how one is started.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_ENGINE_PROCESS_H
#define INDUCTOP_CLI_ENGINE_PROCESS_H

#include "engine/base/err.h"
#include "engine/run/session.h"

/* `inductop engine-process SESSION JOB JSON RECORD LINES`: serves the session until its job ends. JOB is a pid, the others
 * descriptors that were inherited, -1 for none. Returns an exit code. */
int engine_process_main(int argc, char **argv);

/* Starts one that takes over from an engine that is gone: in a session of its own, telling nobody but viewers and the tape. */
int engine_process_start(const struct session *session, struct err *err);

#endif
