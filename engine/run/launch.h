/* Starting what stands beside the job: the engine's process, and the environment in which the job's
 * ranks find us.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_LAUNCH_H
#define INDUCTOP_RUN_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/base/err.h"

struct launch_engine {
    char *const *argv; /* "inductop", "engine-process", ...; NULL behind the last */
    const int *keep_fds;
    size_t keep_count; /* stay open in the engine, under the same numbers */
    bool keep_stdout;  /* for `--json -`; else 0 and 1 are /dev/null. 2 is always kept */
};

/* Starts this program again as the engine: a session of its own, every other descriptor closed,
 * default dispositions, no signal blocked. Returns its pid once it runs, a child of ours; or -1
 * with err. For keeper_job.start_engine. The engine can watch the job by a pidfd; how it ended
 * stands in SESSION/exit a moment later, or never, if the front was killed. No thread may run yet.
 */
pid_t launch_engine(const struct launch_engine *what, struct err *err);

/* The environment for a job: ours, with SUPPORT/site first on PYTHONPATH and INDUCTOP_SESSION. The
 * array and its new strings are one block that the caller owns: free(). */
char **launch_environment(const char *support_dir, const char *session_dir);

/* Finds lib/inductop beside this program, or beside its folder: DIR/lib/inductop, else
 * DIR/../lib/inductop. `ret`: absolute path, owned by the caller. Fails also when the path cannot
 * stand on PYTHONPATH, as it has a colon in it. */
int launch_support_dir(char **ret, struct err *err);

#endif
