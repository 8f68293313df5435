/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/terminal_view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/banned.h"

int terminal_view_open(struct terminal_view *view, int session_fd, struct err *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    terminal_view_close(view);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" TERMINAL_SOCKET,
             session_fd);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        int number = errno;
        if (fd >= 0) close(fd);
        return err_set_errno(err, number, "could not look at the job's terminal");
    }
    view->fd = fd;
    view->next = 0;
    view->in_size = 0;
    view->stopped = false;
    return 0;
}

void terminal_view_close(struct terminal_view *view) {
    if (view->fd >= 0) close(view->fd);
    view->fd = -1;
    view->in_charge = false;
}

/* ---- in ---- */

/* The part of `size` bytes at `next` that is new. */
static size_t pass(struct terminal_view *view, uint64_t size) {
    uint64_t end = view->next + size, fresh = end > view->position ? end - view->position : 0;
    view->next = end;
    if (fresh) view->position = end;
    return (size_t)fresh;
}

static void take_output(struct terminal_view *view, const struct frame *frame,
                        const struct terminal_view_calls *calls, void *ctx) {
    uint64_t skipped;
    if (frame->type == TERMINAL_BYTES) {
        size_t fresh = pass(view, frame->size);
        if (fresh) calls->output(ctx, (const char *)frame->payload + frame->size - fresh, fresh);
    } else if (frame->size == sizeof skipped) {
        memcpy(&skipped, frame->payload, sizeof skipped);
        size_t fresh = pass(view, skipped);
        if (fresh) calls->skipped(ctx, fresh);
    }
}

static void take_state(struct terminal_view *view, int32_t status) {
    view->stopped = WIFSTOPPED(status);
    if (view->stopped) view->stop_signal = WSTOPSIG(status);
}

/* A payload of the wrong size is taken for a type that is not known. */
static void take_news(struct terminal_view *view, const struct frame *frame) {
    union {
        struct terminal_hello hello;
        struct terminal_unsaved unsaved;
        struct terminal_over over;
        uint64_t count;
        int32_t status;
        uint8_t yes;
    } told = {0};
    memcpy(&told, frame->payload, frame->size < sizeof told ? frame->size : sizeof told);
    switch (frame->type) {
    case TERMINAL_HELLO: view->job = told.hello.job; break;
    case TERMINAL_IN_CHARGE: view->in_charge = told.yes; break;
    case TERMINAL_STATE: take_state(view, told.status); break;
    case TERMINAL_UNREAD: view->unread_keys = told.count; break;
    case TERMINAL_UNSAVED:
        view->unsaved = told.unsaved.bytes;
        view->unsaved_error = told.unsaved.error;
        break;
    case TERMINAL_OVER:
        view->over = true;
        view->stopped = false;
        view->status = told.over.status;
        view->by_key =
            told.over.by_key && WIFSIGNALED(view->status) && WTERMSIG(view->status) == SIGINT;
        break;
    default: break;
    }
}

static bool take_frames(struct terminal_view *view, const struct terminal_view_calls *calls,
                        void *ctx) {
    size_t used = 0;
    struct frame frame;
    for (long size; (size = frame_parse(view->in + used, view->in_size - used, &frame)) != 0;
         used += (size_t)size) {
        if (size < 0) return false;
        if (frame.type == TERMINAL_BYTES || frame.type == TERMINAL_SKIPPED)
            take_output(view, &frame, calls, ctx);
        else
            take_news(view, &frame);
    }
    view->in_size -= used;
    memmove(view->in, view->in + used, view->in_size);
    return view->in_size < sizeof view->in;
}

/* Bounded, so that a job that writes without end leaves its reader the turn for other things. */
bool terminal_view_read(struct terminal_view *view, const struct terminal_view_calls *calls,
                        void *ctx) {
    enum { TURNS = 32 };
    for (int turn = 0; turn < TURNS && view->fd >= 0; turn++) {
        ssize_t size =
            recv(view->fd, view->in + view->in_size, sizeof view->in - view->in_size, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return true;
        view->in_size += size > 0 ? (size_t)size : 0;
        if (size <= 0 || !take_frames(view, calls, ctx)) terminal_view_close(view);
    }
    return view->fd >= 0;
}

/* ---- out ---- */

/* So small a frame goes whole or not at all; should that ever not hold, what follows would be read
 * wrongly. */
static bool send_frame(struct terminal_view *view, enum terminal_frame type, const void *payload,
                       size_t size) {
    uint8_t frame[FRAME_HEADER_SIZE + TERMINAL_PAYLOAD_MAX];
    if (view->fd < 0) return false;
    frame_header(frame, (uint8_t)type, (uint32_t)size);
    if (size) memcpy(frame + FRAME_HEADER_SIZE, payload, size);
    ssize_t done = send(view->fd, frame, FRAME_HEADER_SIZE + size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0 && (size_t)done != FRAME_HEADER_SIZE + size) terminal_view_close(view);
    return done == (ssize_t)(FRAME_HEADER_SIZE + size);
}

bool terminal_view_take_charge(struct terminal_view *view) {
    return send_frame(view, TERMINAL_CHARGE, NULL, 0);
}

bool terminal_view_type(struct terminal_view *view, const char *bytes, size_t size) {
    for (size_t part; size; bytes += part, size -= part) {
        part = size < TERMINAL_PAYLOAD_MAX ? size : TERMINAL_PAYLOAD_MAX;
        if (!send_frame(view, TERMINAL_KEYS, bytes, part)) return false;
    }
    return true;
}

bool terminal_view_resize(struct terminal_view *view, int rows, int columns) {
    struct terminal_window window = {(uint16_t)rows, (uint16_t)columns};
    return send_frame(view, TERMINAL_WINDOW, &window, sizeof window);
}

bool terminal_view_signal(struct terminal_view *view, int signal) {
    return send_frame(view, TERMINAL_FOREGROUND, &(uint8_t){(uint8_t)signal}, 1);
}

bool terminal_view_signal_job(struct terminal_view *view, int signal) {
    return send_frame(view, TERMINAL_JOB, &(uint8_t){(uint8_t)signal}, 1);
}
