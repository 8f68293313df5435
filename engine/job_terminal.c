/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/job_terminal.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/run/terminal_view.h"
#include "engine/base/banned.h"

enum { AGAIN_MS = 200 };

struct job_terminal {
    struct job_terminal_options options;
    struct terminal_view view;
    uv_poll_t *poll; /* of the connection; NULL: there is none */
    uv_timer_t again;
    bool wants_charge;
};

static void free_handle(uv_handle_t *handle) {
    free(handle);
}

static void free_terminal(uv_handle_t *handle) {
    free(handle->data);
}

static void stop_poll(struct job_terminal *terminal) {
    if (terminal->poll) {
        uv_poll_stop(terminal->poll);
        uv_close((uv_handle_t *)terminal->poll, free_handle);
    }
    terminal->poll = NULL;
}

static void output(void *ctx, const char *bytes, size_t size) {
    struct job_terminal *terminal = ctx;
    terminal->options.output(terminal->options.ctx, bytes, size);
}

static void skipped(void *ctx, uint64_t bytes) {
    struct job_terminal *terminal = ctx;
    terminal->options.skipped(terminal->options.ctx, bytes);
}

static void on_again(uv_timer_t *timer);

void job_terminal_read(struct job_terminal *terminal) {
    static const struct terminal_view_calls calls = {output, skipped};
    if (!terminal || terminal->view.fd < 0) return;
    if (terminal_view_read(&terminal->view, &calls, terminal)) return;
    stop_poll(terminal);
    if (!terminal->view.over) uv_timer_start(&terminal->again, on_again, AGAIN_MS, 0);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    job_terminal_read(poll->data);
}

static bool open_connection(struct job_terminal *terminal) {
    if (terminal_view_open(&terminal->view, terminal->options.session->fd, NULL)) return false;
    terminal->poll = mem_new(sizeof *terminal->poll);
    terminal->poll->data = terminal;
    uv_poll_init(terminal->options.loop, terminal->poll, terminal->view.fd);
    uv_poll_start(terminal->poll, UV_READABLE, on_poll);
    if (terminal->wants_charge) terminal_view_take_charge(&terminal->view);
    return true;
}

/* On a failure nobody keeps the job any more: it has ended. */
static void on_again(uv_timer_t *timer) {
    open_connection(timer->data);
}

struct job_terminal *job_terminal_open(const struct job_terminal_options *options) {
    struct job_terminal *terminal = mem_new(sizeof *terminal);
    terminal->options = *options;
    terminal->view = (struct terminal_view)TERMINAL_VIEW_INIT;
    if (!open_connection(terminal)) {
        free(terminal);
        return NULL;
    }
    uv_timer_init(options->loop, &terminal->again);
    terminal->again.data = terminal;
    return terminal;
}

void job_terminal_close(struct job_terminal *terminal) {
    if (!terminal) return;
    stop_poll(terminal);
    terminal_view_close(&terminal->view);
    uv_close((uv_handle_t *)&terminal->again, free_terminal);
}

bool job_terminal_take_charge(struct job_terminal *terminal) {
    terminal->wants_charge = true;
    return terminal_view_take_charge(&terminal->view);
}

bool job_terminal_type(struct job_terminal *terminal, const char *bytes, size_t size) {
    return terminal_view_type(&terminal->view, bytes, size);
}

bool job_terminal_resize(struct job_terminal *terminal, int rows, int columns) {
    return terminal_view_resize(&terminal->view, rows, columns);
}

bool job_terminal_signal(struct job_terminal *terminal, int signal) {
    return terminal_view_signal(&terminal->view, signal);
}

bool is_job_terminal_over(const struct job_terminal *terminal) {
    return terminal->view.over;
}

bool is_job_terminal_in_charge(const struct job_terminal *terminal) {
    return terminal->view.in_charge;
}

uint64_t job_terminal_unsaved(const struct job_terminal *terminal) {
    return terminal->view.unsaved;
}
