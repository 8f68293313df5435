/* The one thread of ours in a training process. It never takes the interpreter's lock, never blocks
 * on the socket, takes no signals. It connects to the engine again and again, says hello, sends the
 * kept states, then events, steps and a beat every 100 ms, and hands what the engine asks to the
 * gate. With nobody listening, or nobody reading, the oldest is dropped and counted, so that an
 * engine that comes later gets the newest.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_SENDER_H
#define INDUCTOP_RANK_SENDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "engine/rank/gate.h"
#include "engine/rank/memory.h"
#include "engine/rank/outbox.h"
#include "engine/rank/ring.h"
#include "engine/rank/states.h"
#include "engine/wire/record.h"

enum { SENDER_HELLO_ROOM = 8 << 10, SENDER_BATCH = 256, SENDER_INBOX_ROOM = (64 << 10) + 64 };
#define SENDER_BEAT_NS UINT64_C(100000000)
#define SENDER_FLUSH_NS UINT64_C(200000000)

/* Where the sender takes from; all lent, and outliving the thread. */
struct sender_sources {
    struct step_ring *steps;
    struct frame_ring *frames;
    struct states *states;
    struct gate *gate;
    struct memory_sampler *memory;
    void (*fill_beat)(struct beat_record *ret_beat); /* called by the sender thread */
    void (*each_beat)(uint64_t now_ns);              /* likewise, may be NULL; may queue events */
};

struct sender {
    struct sender_sources from;
    pthread_t thread;
    _Atomic pid_t tid;
    pthread_mutex_t life;    /* of start, pause, resume, stop */
    _Atomic bool is_running; /* the thread was started in this process and not joined */
    _Atomic bool is_paused;  /* it was ended for a fork and is to be started again */
    int wake; /* eventfd, 0: none yet; kept over a stop, since other threads may be writing to it */
    int sock; /* -1: not connected; the thread's own */
    struct sockaddr_un address;
    uint8_t hello[SENDER_HELLO_ROOM];
    size_t hello_size;
    _Atomic bool must_stop, must_pause;

    uint64_t next_try_ns, next_beat_ns, retry_ns;
    uint32_t chance;
    bool is_blocked, beat_is_due, hello_is_due, unsent_is_due;
    size_t greeted;      /* states sent since the hello */
    struct outbox front; /* hello, states, votes, beats */
    struct outbox back;  /* events and steps */
    struct outbox *current;
    struct step_record batch[SENDER_BATCH];
    uint8_t inbox[SENDER_INBOX_ROOM];
    size_t inbox_size, skip; /* skip: rest of a frame that was too long for us */

    _Atomic uint64_t sent_frames, sent_steps, sent_bytes, beats, connects, votes, frames_unknown,
        frames_bad;
    _Atomic bool is_connected;
};

/* Starts the thread. 0, or an errno; ENAMETOOLONG for the path, EMSGSIZE for the hello. */
int sender_start(struct sender *sender, const struct sender_sources *from, const char *path,
                 const void *hello, size_t size);

/* There is something to send now. Any thread; does nothing when the sender is not running. */
void sender_kick(struct sender *sender);

/* Sends what is left, SENDER_FLUSH_NS at most, and ends the thread. */
void sender_stop(struct sender *sender);

/* Around fork(). Before it the thread ends, so that the child finds everything whole, and since an
 * interpreter may warn of threads at a fork; the connection stays. In the parent sender_resume()
 * starts it again: not from within fork(), but soon after. The child has no thread, and the
 * connection is the parent's. */
void sender_before_fork(struct sender *sender);
void sender_after_fork_in_parent(struct sender *sender);
void sender_after_fork_in_child(struct sender *sender);

/* Cheap when there is nothing to resume. */
void sender_resume(struct sender *sender);

#endif
