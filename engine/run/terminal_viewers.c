/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/terminal_viewers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/banned.h"

void terminal_viewers_init(struct terminal_viewers *viewers, const struct terminal_state *state,
                           terminal_act *act, void *ctx) {
    memset(viewers, 0, sizeof *viewers);
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) viewers->all[i].fd = -1;
    viewers->state = state;
    viewers->act = act;
    viewers->ctx = ctx;
}

/* ---- who is in charge ---- */

static bool has_size(const struct terminal_viewer *viewer) {
    return viewer->window.rows > 0;
}

static void put_in_charge(struct terminal_viewers *viewers, struct terminal_viewer *viewer) {
    struct terminal_viewer *before = viewers->charge;
    if (before == viewer) return;
    if (before) before->due |= 1u << NOTICE_CHARGE;
    viewers->charge = viewer;
    viewer->due |= 1u << NOTICE_CHARGE;
    if (has_size(viewer))
        viewers->act(viewers->ctx, TERMINAL_WINDOW, (const uint8_t *)&viewer->window,
                     sizeof viewer->window);
}

static struct terminal_viewer *last_who_asked(struct terminal_viewers *viewers) {
    struct terminal_viewer *last = NULL;
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) {
        struct terminal_viewer *viewer = &viewers->all[i];
        if (viewer->fd >= 0 && viewer->claim && (!last || viewer->claim > last->claim))
            last = viewer;
    }
    return last;
}

static void drop(struct terminal_viewers *viewers, struct terminal_viewer *viewer) {
    if (viewer->fd < 0) return;
    close(viewer->fd);
    viewer->fd = -1;
    if (viewers->charge != viewer) return;
    viewers->charge = NULL;
    struct terminal_viewer *next = last_who_asked(viewers);
    if (next)
        put_in_charge(viewers, next);
    else
        viewers->act(viewers->ctx, TERMINAL_CHARGE, NULL, 0);
}

/* ---- out ---- */

static void set_frame(struct terminal_viewer *viewer, uint8_t type, const void *payload,
                      size_t size) {
    frame_header(viewer->out, type, (uint32_t)size);
    memcpy(viewer->out + FRAME_HEADER_SIZE, payload, size);
    viewer->out_size = FRAME_HEADER_SIZE + size;
    viewer->out_done = 0;
}

static void set_notice(const struct terminal_viewers *viewers, struct terminal_viewer *viewer,
                       enum terminal_notice notice) {
    const struct terminal_state *state = viewers->state;
    switch (notice) {
    case NOTICE_HELLO: {
        struct terminal_hello hello = {TERMINAL_VERSION, state->job.pid};
        set_frame(viewer, TERMINAL_HELLO, &hello, sizeof hello);
        break;
    }
    case NOTICE_CHARGE:
        set_frame(viewer, TERMINAL_IN_CHARGE, &(uint8_t){viewers->charge == viewer}, 1);
        break;
    case NOTICE_STATE:
        set_frame(viewer, TERMINAL_STATE, &(int32_t){state->job.state}, sizeof(int32_t));
        break;
    case NOTICE_UNSAVED: {
        struct terminal_unsaved unsaved = {state->saved.gap ? state->saved.unsaved : 0,
                                           state->saved.error};
        set_frame(viewer, TERMINAL_UNSAVED, &unsaved, sizeof unsaved);
        break;
    }
    case NOTICE_UNREAD:
        set_frame(viewer, TERMINAL_UNREAD, &state->keys_unread, sizeof state->keys_unread);
        break;
    case NOTICE_OVER: {
        struct terminal_over over = {state->job.status, state->interrupt_by_key};
        set_frame(viewer, TERMINAL_OVER, &over, sizeof over);
        break;
    }
    case NOTICE_COUNT: break;
    }
    viewer->due &= ~(1u << notice);
}

/* Puts the next frame into its hand; false when there is none. */
static bool next_frame(const struct terminal_viewers *viewers, struct terminal_viewer *viewer) {
    const struct terminal_ring *ring = &viewers->state->ring;
    uint64_t oldest = terminal_ring_oldest(ring);
    const char *bytes;
    for (enum terminal_notice notice = 0; notice < NOTICE_OVER; notice++)
        if (viewer->due & 1u << notice) {
            set_notice(viewers, viewer, notice);
            return true;
        }
    if (viewer->position < oldest) {
        set_frame(viewer, TERMINAL_SKIPPED, &(uint64_t){oldest - viewer->position},
                  sizeof(uint64_t));
        viewer->position = oldest;
        return true;
    }
    size_t size = terminal_ring_piece(ring, viewer->position, &bytes);
    if (size > TERMINAL_PAYLOAD_MAX) size = TERMINAL_PAYLOAD_MAX;
    if (size)
        set_frame(viewer, TERMINAL_BYTES, bytes, size);
    else if (viewer->due & 1u << NOTICE_OVER)
        set_notice(viewers, viewer, NOTICE_OVER);
    else
        return false;
    viewer->position += size;
    return true;
}

static bool is_listening(const struct terminal_viewer *viewer) {
    return viewer->fd >= 0 && !viewer->is_deaf;
}

/* One that has gone may have typed something before: that is read first, up to its end. */
static void feed(struct terminal_viewers *viewers, struct terminal_viewer *viewer) {
    while (is_listening(viewer) &&
           (viewer->out_done < viewer->out_size || next_frame(viewers, viewer))) {
        ssize_t done = send(viewer->fd, viewer->out + viewer->out_done,
                            viewer->out_size - viewer->out_done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done > 0)
            viewer->out_done += (size_t)done;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            viewer->is_deaf = true;
    }
}

void terminal_viewers_feed(struct terminal_viewers *viewers) {
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) feed(viewers, &viewers->all[i]);
}

void terminal_viewers_tell(struct terminal_viewers *viewers, enum terminal_notice notice) {
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++)
        if (viewers->all[i].fd >= 0) viewers->all[i].due |= 1u << notice;
    terminal_viewers_feed(viewers);
}

static bool is_behind(const struct terminal_viewers *viewers,
                      const struct terminal_viewer *viewer) {
    return is_listening(viewer) && (viewer->due || viewer->out_done < viewer->out_size ||
                                    viewer->position != viewers->state->ring.total);
}

bool terminal_viewers_are_behind(const struct terminal_viewers *viewers) {
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++)
        if (is_behind(viewers, &viewers->all[i])) return true;
    return false;
}

/* ---- in ---- */

static void take_frame(struct terminal_viewers *viewers, struct terminal_viewer *viewer,
                       const struct frame *frame) {
    if (frame->type == TERMINAL_CHARGE) {
        viewer->claim = ++viewers->claims;
        put_in_charge(viewers, viewer);
        return;
    }
    if (frame->type == TERMINAL_WINDOW) {
        if (frame->size != sizeof viewer->window) return;
        memcpy(&viewer->window, frame->payload, sizeof viewer->window);
    }
    if (viewers->charge == viewer && frame->size)
        viewers->act(viewers->ctx, frame->type, frame->payload, frame->size);
}

static void read_frames(struct terminal_viewers *viewers, struct terminal_viewer *viewer) {
    ssize_t got = recv(viewer->fd, viewer->in + viewer->in_size,
                       sizeof viewer->in - viewer->in_size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        drop(viewers, viewer);
        return;
    }
    viewer->in_size += (size_t)got;
    size_t used = 0;
    struct frame frame;
    for (long size; (size = frame_parse(viewer->in + used, viewer->in_size - used, &frame)) != 0;
         used += (size_t)size) {
        if (size < 0) {
            drop(viewers, viewer);
            return;
        }
        take_frame(viewers, viewer, &frame);
    }
    viewer->in_size -= used;
    memmove(viewer->in, viewer->in + used, viewer->in_size);
    if (viewer->in_size == sizeof viewer->in)
        drop(viewers, viewer); /* it begins a frame that has no room */
}

/* ---- coming and going ---- */

static struct terminal_viewer *free_place(struct terminal_viewers *viewers) {
    struct terminal_viewer *oldest = NULL;
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) {
        struct terminal_viewer *viewer = &viewers->all[i];
        if (viewer->fd < 0) return viewer;
        if (viewer != viewers->charge && (!oldest || viewer->born < oldest->born)) oldest = viewer;
    }
    drop(viewers, oldest);
    return oldest;
}

void terminal_viewers_accept(struct terminal_viewers *viewers, int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    const struct terminal_state *state = viewers->state;
    struct terminal_viewer *viewer = free_place(viewers);
    viewer->fd = fd;
    viewer->born = ++viewers->births;
    viewer->is_deaf = false;
    viewer->position = viewer->claim = 0;
    viewer->window = (struct terminal_window){0};
    viewer->out_size = viewer->out_done = viewer->in_size = 0;
    viewer->due = 1u << NOTICE_HELLO;
    if (state->job.stopped) viewer->due |= 1u << NOTICE_STATE;
    if (state->saved.gap) viewer->due |= 1u << NOTICE_UNSAVED;
    if (state->exit_written) viewer->due |= 1u << NOTICE_OVER;
    feed(viewers, viewer);
}

void terminal_viewers_poll(const struct terminal_viewers *viewers, struct pollfd *ret_polled) {
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) {
        const struct terminal_viewer *viewer = &viewers->all[i];
        short events = POLLIN | (is_behind(viewers, viewer) ? POLLOUT : 0);
        ret_polled[i] = (struct pollfd){viewer->fd, events, 0};
    }
}

void terminal_viewers_serve(struct terminal_viewers *viewers, const struct pollfd *polled) {
    for (size_t i = 0; i < TERMINAL_VIEWERS_MAX; i++) {
        struct terminal_viewer *viewer = &viewers->all[i];
        if (viewer->fd < 0 || viewer->fd != polled[i].fd) continue;
        if (polled[i].revents & (POLLIN | POLLHUP | POLLERR)) read_frames(viewers, viewer);
        if (polled[i].revents & POLLOUT) feed(viewers, viewer);
    }
}
