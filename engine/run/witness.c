/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/run/descriptors.h"
#include "engine/base/banned.h"

enum { ANSWER_MS = 200, WATCH_MS = 50 };

enum request { REQUEST_SAW, REQUEST_WATCH, REQUEST_REST };

struct question {
    uint32_t number; /* the answer repeats it: one that comes too late is not taken for the next */
    uint8_t request, signal;
};

struct answer {
    uint32_t number;
    bool saw;
};

struct post {
    int socket, job_fd;
    pid_t front, job;
};

char process_state(pid_t pid) {
    char path[40], stat[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 'X';
    ssize_t size = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (size <= 0) return 'X';
    stat[size] = 0;
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] ? name_end[2] : 'X';
}

/* ---- the witness's side ---- */

static bool is_stopped(pid_t pid) {
    char state = process_state(pid);
    return state == 'T' || state == 't';
}

static bool take_pending(int signal) {
    sigset_t one;
    sigemptyset(&one);
    if (sigaddset(&one, signal)) return false;
    return sigtimedwait(&one, NULL, &(struct timespec){0, 0}) == signal;
}

/* Sends again and again: the first one may come before the front has stopped. */
static void continue_front_with_job(const struct post *post) {
    struct pollfd polled = {post->socket, POLLIN, 0};
    while (poll(&polled, 1, WATCH_MS) <= 0)
        if (!is_stopped(post->job)) kill(post->front, SIGCONT);
}

static void answer_questions(const struct post *post) {
    for (;;) {
        struct question question;
        ssize_t size = recv(post->socket, &question, sizeof question, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size != sizeof question) return;
        if (question.request == REQUEST_WATCH) continue_front_with_job(post);
        if (question.request != REQUEST_SAW) continue;
        struct answer answer = {question.number, take_pending(question.signal)};
        send(post->socket, &answer, sizeof answer, MSG_NOSIGNAL);
    }
}

static _Noreturn void bear_witness(const struct post *post) {
    prctl(PR_SET_PDEATHSIG,
          SIGCONT); /* a stopped witness, too, has to see that the front is gone */
    if (getppid() != post->front) _exit(0);
    prctl(PR_SET_NAME, "inductop-wit");
    descriptors_close_others(0, (int[]){post->socket, post->job_fd}, 2);
    (void)!chdir("/"); /* keeps no file system busy */
    answer_questions(post);
    if (post->job_fd >= 0 && is_stopped(post->job))
        syscall(SYS_pidfd_send_signal, post->job_fd, SIGCONT, NULL, 0);
    _exit(0);
}

/* ---- the front's side ---- */

int witness_start(struct witness *witness, pid_t job, int job_fd) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return -1;
    struct post post = {ends[1], job_fd, getpid(), job};
    pid_t pid = fork();
    if (pid == 0) bear_witness(&post);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    witness->pid = pid;
    witness->socket = ends[0];
    return 0;
}

static bool tell(struct witness *witness, enum request request, int signal) {
    if (witness->socket < 0) return false;
    struct question question = {++witness->asked, (uint8_t)request, (uint8_t)signal};
    ssize_t size = send(witness->socket, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT);
    return size == sizeof question;
}

enum testimony witness_ask(struct witness *witness, int signal) {
    if (!tell(witness, REQUEST_SAW, signal)) return TESTIMONY_NONE;
    for (struct pollfd polled = {witness->socket, POLLIN, 0}; poll(&polled, 1, ANSWER_MS) > 0;) {
        struct answer answer;
        ssize_t size = recv(witness->socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (size != sizeof answer) break;
        if (answer.number == witness->asked) return answer.saw ? TESTIMONY_SAW : TESTIMONY_SAW_NOT;
    }
    return TESTIMONY_NONE;
}

void witness_watch(struct witness *witness) {
    tell(witness, REQUEST_WATCH, 0);
}

void witness_rest(struct witness *witness) {
    tell(witness, REQUEST_REST, 0);
}

void witness_ended(struct witness *witness) {
    if (witness->socket >= 0) close(witness->socket);
    witness->socket = -1;
    witness->pid = 0;
}

void witness_dismiss(struct witness *witness) {
    if (witness->pid > 0) {
        kill(witness->pid, SIGKILL);
        waitpid(witness->pid, NULL, 0);
    }
    witness_ended(witness);
}
