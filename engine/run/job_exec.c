/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/job_exec.h"

#include <string.h>
#include <unistd.h>

#include "engine/run/keeper.h"
#include "engine/run/say.h"
#include "engine/base/banned.h"

int job_exec(char *const *argv, char *const *envp, int report_fd) {
    execvpe(argv[0], argv, envp);
    if (errno == E2BIG && envp != environ) {
        int note = JOB_EXEC_BARE;
        if (write(report_fd, &note, sizeof note) < 0) {
        } /* nobody to tell */
        execvpe(argv[0], argv, environ);
    }
    return errno;
}

int job_exec_code(int number) {
    return number == ENOENT ? KEEPER_NOT_FOUND : KEEPER_CANNOT_RUN;
}

void job_exec_say(const char *name, int number) {
    if (number != ENOENT)
        keeper_say("could not run '%s': %s", name, strerror(number));
    else if (strchr(name, '/') && !access(name, F_OK))
        keeper_say("could not run '%s': the interpreter named in its first line was not found",
                   name);
    else
        keeper_say("command '%s' not found", name);
}
