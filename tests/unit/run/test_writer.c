/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/run/writer.h"

#include "engine/base/banned.h"

enum { LINES = 3000, BOUND_MS = 10000 };

static void add_lines(struct writer *writer) {
    for (int i = 0; i < LINES; i++) writer_add(writer, "inductop: a line of thirty-two b\n", 33);
}

static int unread(int fd) {
    int count = 0;
    assert_int_equal(ioctl(fd, FIONREAD, &count), 0);
    return count;
}

/* Runs the loop until the pipe holds something and nothing more comes within some turns. */
static void run_a_while(uv_loop_t *loop) {
    for (int i = 0; i < 50; i++) {
        uv_run(loop, UV_RUN_NOWAIT);
        poll(NULL, 0, 1);
    }
}

static void test_polite_writer_leaves_a_shared_pipe_mostly_free(void **state) {
    (void)state;
    uv_loop_t loop;
    struct writer writer;
    int ends[2];
    char room[LINES * 40];
    size_t got = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    uv_loop_init(&loop);
    writer_init(&writer, &loop, ends[1]);
    writer_be_polite(&writer);
    add_lines(&writer);
    run_a_while(&loop);
    assert_true(unread(ends[0]) > 0);
    assert_true(unread(ends[0]) <= 2 * 4096); /* of 64 KiB: the job can still write */
    while (got < LINES * 33) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_true(poll(&ready, 1, BOUND_MS) == 1);
        ssize_t n = read(ends[0], room + got, sizeof room - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_memory_equal(room + got - 33, "inductop: a line of thirty-two b\n", 33);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(is_writer_idle(&writer));
    writer_done(&writer);
    uv_loop_close(&loop);
    close(ends[0]);
    close(ends[1]);
}

static void test_pipe_without_reader_ends_it_and_counts(void **state) {
    (void)state;
    uv_loop_t loop;
    struct writer writer;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    uv_loop_init(&loop);
    writer_init(&writer, &loop, ends[1]);
    writer_be_polite(&writer);
    add_lines(&writer);
    run_a_while(&loop);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(writer.error, EPIPE);
    writer_add(&writer, "x", 1);
    assert_true(writer.dropped_bytes >= 1);
    assert_true(is_writer_idle(&writer));
    writer_done(&writer);
    uv_loop_close(&loop);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polite_writer_leaves_a_shared_pipe_mostly_free),
        cmocka_unit_test(test_pipe_without_reader_ends_it_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
