/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/pty.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/descriptors.h"
#include "engine/run/pty_inside.h"
#include "engine/run/say.h"
#include "engine/base/banned.h"

/* An exec takes a millisecond; a front that waits longer than this is told that all is well. */
enum { EXEC_MS = 1000, BACKLOG = 8, SAID_MAX = 4096 };

/* The ends of the front. */
struct ends {
    int link, said;
};

bool keeper_has_terminal(void) {
    if (!isatty(STDOUT_FILENO)) return false;
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    bool yes = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return yes;
}

/* ---- what is opened beforehand; each returns 0, or -1 with errno ---- */

/* It begins as the first of the terminals that it stands for. */
static int open_terminal(struct pty *pty) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct termios modes;
    int first = -1;
    for (int fd = 2; fd >= 0; fd--)
        if ((pty->was_terminal[fd] = isatty(fd))) first = fd;
    pty->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (pty->master < 0 || grantpt(pty->master) || unlockpt(pty->master)) return -1;
    pty->slave = ioctl(pty->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (pty->slave < 0) return -1;
    if (first >= 0 && !tcgetattr(first, &modes)) {
        tcsetattr(pty->slave, TCSANOW, &modes);
        ioctl(first, TIOCGWINSZ, &size);
    }
    return ioctl(pty->master, TIOCSWINSZ, &size);
}

/* Through /proc, as the path of a session may be too long for a socket. */
static int open_listener(struct pty *pty) {
    int session = pty->job->session_fd;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TERMINAL_SOCKET,
             session);
    unlinkat(session, TERMINAL_SOCKET, 0);
    pty->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (pty->listener < 0 || bind(pty->listener, (const struct sockaddr *)&address, sizeof address))
        return -1;
    return listen(pty->listener, BACKLOG);
}

static int open_link(struct pty *pty, struct ends *ends) {
    int link[2], said[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link)) return -1;
    ends->link = link[0];
    pty->link = link[1];
    if (pipe2(said, O_CLOEXEC)) return -1;
    ends->said = said[0];
    pty->said = said[1];
    return 0;
}

static int open_state(struct pty *pty) {
    void *memory =
        mmap(NULL, sizeof *pty->state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -1;
    pty->state = memory;
    return 0;
}

static int open_all(struct pty *pty, struct ends *ends, int output_fd, struct err *err) {
    if (open_terminal(pty))
        return err_set_errno(err, errno, "could not make a terminal for the job");
    if (exit_file_reserve(&pty->exit, pty->job->session_fd) || open_listener(pty) ||
        terminal_output_open(&pty->output, output_fd, pty->job->session_fd))
        return err_set_errno(err, errno, "could not set up the job's terminal in its session");
    if (open_link(pty, ends) || open_state(pty))
        return err_set_errno(err, errno, "could not set up the job's terminal");
    return 0;
}

/* What is ours is not the job's. */
static void hide_from_job(const struct keeper_pty *what) {
    descriptor_close_on_exec(what->job->session_fd);
    descriptor_close_on_exec(what->output_fd);
    for (size_t i = 0; i < what->job->keep_count; i++)
        descriptor_close_on_exec(what->job->keep_fds[i]);
}

/* ---- closing in the front ---- */

static void close_all(struct pty *pty) {
    int *const fds[] = {&pty->master, &pty->slave, &pty->listener,
                        &pty->link,   &pty->said,  &pty->exit.fd};
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) cleanup_close(fds[i]);
    if (pty->output.takes_turns) terminal_output_close(&pty->output); /* else it is the caller's */
    if (pty->state) munmap(pty->state, sizeof *pty->state);
    pty->state = NULL;
}

static void give_up(struct pty *pty, struct ends *ends) {
    static const char *const files[] = {TERMINAL_SOCKET, TERMINAL_OUTPUT, "exit.tmp"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) unlinkat(pty->job->session_fd, files[i], 0);
    cleanup_close(&ends->link);
    cleanup_close(&ends->said);
    close_all(pty);
    shell_signals_give_back(&pty->given);
}

static void close_inherited(const struct keeper_job *job, int link) {
    int keep[2 + KEEPER_KEEP] = {link, job->session_fd};
    assert(job->keep_count <= KEEPER_KEEP);
    if (job->keep_count) memcpy(keep + 2, job->keep_fds, job->keep_count * sizeof *keep);
    for (int fd = 0; fd <= 1; fd++)
        if (!isatty(fd)) descriptors_to_null(fd, fd);
    descriptors_close_others(3, keep, 2 + job->keep_count);
}

/* ---- start ---- */

/* What start_engine() has said in the keeper, as if it had been called here. */
static void repeat_what_was_said(int said) {
    char text[SAID_MAX], *rest = text, *line;
    if (poll(&(struct pollfd){said, POLLIN, 0}, 1, 0) <= 0) return;
    ssize_t size = read(said, text, sizeof text - 1);
    text[size > 0 ? size : 0] = 0;
    while ((line = strsep(&rest, "\n")))
        if (*line) keeper_say("%s", strncmp(line, "inductop: ", 10) ? line : line + 10);
}

/* Returns 0 once the job was let go and, unless that takes long, its command runs or could not be
 * run; else errno. */
static int wait_until_started(struct keeper_link *link, int said) {
    struct link_note note;
    ssize_t size;
    do size = recv(link->fd, &note, sizeof note, MSG_PEEK);
    while (size < 0 && errno == EINTR);
    if (size != sizeof note) return ECHILD;
    if (note.what == NEWS_FAILED) return note.value;
    repeat_what_was_said(said);
    struct pollfd polled = {link->fd, POLLIN, 0};
    while (!link->exec_known && !link->over && poll(&polled, 1, EXEC_MS) > 0)
        keeper_link_read(link);
    while (link->exec_error && !link->over && poll(&polled, 1, EXEC_MS) > 0) keeper_link_read(link);
    return 0;
}

static int start(struct pty *pty, struct ends *ends, struct keeper_link *link) {
    link->keeper = fork();
    if (link->keeper < 0) return errno;
    if (link->keeper == 0) pty_keeper_main(pty);
    close_all(pty);
    int number = wait_until_started(link, ends->said);
    if (number) waitpid(link->keeper, NULL, 0);
    return number;
}

int keeper_pty_start(const struct keeper_pty *what, struct keeper_link *ret, struct err *err) {
    struct pty pty = {.job = what->job,
                      .master = -1,
                      .slave = -1,
                      .listener = -1,
                      .link = -1,
                      .said = -1,
                      .news = -1,
                      .poke = -1,
                      .alive = -1,
                      .go = -1,
                      .go_read = -1,
                      .signals = -1,
                      .job_fd = -1,
                      .exit = EXIT_FILE_INIT,
                      .output = TERMINAL_OUTPUT_INIT};
    struct ends ends = {-1, -1};
    keeper_begin();
    shell_signals_take(&pty.given);
    hide_from_job(what);
    int rc = open_all(&pty, &ends, what->output_fd, err);
    struct keeper_link link = {.fd = ends.link, .command = what->job->argv[0]};
    int number = rc ? 0 : start(&pty, &ends, &link);
    if (number) rc = err_set_errno(err, number, "could not start the job on a terminal of its own");
    if (rc) {
        give_up(&pty, &ends);
        return rc;
    }
    close_inherited(what->job, link.fd);
    *ret = link;
    return 0;
}
