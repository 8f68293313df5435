/* What goes over SESSION/tty, the socket on which a job's terminal can be seen and typed into.
 *
 * Frames as in engine/wire/frame.h, with their own types, payloads of TERMINAL_PAYLOAD_MAX bytes at
 * most. Numbers are in the host's order: both ends are on one machine. A type that is not known is
 * skipped; a frame that is too long ends the connection.
 *
 * Everybody who connects gets HELLO and the output, as much of it as is still in the ring and as it
 * can take: what was skipped is said, so the bytes of OUTPUT and the counts of SKIPPED add up to
 * all that the job has written. Keys, sizes and signals are taken only from the one in charge: who
 * asked for it last. When that one leaves, the one who asked before it is in charge again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_FRAMES_H
#define INDUCTOP_RUN_TERMINAL_FRAMES_H

#include <stdint.h>

enum { TERMINAL_VERSION = 1, TERMINAL_PAYLOAD_MAX = 4096 };

/* The name of the socket, and of the files that hold the job's output when no file was asked for:
 * the newest, the one before. */
#define TERMINAL_SOCKET "tty"
#define TERMINAL_OUTPUT "output"
#define TERMINAL_OUTPUT_BEFORE "output.1"

enum terminal_frame {
    /* to the job's keeper */
    TERMINAL_CHARGE = 'C', /* nothing: I ask to be in charge */
    TERMINAL_KEYS = 'I',   /* bytes typed */
    TERMINAL_WINDOW = 'W', /* u16 rows, u16 columns; remembered until its sender is in charge */
    TERMINAL_FOREGROUND =
        'S',            /* u8 signal for the foreground group: SIGINT, SIGTSTP, SIGCONT, ... */
    TERMINAL_JOB = 'J', /* u8 signal for the job's own process */
    /* from it */
    TERMINAL_HELLO = 'H',     /* u32 version, i32 pid of the job; the first frame */
    TERMINAL_IN_CHARGE = 'C', /* u8: you are (1) or no longer are (0) in charge */
    TERMINAL_BYTES = 'O',     /* output */
    TERMINAL_SKIPPED = 'D',   /* u64 bytes of output that will not come */
    TERMINAL_STATE = 'T',     /* i32 status of waitpid(): the job was stopped or continued */
    TERMINAL_UNSAVED = 'N', /* u64 bytes that could not be saved so far, i32 errno; 0 bytes: saving
                               goes on again */
    TERMINAL_UNREAD = 'K',  /* u64 bytes of keys dropped so far, as the job does not read them */
    TERMINAL_OVER = 'X', /* i32 status of waitpid(): the job has ended; u8: by SIGINT from a key */
};

struct __attribute__((packed)) terminal_hello {
    uint32_t version;
    int32_t job;
};

struct __attribute__((packed)) terminal_window {
    uint16_t rows, columns;
};

struct __attribute__((packed)) terminal_unsaved {
    uint64_t bytes;
    int32_t error;
};

struct __attribute__((packed)) terminal_over {
    int32_t status;
    uint8_t by_key;
};

#endif
