/* The rank core, two more ranks and an engine as threads of one process, for the thread sanitizer:
 * every path that two threads share is walked while the engine drops connections and waits too
 * long. No Python. Exit 1 when ranks switched at different steps, or records were lost without
 * being counted.
 *
 *     threads [AGREEMENTS]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/rank/core.h"
#include "engine/rank/sender.h"
#include "engine/run/agreement.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

enum { RANKS = 3, IDS_MAX = 4096, PEERS_MAX = 16 };
#define KEY "threads/0"

static char dir[64] = "/tmp/inductop-threads-XXXXXX", socket_path[96], page_path[96];
static struct page *page;
static _Atomic bool stop;
static _Atomic uint64_t switched_at[RANKS][IDS_MAX]; /* by id; 0: not */
static _Atomic uint64_t done[RANKS];

struct hello {
    uint32_t group, slot, gen;
};

static void nap_us(long us) {
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Nobody runs far ahead, as with collectives. */
static void keep_together(int rank, uint64_t count) {
    atomic_store(&done[rank], count);
    for (int i = 0; i < RANKS; i++)
        while (count > atomic_load(&done[i]) + 8 && !atomic_load(&stop)) nap_us(50);
}

static void note_switch(int rank, uint32_t id, uint64_t count, uint32_t index) {
    if (index == 0 && id < IDS_MAX) atomic_store(&switched_at[rank][id], count);
}

static uint64_t next_entry(uint32_t id, uint64_t count, uint32_t index) {
    return id % 5 == 0 && index < 2 ? count + 3 : 0;
}

/* ---- ranks 1 and up: a gate and a sender each */

struct rank {
    int number;
    pthread_t thread;
    struct gate gate;
    struct sender sender;
    struct step_ring steps;
    struct frame_ring frames;
    struct states states;
    struct memory_sampler memory;
};
static struct rank ranks[RANKS];

static bool prepare(void *ctx, uint32_t id, const uint8_t *payload, size_t size,
                    char ret_reason[GATE_REASON_ROOM]) {
    (void)ctx, (void)payload, (void)size;
    if (id % 17) return true;
    snprintf(ret_reason, GATE_REASON_ROOM, "seventeen");
    return false;
}

static uint64_t apply(void *ctx, uint32_t id, uint64_t count, uint32_t index) {
    struct rank *r = ctx;
    note_switch(r->number, id, count, index);
    return next_entry(id, count, index);
}

static void kick(void *ctx) {
    struct rank *r = ctx;
    sender_kick(&r->sender);
}

static const struct gate_ops ops = {.prepare = prepare, .apply = apply, .kick = kick};

static void fill_beat(struct beat_record *ret_beat) {
    ret_beat->pid = 1;
}

static void *run_rank(void *arg) {
    struct rank *r = arg;
    gate_init(&r->gate, &ops, r, 0);
    if (gate_join(&r->gate, page, KEY, (uint32_t)r->number, RANKS, NULL) < 0) abort();
    memory_init(&r->memory);
    const struct hello hello = {r->gate.seat.group, r->gate.seat.slot, r->gate.seat.gen};
    const struct sender_sources from = {&r->steps, &r->frames, &r->states,
                                        &r->gate,  &r->memory, fill_beat};
    if (sender_start(&r->sender, &from, socket_path, &hello, sizeof hello)) abort();
    while (!atomic_load(&stop)) {
        nap_us(100);
        keep_together(r->number, gate_boundary(&r->gate));
    }
    sender_stop(&r->sender);
    gate_leave(&r->gate);
    memory_done(&r->memory);
    return NULL;
}

/* ---- rank 0: the core, with other threads that use it */

static bool core_prepare(uint32_t id, const uint8_t *payload, size_t size,
                         char ret_reason[GATE_REASON_ROOM]) {
    return prepare(NULL, id, payload, size, ret_reason);
}

static uint64_t core_apply(uint32_t id, uint64_t count, uint32_t index) {
    core_set_variant(id);
    core_state("variant", 0, "{\"kind\":\"variant\"}", 18);
    note_switch(0, id, count, index);
    return next_entry(id, count, index);
}

static uint64_t core_plan(uint64_t count) {
    return count + 1000000;
}

static void *produce(void *arg) {
    char text[4096];
    struct core_stats stats;
    memset(text, 'x', sizeof text);
    for (uint64_t i = (uintptr_t)arg; !atomic_load(&stop); i += 2) {
        core_event(text, i * 131 % sizeof text);
        core_state("unit", (int64_t)(i % 40), text, 1 + i * 17 % 3000);
        core_dirty(1u << i % 5);
        core_mark(1u << i % 4, i % 3 ? -1.0 : 100.0);
        core_fault();
        core_get_stats(&stats);
        nap_us(200);
    }
    return NULL;
}

/* ---- the engine */

struct peer {
    int fd;
    bool is_known;
    struct hello hello;
    uint8_t bytes[256 << 10];
    size_t size;
};

static struct peer *peers[PEERS_MAX];
static int peer_count, listener;
static struct agreement agreement;
static uint64_t steps_got;
static uint32_t chance = 12345;

static bool one_in(uint32_t n) {
    chance = chance * 1664525u + 1013904223u;
    return (chance >> 8) % n == 0;
}

static bool send_to(void *ctx, uint32_t slot, uint8_t type, const void *bytes, size_t size) {
    (void)ctx;
    uint8_t frame[FRAME_HEADER_SIZE + 64];
    frame_header(frame, type, (uint32_t)size);
    memcpy(frame + FRAME_HEADER_SIZE, bytes, size);
    for (int i = 0; i < peer_count; i++)
        if (peers[i]->is_known && peers[i]->hello.slot == slot)
            return send(peers[i]->fd, frame, FRAME_HEADER_SIZE + size,
                        MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    return false;
}

static void handle(struct peer *peer, const struct frame *frame) {
    struct vote_record vote;
    if (frame->type == FRAME_HELLO) {
        memcpy(&peer->hello, frame->payload, sizeof peer->hello);
        peer->is_known = true;
    } else if (frame->type == FRAME_VOTE) {
        memcpy(&vote, frame->payload, sizeof vote);
        agreement_vote(&agreement, peer->hello.slot, peer->hello.gen, vote.id, vote.ready,
                       "seventeen");
    } else if (frame->type == FRAME_STEPS) {
        steps_got += frame->size / sizeof(struct step_record);
    }
}

static bool read_peer(struct peer *peer) {
    ssize_t got =
        recv(peer->fd, peer->bytes + peer->size, sizeof peer->bytes - peer->size, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    peer->size += (size_t)got;
    size_t at = 0;
    struct frame frame;
    for (long size; (size = frame_parse(peer->bytes + at, peer->size - at, &frame)) > 0;
         at += (size_t)size)
        handle(peer, &frame);
    peer->size -= at;
    memmove(peer->bytes, peer->bytes + at, peer->size);
    return true;
}

static void close_peer(int index) {
    struct peer *gone = peers[index];
    peers[index] = peers[--peer_count];
    if (gone->is_known) agreement_lost(&agreement, gone->hello.slot, gone->hello.gen);
    close(gone->fd);
    free(gone);
}

static void serve(int ms) {
    struct pollfd fds[PEERS_MAX + 1];
    int count = peer_count;
    for (int i = 0; i < count; i++) fds[i] = (struct pollfd){.fd = peers[i]->fd, .events = POLLIN};
    fds[count] = (struct pollfd){.fd = listener, .events = POLLIN};
    if (poll(fds, (nfds_t)count + 1, ms) <= 0) return;
    for (int i = count - 1; i >= 0; i--)
        if (fds[i].revents && !read_peer(peers[i])) close_peer(i);
    if (fds[count].revents && peer_count < PEERS_MAX) {
        peers[peer_count] = calloc(1, sizeof *peers[0]);
        peers[peer_count++]->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
}

static void linger(const char *where) {
    if (strcmp(where, "deciding") == 0 && one_in(20)) nap_us(60000); /* longer than a rank waits */
}

static void propose(uint32_t group) {
    struct agreement_member members[PEERS_MAX];
    size_t count = 0;
    for (int i = 0; i < peer_count; i++)
        if (peers[i]->is_known)
            members[count++] =
                (struct agreement_member){.slot = peers[i]->hello.slot, .gen = peers[i]->hello.gen};
    const struct agreement_question question = {
        .page = page,
        .group = group,
        .members = members,
        .count = count,
        .payload = "{}",
        .payload_size = 2,
        .deadline_ns = clock_now_ns() + 2000000000u,
        .send = send_to,
        .point = linger,
    };
    agreement_begin(&agreement, &question);
    while (agreement_turn(&agreement, clock_now_ns()) == AGREEMENT_VOTING) serve(5);
    if (agreement.result == AGREEMENT_NOT_ALL) serve(20);
    if (peer_count && one_in(40)) close_peer(0);
}

static void *run_engine(void *arg) {
    uint64_t goal = *(uint64_t *)arg, agreed = 0, end = clock_now_ns() + 90 * UINT64_C(1000000000);
    int group;
    while ((group = page_find_group(page, KEY)) < 0) nap_us(1000);
    while (agreed < goal && clock_now_ns() < end) {
        propose((uint32_t)group);
        agreed += agreement.result == AGREEMENT_DONE;
    }
    atomic_store(&stop, true);
    return NULL;
}

/* ---- */

static void listen_here(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, PEERS_MAX) < 0)
        abort();
}

static void run_core(void) {
    struct core_place place;
    core_set_hooks(
        &(struct core_hooks){.prepare = core_prepare, .apply = core_apply, .plan = core_plan});
    core_plan_next(500);
    if (core_join(page_path, KEY, 0, RANKS, &place, NULL) < 0) abort();
    const struct hello hello = {place.group, place.slot, place.gen};
    if (core_start(socket_path, &hello, sizeof hello, NULL) < 0) abort();
    pthread_t producer[2];
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&producer[i], NULL, produce, (void *)i);
    while (!atomic_load(&stop)) {
        nap_us(100);
        keep_together(0, core_step(0, 0));
    }
    for (int i = 0; i < 2; i++) pthread_join(producer[i], NULL);
}

/* A rank may have ended before its step came; whoever switched did so at one step. */
static int count_splits(void) {
    int splits = 0;
    for (uint32_t id = 1; id < IDS_MAX; id++) {
        uint64_t step = 0;
        for (int rank = 0; rank < RANKS; rank++) {
            uint64_t at = atomic_load(&switched_at[rank][id]);
            if (at && step && at != step) splits++;
            if (at) step = at;
        }
        for (int rank = 0; rank < RANKS && step; rank++)
            if (!atomic_load(&switched_at[rank][id]) && atomic_load(&done[rank]) > step) splits++;
    }
    return splits;
}

int main(int argc, char **argv) {
    uint64_t goal = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    if (!mkdtemp(dir)) return 2;
    snprintf(socket_path, sizeof socket_path, "%s/sock", dir);
    snprintf(page_path, sizeof page_path, "%s/page", dir);
    if (page_open(page_path, &page, NULL) < 0) return 2;
    listen_here();
    for (int i = 1; i < RANKS; i++) {
        ranks[i].number = i;
        pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]);
    }
    pthread_t engine;
    pthread_create(&engine, NULL, run_engine, &goal);
    run_core();
    pthread_join(engine, NULL);
    for (int i = 1; i < RANKS; i++) pthread_join(ranks[i].thread, NULL);
    core_stop();
    for (int i = 0; i < 100; i++) serve(1); /* what was flushed */

    struct core_stats stats;
    core_get_stats(&stats);
    int splits = count_splits();
    uint64_t unaccounted =
        stats.steps - stats.steps_sent - stats.steps_dropped - stats.steps_queued;
    printf("%u proposals, %lu steps, %lu connections, %lu waits, %lu events and states sent; %d "
           "splits, %lu records unaccounted for\n",
           atomic_load(&page->ids), stats.steps, stats.connects, stats.waits, stats.sent, splits,
           unaccounted);
    unlink(socket_path);
    unlink(page_path);
    rmdir(dir);
    return splits || unaccounted || steps_got == 0 || agreement.id == 0;
}
