/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/shell_signals.h"

#include <stddef.h>

#include "engine/base/banned.h"

void shell_signals_take(struct shell_signals *ret) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &ret->mask);
    sigemptyset(&ret->ignored);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction was;
        if (sigaction(number, NULL, &was) || was.sa_handler != SIG_IGN) continue;
        sigaddset(&ret->ignored, number);
        signal(number, SIG_DFL);
    }
}

void shell_signals_give_back(const struct shell_signals *given) {
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&given->ignored, number) == 1) signal(number, SIG_IGN);
    sigprocmask(SIG_SETMASK, &given->mask, NULL);
}
