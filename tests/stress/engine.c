/* The engine of the stress test: the product's agreement behind a small socket server. It dies and
 * stops at every point of an agreement, and sometimes leaves a ghost: a copy that was replaced
 * without knowing it and goes on deciding.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/wire/frame.h"
#include "engine/wire/record.h"
#include "tests/stress/stress.h"
#include "engine/base/banned.h"

enum { PEERS_MAX = 2 * PAGE_SLOTS, VOTE_MS = 150 };

struct peer {
    int fd;
    bool is_known;
    struct stress_hello hello;
    uint8_t bytes[16 << 10];
    size_t size;
};

static int listener, log_fd;
static struct peer *peer[PEERS_MAX];
static int peers;
static struct agreement agreement;
static uint64_t asked_ns;

static void log_result(void) {
    if (agreement.id)
        dprintf(log_fd, "P %u %d %lu %lu\n", agreement.id, (int)agreement.result, agreement.step,
                clock_now_ns() - asked_ns);
}

static void count_result(void) {
    struct sim *sim = stress.sim;
    enum agreement_result result = agreement.result;
    bool opened = result == AGREEMENT_DONE || result == AGREEMENT_JOINED ||
                  result == AGREEMENT_STALE || result == AGREEMENT_RANK_ABORTED;
    atomic_fetch_add(&sim->result[result], 1);
    if (agreement.id) atomic_fetch_add(&sim->proposals, 1);
    if (opened) atomic_fetch_add(&sim->opened, 1);
    log_result();
}

/* ---- peers */

static void close_peer(int index) {
    struct peer *gone = peer[index];
    peer[index] = peer[--peers];
    close(gone->fd);
    if (gone->is_known) agreement_lost(&agreement, gone->hello.slot, gone->hello.gen);
    free(gone);
}

static bool send_to(void *ctx, uint32_t slot, uint8_t type, const void *bytes, size_t size) {
    (void)ctx;
    uint8_t frame[FRAME_HEADER_SIZE + 256];
    frame_header(frame, type, (uint32_t)size);
    memcpy(frame + FRAME_HEADER_SIZE, bytes, size);
    for (int i = 0; i < peers; i++)
        if (peer[i]->is_known && peer[i]->hello.slot == slot)
            return send(peer[i]->fd, frame, FRAME_HEADER_SIZE + size, MSG_NOSIGNAL | MSG_DONTWAIT) >
                   0;
    return false;
}

static void handle(struct peer *from, const struct frame *frame) {
    struct vote_record vote;
    if (frame->type == FRAME_HELLO && frame->size == sizeof from->hello) {
        memcpy(&from->hello, frame->payload, sizeof from->hello);
        from->is_known = from->hello.nonce == stress.page->nonce;
    } else if (frame->type == FRAME_VOTE && from->is_known) {
        memcpy(&vote, frame->payload, sizeof vote);
        agreement_vote(&agreement, from->hello.slot, from->hello.gen, vote.id, vote.ready,
                       "by chance");
    }
}

/* False: this connection is over. */
static bool read_peer(struct peer *from) {
    ssize_t got =
        recv(from->fd, from->bytes + from->size, sizeof from->bytes - from->size, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    from->size += (size_t)got;
    struct frame frame;
    size_t at = 0;
    for (long size; (size = frame_parse(from->bytes + at, from->size - at, &frame)) > 0;
         at += (size_t)size)
        handle(from, &frame);
    from->size -= at;
    memmove(from->bytes, from->bytes + at, from->size);
    return true;
}

static void accept_peer(void) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (peers == PEERS_MAX) {
        close(fd);
        return;
    }
    peer[peers] = calloc(1, sizeof *peer[0]);
    peer[peers++]->fd = fd;
}

static void serve(int ms) {
    struct pollfd fds[PEERS_MAX + 1];
    int count = peers;
    for (int i = 0; i < count; i++) fds[i] = (struct pollfd){.fd = peer[i]->fd, .events = POLLIN};
    fds[count] = (struct pollfd){.fd = listener, .events = POLLIN};
    if (poll(fds, (nfds_t)count + 1, ms) <= 0) return;
    for (int i = count - 1; i >= 0; i--)
        if (fds[i].revents && !read_peer(peer[i])) close_peer(i);
    if (fds[count].revents) accept_peer();
}

/* ---- trouble */

static void become_ghost(void) {
    atomic_fetch_add(&stress.sim->ghosts, 1);
    atomic_fetch_add(&stress.sim->ghosts_made, 1);
    if (fork() != 0)
        raise(SIGKILL); /* the next engine finds the sockets closed and the lock free */
    peers = 0;          /* not freed: we are called from within one */
    for (int fd = 3; fd < 256; fd++) /* the sockets and the lock */
        if (fd != log_fd) close(fd);
    chance_init((uint64_t)getpid());
    nap_us(chance_unit() * 200000);
}

static void trouble(const char *where) {
    if (stress.calm) return;
    bool is_late = strcmp(where, "asked") != 0;
    if (chance(0.001)) nap_us(chance_unit() * 70000);
    if (is_late && chance(strcmp(where, "voted") == 0 ? 0.04 : 0.01)) {
        become_ghost();
        return;
    }
    if (chance(is_late ? 0.01 : 0.0006)) {
        atomic_fetch_add(&stress.sim->killed_at_points, 1);
        raise(SIGKILL);
    }
}

#ifdef PAGE_RULES_REMOVABLE
static void pause_by_chance(void) {
    if (!stress.calm && chance(0.05)) nap_us(chance_unit() * 5000);
}
#endif

static bool is_ghost(void) {
    return fcntl(listener, F_GETFD) < 0;
}

/* ---- proposing */

static void open_socket(void) {
    char lock_path[160];
    snprintf(lock_path, sizeof lock_path, "%s/lock", stress.dir);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) _exit(4);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", stress.socket_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unlink(stress.socket_path);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, PEERS_MAX) < 0)
        _exit(5);
}

static void propose(uint32_t group) {
    struct agreement_member members[PEERS_MAX];
    size_t count = 0;
    for (int i = 0; i < peers; i++)
        if (peer[i]->is_known && peer[i]->hello.group == group)
            members[count++] =
                (struct agreement_member){.slot = peer[i]->hello.slot, .gen = peer[i]->hello.gen};
    asked_ns = clock_now_ns();
    const struct agreement_question question = {
        .page = stress.page,
        .group = group,
        .members = members,
        .count = count,
        .payload = "{}",
        .payload_size = 2,
        .deadline_ns = asked_ns + VOTE_MS * UINT64_C(1000000),
        .ahead = 1 + (unsigned)(chance_bits() % 4),
        .send = send_to,
        .point = trouble,
    };
    agreement_begin(&agreement, &question);
    while (agreement_turn(&agreement, clock_now_ns()) == AGREEMENT_VOTING &&
           !atomic_load(&stress.sim->stop))
        serve(1);
    count_result();
    if (is_ghost()) {
        atomic_fetch_sub(&stress.sim->ghosts, 1);
        _exit(0);
    }
}

void run_engine(void) {
    log_fd = open_log("engine");
    open_socket();
#ifdef PAGE_RULES_REMOVABLE
    page_pause = pause_by_chance;
#endif
    int group;
    while ((group = page_find_group(stress.page, STRESS_KEY)) < 0) nap_us(1000);
    page_settle_open(&stress.page->group[group]);
    while (!atomic_load(&stress.sim->stop)) {
        propose((uint32_t)group);
        serve(agreement.result == AGREEMENT_NOT_ALL ? 1 : 0);
        if (chance(0.3)) nap_us(chance_unit() * 1000);
    }
    _exit(0);
}
