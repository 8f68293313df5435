/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/sender.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/banned.h"

enum { STACK_BYTES = 256 << 10, BACK_ENOUGH = 64 << 10 };
#define RETRY_FIRST_NS UINT64_C(10000000)
#define RETRY_LAST_NS UINT64_C(500000000)

static void add(_Atomic uint64_t *counter, uint64_t value) {
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* ---- connection */

/* Many ranks start, and lose their engine, at the same moment. */
static uint64_t with_jitter(struct sender *s, uint64_t ns) {
    s->chance = s->chance * 1664525u + 1013904223u;
    return ns / 2 + (uint64_t)((double)ns * (s->chance >> 8) / (1 << 24));
}

static void try_later(struct sender *s, uint64_t now) {
    s->next_try_ns = now + with_jitter(s, s->retry_ns);
    s->retry_ns = s->retry_ns * 2 > RETRY_LAST_NS ? RETRY_LAST_NS : s->retry_ns * 2;
}

static void connect_now(struct sender *s, uint64_t now) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&s->address, sizeof s->address) < 0) {
        if (fd >= 0) close(fd);
        try_later(s, now);
        return;
    }
    s->sock = fd;
    s->retry_ns = RETRY_FIRST_NS;
    s->hello_is_due = s->beat_is_due = true;
    s->greeted = 0;
    s->is_blocked = false;
    add(&s->connects, 1);
    atomic_store(&s->is_connected, true);
}

/* What was proposed dies with who proposed it; a gate that is set does not, the page decides. */
static void lose_connection(struct sender *s) {
    close(s->sock);
    s->sock = -1;
    atomic_store(&s->is_connected, false);
    outbox_clear(&s->front);
    outbox_rewind(&s->back);
    s->current = &s->front; /* the next connection begins with a hello */
    s->inbox_size = s->skip = 0;
    gate_withdraw(s->from.gate, 0);
    try_later(s, clock_now_ns());
}

/* ---- out */

static uint8_t *next_payload(struct sender *s) {
    return s->front.bytes + s->front.size + FRAME_HEADER_SIZE;
}

/* What was copied to next_payload() becomes a frame. False: there was no room, go on later. */
static bool put_state(struct sender *s, long size) {
    if (size <= 0) return size == 0;
    outbox_add(&s->front, FRAME_STATE, (size_t)size);
    add(&s->sent_frames, 1);
    return true;
}

static bool greet(struct sender *s) {
    uint64_t position = frame_ring_position(s->from.frames);
    for (size_t count = states_count(s->from.states); s->greeted < count; s->greeted++) {
        long room = outbox_room(&s->front);
        if (room <= 0) return false;
        if (!put_state(s, states_copy_for_hello(s->from.states, s->greeted, position,
                                                next_payload(s), (size_t)room)))
            return false;
    }
    s->greeted = STATES_MAX;
    return true;
}

/* Behind the events: an older state of the same key may still be among them. */
static bool put_unsent(struct sender *s) {
    if (s->back.size || frame_ring_used(s->from.frames)) return true;
    if (!states_take_unsent(s->from.states) && !s->unsent_is_due) return true;
    s->unsent_is_due = true;
    for (size_t i = 0, count = states_count(s->from.states); i < count; i++) {
        long room = outbox_room(&s->front);
        if (room <= 0) return false;
        if (!put_state(s, states_copy_unsent(s->from.states, i, next_payload(s), (size_t)room)))
            return false;
    }
    s->unsent_is_due = false;
    return true;
}

static void put_vote(struct sender *s) {
    struct gate_vote vote;
    if (outbox_room(&s->front) < (long)(sizeof(struct vote_record) + sizeof vote.reason)) return;
    if (!gate_take_vote(s->from.gate, &vote)) return;
    size_t text = vote.is_ready ? 0 : strnlen(vote.reason, sizeof vote.reason);
    struct vote_record record = {.id = vote.id, .ready = vote.is_ready};
    uint8_t *at = outbox_add(&s->front, FRAME_VOTE, sizeof record + text);
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, vote.reason, text);
    add(&s->votes, 1);
}

static void put_beat(struct sender *s) {
    struct beat_record record = {.now_ns = clock_now_ns()};
    s->from.fill_beat(&record);
    uint8_t *at = outbox_add(&s->front, FRAME_BEAT, sizeof record);
    if (!at) return;
    memcpy(at, &record, sizeof record);
    s->beat_is_due = false;
    add(&s->beats, 1);
}

static void fill_front(struct sender *s) {
    if (s->hello_is_due) {
        memcpy(outbox_add(&s->front, FRAME_HELLO, s->hello_size), s->hello, s->hello_size);
        s->hello_is_due = false;
    }
    put_vote(s);
    if (greet(s) && put_unsent(s) && s->beat_is_due) put_beat(s);
}

static void put_events(struct sender *s) {
    uint8_t type;
    for (size_t size;
         s->back.size < BACK_ENOUGH && (size = frame_ring_peek(s->from.frames, &type));) {
        uint8_t *at = outbox_add_whole(&s->back, size);
        if (!at) return;
        frame_ring_pop(s->from.frames, at, size);
        add(&s->sent_frames, 1);
    }
}

static void put_steps(struct sender *s) {
    while (s->back.size < BACK_ENOUGH) {
        size_t count = step_ring_pop(s->from.steps, s->batch, SENDER_BATCH);
        if (!count) return;
        memcpy(outbox_add(&s->back, FRAME_STEPS, count * sizeof s->batch[0]), s->batch,
               count * sizeof s->batch[0]);
        add(&s->sent_steps, count);
    }
}

/* A box is sent to its end before the other's turn, since frames must not be mixed. */
static bool choose_box(struct sender *s) {
    if (s->current->size) return true;
    fill_front(s);
    s->current = &s->front;
    if (s->front.size) return true;
    put_events(s);
    put_steps(s);
    s->current = &s->back;
    return s->back.size > 0;
}

static void send_all(struct sender *s) {
    s->is_blocked = false;
    while (s->sock >= 0 && choose_box(s)) {
        uint64_t bytes = 0;
        enum outbox_result result = outbox_send(s->current, s->sock, &bytes);
        add(&s->sent_bytes, bytes);
        if (result == OUTBOX_DEAD) lose_connection(s);
        if (result == OUTBOX_BLOCKED) {
            s->is_blocked = true;
            return;
        }
    }
}

/* Nobody reads: the newest is worth more than the oldest. */
static void drop_oldest(struct sender *s) {
    size_t steps = step_ring_used(s->from.steps);
    if (steps > STEP_RING_ROOM / 4 * 3) step_ring_skip(s->from.steps, steps - STEP_RING_ROOM / 2);
    bool lost_state = false;
    while (frame_ring_used(s->from.frames) > FRAME_RING_ROOM / 4 * 3) {
        uint8_t type;
        frame_ring_peek(s->from.frames, &type);
        lost_state |= type == FRAME_STATE;
        frame_ring_skip(s->from.frames);
    }
    if (lost_state) states_mark_unsent(s->from.states);
}

/* ---- in */

static uint32_t prepare_id(const uint8_t *payload) {
    struct prepare_record record;
    memcpy(&record, payload, sizeof record);
    return record.id;
}

static void handle(struct sender *s, const struct frame *frame) {
    const size_t head = sizeof(struct prepare_record);
    if (frame->type == FRAME_PREPARE && frame->size >= head)
        gate_offer(s->from.gate, prepare_id(frame->payload), frame->payload + head,
                   frame->size - head);
    else if (frame->type == FRAME_ABANDON && frame->size >= head)
        gate_withdraw(s->from.gate, prepare_id(frame->payload));
    else
        add(&s->frames_unknown, 1);
}

/* A legal frame that is longer than our room: nothing that we need is. */
static void skip_long(struct sender *s, size_t length) {
    if (s->inbox[4] == FRAME_PREPARE)
        gate_refuse(s->from.gate, prepare_id(s->inbox + FRAME_HEADER_SIZE),
                    "the proposal is longer than 64 KiB");
    add(&s->frames_unknown, 1);
    s->skip = FRAME_HEADER_SIZE + length - s->inbox_size;
    s->inbox_size = 0;
}

/* False: this connection does not speak our language. */
static bool parse(struct sender *s) {
    size_t at = 0;
    struct frame frame;
    long size;
    while ((size = frame_parse(s->inbox + at, s->inbox_size - at, &frame)) > 0) {
        handle(s, &frame);
        at += (size_t)size;
    }
    if (size < 0) return false;
    s->inbox_size -= at;
    memmove(s->inbox, s->inbox + at, s->inbox_size);
    size_t length = 0;
    for (unsigned i = 0; i < 4; i++) length |= (size_t)s->inbox[i] << 8 * i;
    if (s->inbox_size >= FRAME_HEADER_SIZE + sizeof(struct prepare_record) &&
        FRAME_HEADER_SIZE + length > sizeof s->inbox)
        skip_long(s, length);
    return true;
}

static void receive(struct sender *s) {
    while (s->sock >= 0) {
        ssize_t got =
            recv(s->sock, s->inbox + s->inbox_size, sizeof s->inbox - s->inbox_size, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) {
            lose_connection(s);
            return;
        }
        size_t skipped = s->skip < (size_t)got ? s->skip : (size_t)got;
        s->skip -= skipped;
        memmove(s->inbox + s->inbox_size, s->inbox + s->inbox_size + skipped,
                (size_t)got - skipped);
        s->inbox_size += (size_t)got - skipped;
        if (!parse(s)) {
            add(&s->frames_bad, 1);
            lose_connection(s);
        }
    }
}

/* ---- the thread */

static void wait_for_work(struct sender *s, uint64_t until_ns) {
    uint64_t now = clock_now_ns(), ns = until_ns > now ? until_ns - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000u),
                               .tv_nsec = (long)(ns % 1000000000u)};
    struct pollfd fds[2] = {
        {.fd = s->wake, .events = POLLIN},
        {.fd = s->sock, .events = (short)(POLLIN | (s->is_blocked ? POLLOUT : 0))}};
    ppoll(fds, 2, &timeout, NULL);
    eventfd_t count;
    if (fds[0].revents) eventfd_read(s->wake, &count);
    if (s->sock >= 0 && fds[1].revents & (POLLIN | POLLHUP | POLLERR)) receive(s);
}

static void turn(struct sender *s) {
    uint64_t now = clock_now_ns();
    if (now >= s->next_beat_ns) {
        memory_sample(s->from.memory);
        if (s->from.each_beat) s->from.each_beat(now);
        s->beat_is_due = true;
        s->next_beat_ns += SENDER_BEAT_NS;
        if (s->next_beat_ns < now) s->next_beat_ns = now + SENDER_BEAT_NS; /* we were stopped */
    }
    if (s->sock < 0 && now >= s->next_try_ns) connect_now(s, now);
    gate_hand_over(s->from.gate);
    send_all(s);
    if (s->sock < 0 || s->is_blocked) drop_oldest(s);
}

static void flush(struct sender *s) {
    uint64_t now = clock_now_ns(), deadline = now + SENDER_FLUSH_NS;
    s->beat_is_due = true;
    if (s->sock < 0) connect_now(s, now);
    send_all(s);
    while (s->sock >= 0 && s->is_blocked && clock_now_ns() < deadline) {
        struct pollfd fd = {.fd = s->sock, .events = POLLOUT};
        poll(&fd, 1, 10);
        send_all(s);
    }
}

static void *run(void *arg) {
    struct sender *s = arg;
    prctl(PR_SET_NAME, "inductop", 0, 0, 0);
    atomic_store(&s->tid, gettid());
    while (!atomic_load(&s->must_stop) && !atomic_load(&s->must_pause)) {
        turn(s);
        uint64_t until = s->next_beat_ns;
        if (s->sock < 0 && s->next_try_ns < until) until = s->next_try_ns;
        wait_for_work(s, until); /* a kick before it ends it at once */
    }
    if (!atomic_load(&s->must_stop)) return NULL;
    flush(s);
    if (s->sock >= 0) close(s->sock);
    s->sock = -1;
    atomic_store(&s->is_connected, false);
    return NULL;
}

/* The job's signals go to the job's threads. A small stack may be too small for the thread-local
 * data of what the job has loaded. */
static int start_thread(struct sender *s) {
    pthread_attr_t attr;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int failed = pthread_create(&s->thread, &attr, run, s);
    if (failed) failed = pthread_create(&s->thread, NULL, run, s);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store(&s->is_running, !failed);
    return failed;
}

static void end_thread(struct sender *s, _Atomic bool *request) {
    atomic_store(request, true);
    sender_kick(s);
    pthread_join(s->thread, NULL);
    atomic_store(&s->is_running, false);
    atomic_store(request, false);
}

int sender_start(struct sender *s, const struct sender_sources *from, const char *path,
                 const void *hello, size_t size) {
    if (strlen(path) >= sizeof s->address.sun_path) return ENAMETOOLONG;
    if (size > sizeof s->hello) return EMSGSIZE;
    s->from = *from;
    s->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(s->address.sun_path, path, strlen(path));
    memcpy(s->hello, hello, size);
    s->hello_size = size;
    s->sock = -1;
    s->is_blocked = s->beat_is_due = s->hello_is_due = s->unsent_is_due = false;
    s->inbox_size = s->skip = s->greeted = 0;
    outbox_clear(&s->front);
    outbox_clear(&s->back);
    s->current = &s->front;
    s->chance = (uint32_t)getpid() * 2654435761u;
    s->retry_ns = RETRY_FIRST_NS;
    s->next_try_ns = s->next_beat_ns = 0;
    if (s->wake <= 0) s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return s->wake < 0 ? errno : start_thread(s);
}

void sender_kick(struct sender *s) {
    if (atomic_load(&s->is_running)) eventfd_write(s->wake, 1);
}

void sender_stop(struct sender *s) {
    sender_resume(s); /* what is queued goes out */
    pthread_mutex_lock(&s->life);
    if (atomic_load(&s->is_running)) end_thread(s, &s->must_stop);
    pthread_mutex_unlock(&s->life);
}

void sender_before_fork(struct sender *s) {
    pthread_mutex_lock(&s->life);
    if (!atomic_load(&s->is_running)) return;
    end_thread(s, &s->must_pause);
    atomic_store(&s->is_paused, true);
    /* A thread that was joined is still counted for some microseconds. */
    for (int i = 0; i < 1000 && tgkill(getpid(), atomic_load(&s->tid), 0) == 0; i++) sched_yield();
}

void sender_after_fork_in_parent(struct sender *s) {
    pthread_mutex_unlock(&s->life);
}

void sender_after_fork_in_child(struct sender *s) {
    s->life = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_store(&s->is_paused, false);
    atomic_store(&s->is_connected, false);
    if (s->wake > 0) close(s->wake);
    if (s->sock >= 0) close(s->sock); /* never shutdown(): that would reach the parent's */
    s->wake = 0;
    s->sock = -1;
}

void sender_resume(struct sender *s) {
    if (!atomic_load_explicit(&s->is_paused, memory_order_relaxed)) return;
    pthread_mutex_lock(&s->life);
    if (atomic_exchange(&s->is_paused, false)) start_thread(s);
    pthread_mutex_unlock(&s->life);
}
