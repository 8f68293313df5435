/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/run/hub.h"
#include "engine/run/viewer.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

enum { BOUND_MS = 10000, START_NS = 1000 };

/* A session, an engine that is a mere hub, and a viewer, on one loop. */
struct lab {
    char base[32];
    uv_loop_t loop;
    struct session session;
    struct hub *hub;
    struct peer *peer;
    int peers, gone;
    struct buf heard; /* hello and commands, one a line */
    struct viewer *viewer;
    int events, changes, started;
    uint64_t steps;
    char last_event[32], last_group[32];
    double last_t;
    struct source_steps last_steps;
    struct step_record last_record;
    bool is_over;
};

static struct lab *lab;

/* ---- the engine's side */

static void hub_frame(void *ctx, struct peer *peer, const struct frame *frame) {
    (void)ctx;
    lab->peer = peer;
    buf_printf(&lab->heard, "%s %.*s\n", frame_name(frame->type), (int)frame->size,
               (const char *)frame->payload);
}

static void hub_gone(void *ctx, struct peer *peer) {
    (void)ctx;
    lab->gone++;
    if (lab->peer == peer) lab->peer = NULL;
}

static const struct hub_ops hub_ops = {.frame = hub_frame, .gone = hub_gone};

static void start_hub(void) {
    char *path = session_path(&lab->session, "sock");
    struct err err;
    lab->hub = hub_new(&lab->loop, path, &hub_ops, NULL, &err);
    if (!lab->hub) fail_msg("%s", err.message);
    free(path);
}

static void stop_hub(void) {
    hub_free(lab->hub);
    lab->hub = NULL;
}

static void send_status(const char *engine, bool past, int seq, const char *more) {
    char text[400];
    int size = snprintf(text, sizeof text,
                        "{\"v\":1,\"engine\":\"%s\",\"start_ns\":%d,\"past\":%s,\"seq\":%d,"
                        "\"readonly\":false,\"baseline\":\"auto\","
                        "\"in_charge\":true,\"screens\":2,\"missed\":{\"events\":3,\"steps\":4}%s}",
                        engine, START_NS, past ? "true" : "false", seq, more);
    peer_send(lab->peer, FRAME_STATUS, text, (size_t)size);
}

static void send_event(uint64_t seq, const char *group, const char *json) {
    struct rank_event_record head = {.seq = seq, .group_size = (uint32_t)strlen(group)};
    struct buf frame = BUF_INIT;
    buf_add(&frame, &head, sizeof head);
    buf_puts(&frame, group);
    buf_puts(&frame, json);
    peer_send(lab->peer, FRAME_RANK_EVENT, frame.data, frame.size);
    buf_done(&frame);
}

static void send_steps(size_t count) {
    struct rank_steps_record head = {.rank = 3, .group_size = 1, .steps_dropped = 5};
    struct buf frame = BUF_INIT;
    buf_add(&frame, &head, sizeof head);
    buf_puts(&frame, "g");
    for (size_t i = 0; i < count; i++)
        buf_add(&frame, &(struct step_record){.step = i, .end_ns = 7}, sizeof(struct step_record));
    peer_send(lab->peer, FRAME_RANK_STEPS, frame.data, frame.size);
    buf_done(&frame);
}

#define PROBLEM "{\"v\":1,\"kind\":\"problem\",\"t\":2.5,\"what\":\"w\",\"text\":\"x\"}"
#define ENDED                                                                                      \
    "{\"v\":1,\"kind\":\"job\",\"t\":9,\"command\":[],\"name\":\"n\",\"start\":\"s\",\"state\":"   \
    "\"ended\",\"exit\":0}"
#define SUMMARY "{\"v\":1,\"kind\":\"summary\",\"t\":9,\"ranks\":[],\"switches\":[],\"drops\":{}}"

/* ---- the screen's side */

static void took_event(void *ctx, const struct event *event, const char *group) {
    assert_ptr_equal(ctx, lab);
    lab->events++;
    lab->last_t = event->t;
    snprintf(lab->last_event, sizeof lab->last_event, "%s", kind_name(event->kind));
    snprintf(lab->last_group, sizeof lab->last_group, "%s", group ? group : "none");
}

static void took_steps(void *ctx, const struct source_steps *steps) {
    (void)ctx;
    lab->last_steps = *steps;
    lab->last_steps.group = NULL;
    assert_string_equal(steps->group, "g");
    lab->steps += steps->count;
    if (steps->count)
        memcpy(&lab->last_record,
               (const char *)steps->records + (steps->count - 1) * sizeof lab->last_record,
               sizeof lab->last_record);
}

static void began_again(void *ctx) {
    (void)ctx;
    fail_msg("a viewer never begins again");
}

static void changed(void *ctx) {
    (void)ctx;
    lab->changes++;
}

static int start_engine(const struct session *session, struct err *err) {
    (void)err;
    assert_ptr_equal(session, &lab->session);
    lab->started++;
    return 0;
}

static void start_viewer(bool is_attached) {
    struct viewer_options options = {.loop = &lab->loop,
                                     .session = &lab->session,
                                     .sink = {took_event, took_steps, began_again, changed, lab},
                                     .is_attached = is_attached,
                                     .start_engine = start_engine};
    lab->viewer = viewer_new(&options);
}

/* ---- waiting */

static void over(uv_timer_t *timer) {
    (void)timer;
    lab->is_over = true;
}

/* Runs the loop until the condition holds; fails when that takes too long. */
#define wait_until(condition)                                                                      \
    do {                                                                                           \
        uv_timer_t timer;                                                                          \
        uv_timer_init(&lab->loop, &timer);                                                         \
        lab->is_over = false;                                                                      \
        uv_timer_start(&timer, over, BOUND_MS, 0);                                                 \
        while (!(condition) && !lab->is_over) uv_run(&lab->loop, UV_RUN_ONCE);                     \
        uv_close((uv_handle_t *)&timer, NULL);                                                     \
        uv_run(&lab->loop, UV_RUN_NOWAIT);                                                         \
        if (lab->is_over) fail_msg("not in time: " #condition);                                    \
    } while (0)

static struct viewer_facts facts(void) {
    return viewer_facts(lab->viewer);
}

static bool is_state(enum source_state state) {
    return facts().state == state;
}

/* Connected, told the past, live. */
static void go_live(const char *engine, int seq) {
    wait_until(lab->peer);
    send_status(engine, true, 0, "");
    send_status(engine, false, seq, "");
    wait_until(is_state(SOURCE_LIVE));
}

static int set_up(void **state) {
    lab = mem_new(sizeof *lab);
    snprintf(lab->base, sizeof lab->base, "/tmp/viewer-XXXXXX");
    assert_non_null(mkdtemp(lab->base));
    setenv("INDUCTOP_TMPDIR", lab->base, 1);
    uv_loop_init(&lab->loop);
    struct err err;
    if (session_create(&lab->session, "job", NULL, &err)) fail_msg("%s", err.message);
    char start[80];
    int size = snprintf(start, sizeof start, "{\"front\":[%d,%llu]}", (int)getpid(),
                        process_start(getpid()));
    assert_int_equal(session_write(&lab->session, "start.json", start, (size_t)size, &err), 0);
    *state = lab;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    clock_set_source(NULL);
    viewer_free(lab->viewer);
    hub_free(lab->hub);
    uv_run(&lab->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&lab->loop), 0);
    session_done(&lab->session);
    buf_done(&lab->heard);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", lab->base);
    assert_int_equal(system(command), 0);
    free(lab);
    return 0;
}

/* ---- */

static void test_it_is_told_the_past_then_what_comes(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    assert_true(is_state(SOURCE_CONNECTING));
    wait_until(lab->peer);
    assert_string_equal(lab->heard.data, "HELLO {\"v\":1,\"role\":\"viewer\",\"screen\":true}\n");
    send_status("a", true, 0, "");
    wait_until(is_state(SOURCE_CATCHING_UP));
    send_event(1, "", PROBLEM);
    send_event(0, "", SUMMARY);
    wait_until(lab->events == 2);
    assert_string_equal(lab->last_event, "summary");
    send_status("a", false, 1, "");
    wait_until(is_state(SOURCE_LIVE));
    send_event(2, "the group", PROBLEM);
    send_steps(2);
    wait_until(lab->steps == 2);
    assert_string_equal(lab->last_group, "the group");
    assert_true(lab->last_t == 2.5);
    assert_true(lab->last_steps.rank == 3 && lab->last_steps.start_ns == START_NS &&
                lab->last_steps.has_dropped);
    assert_true(lab->last_steps.dropped[0] == 5 && lab->last_record.step == 1);
    struct viewer_facts now = facts();
    assert_true(now.has_status && now.is_in_charge && !now.is_readonly && now.screens == 2);
    assert_true(now.missed_events == 3 && now.missed_steps == 4 && now.start_ns == START_NS &&
                now.bad == 0);
    assert_string_equal(now.baseline, "auto");
}

static void test_an_engine_that_listens_later_is_found(void **state) {
    (void)state;
    start_viewer(false);
    wait_until(lab->changes > 0);
    assert_true(is_state(SOURCE_CONNECTING));
    start_hub();
    go_live("a", 0);
    assert_int_equal(lab->started, 0);
    assert_int_equal(facts().losses, 0);
}

static void test_a_lost_engine_comes_back_as_the_same(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    go_live("a", 4);
    send_event(5, "", PROBLEM);
    wait_until(lab->events == 1);
    peer_close(lab->peer);
    wait_until(is_state(SOURCE_LOST));
    assert_string_equal(facts().reason, "the engine went away");
    assert_true(facts().has_status);
    go_live("a", 5);
    assert_non_null(strstr(lab->heard.data, "\"engine\":\"a\",\"since\":5}"));
    send_event(0, "", SUMMARY);
    wait_until(lab->events == 2);
    assert_int_equal(facts().losses, 1);
}

static void test_totals_of_another_engine_are_not_taken(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    go_live("a", 4);
    stop_hub();
    wait_until(is_state(SOURCE_LOST));
    start_hub();
    go_live("b", 2);
    send_event(0, "", SUMMARY);
    send_event(3, "", PROBLEM);
    wait_until(lab->events == 1);
    assert_string_equal(lab->last_event, "problem");
    peer_close(lab->peer);
    wait_until(lab->peer);
    assert_non_null(strstr(lab->heard.data, "\"engine\":\"b\",\"since\":3}"));
}

static void test_the_end_of_the_job_is_the_end(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    go_live("a", 0);
    send_event(1, "", ENDED);
    wait_until(lab->events == 1);
    assert_true(is_state(SOURCE_LIVE)); /* the summary may follow */
    peer_close(lab->peer);
    wait_until(is_state(SOURCE_ENDED));
    assert_int_equal(facts().losses, 1);
    assert_int_equal(lab->started, 0);
}

static void test_a_session_that_is_over(void **state) {
    (void)state;
    assert_int_equal(session_write(&lab->session, "exit", "exit 0\n", 7, NULL), 0);
    start_viewer(true);
    wait_until(is_state(SOURCE_ENDED));
    assert_string_equal(facts().reason, "the job has ended");
    assert_int_equal(lab->started, 0);
    struct err err;
    assert_true(viewer_command(lab->viewer, "status", NULL, &err) < 0);
    assert_non_null(strstr(err.message, "the job has ended"));
}

static uint64_t fake_ns;

static uint64_t fake_clock(void) {
    return fake_ns;
}

static void test_a_missing_engine_is_asked_for_now_and_then(void **state) {
    (void)state;
    fake_ns = 1000 * UINT64_C(1000000000);
    clock_set_source(fake_clock);
    start_viewer(false); /* it may be about to start by itself */
    wait_until(lab->changes == 1);
    uint64_t now = uv_now(&lab->loop);
    wait_until(uv_now(&lab->loop) > now + 100); /* some tries */
    assert_int_equal(lab->started, 0);
    fake_ns += VIEWER_START_MS * UINT64_C(1000000);
    wait_until(lab->started == 1);
    now = uv_now(&lab->loop);
    wait_until(uv_now(&lab->loop) > now + 100);
    assert_int_equal(lab->started, 1);
    fake_ns += VIEWER_START_MS * UINT64_C(1000000);
    wait_until(lab->started == 2);
}

static void test_attaching_asks_for_a_missing_engine_at_once(void **state) {
    (void)state;
    start_viewer(true);
    wait_until(lab->started == 1);
}

static void test_no_second_engine_while_one_holds_the_lock(void **state) {
    (void)state;
    struct err err;
    int lock = session_lock(&lab->session, &err);
    assert_true(lock >= 0);
    start_viewer(true);
    wait_until(lab->changes > 0);
    assert_int_equal(lab->started, 0);
    start_hub();
    go_live("a", 0);
    close(lock);
}

static void test_commands(void **state) {
    (void)state;
    struct err err;
    start_viewer(false);
    assert_true(viewer_command(lab->viewer, "baseline", json_object(), &err) < 0);
    assert_non_null(strstr(err.message, "no engine is connected"));
    start_hub();
    go_live("a", 0);
    assert_int_equal(viewer_command(lab->viewer, "propose",
                                    json_pack("{s{ss}ss}", "change", "dynamic", "on", "tag", "t1"),
                                    &err),
                     0);
    assert_int_equal(viewer_command(lab->viewer, "status", NULL, &err), 0);
    wait_until(strstr(lab->heard.data, "\"do\":\"status\"}"));
    assert_non_null(strstr(
        lab->heard.data,
        "COMMAND {\"change\":{\"dynamic\":\"on\"},\"tag\":\"t1\",\"v\":1,\"do\":\"propose\"}"));
    assert_null(facts().did);
    send_status("a", false, 0, ",\"did\":\"baseline\",\"tag\":\"t2\"");
    wait_until(facts().did_count == 1);
    assert_string_equal(facts().did, "baseline");
    assert_string_equal(facts().tag, "\"t2\"");
    send_status("a", false, 0, "");
    send_status("a", false, 0, ",\"did\":\"status\"");
    wait_until(facts().did_count == 2);
    assert_null(facts().tag);
}

static void test_what_cannot_be_read_is_counted(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    go_live("a", 0);
    struct rank_event_record event = {.group_size = 100};
    struct rank_steps_record steps = {.rank = -1};
    peer_send(lab->peer, FRAME_RANK_EVENT, "x", 1);
    peer_send(lab->peer, FRAME_RANK_EVENT, &event, sizeof event);
    peer_send(lab->peer, FRAME_RANK_STEPS, "x", 1);
    peer_send(lab->peer, FRAME_RANK_STEPS, &steps, sizeof steps);
    send_event(0, "", "nonsense");
    peer_send(lab->peer, FRAME_STATUS, "[]", 2);
    peer_send(lab->peer, 99, "later version", 13);
    send_event(0, "", PROBLEM);
    wait_until(lab->events == 1);
    assert_int_equal(facts().bad, 7);
    assert_true(is_state(SOURCE_LIVE));
}

static void test_a_frame_as_large_as_can_be(void **state) {
    (void)state;
    start_hub();
    start_viewer(false);
    go_live("a", 0);
    char *large = mem_new(FRAME_PAYLOAD_MAX);
    memset(large, 0xff, FRAME_PAYLOAD_MAX);
    peer_send(lab->peer, 50, large, FRAME_PAYLOAD_MAX); /* as large as can be: fine */
    send_event(0, "", PROBLEM);
    wait_until(lab->events == 1);
    free(large);
    assert_true(is_state(SOURCE_LIVE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_told_the_past_then_what_comes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_engine_that_listens_later_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_engine_comes_back_as_the_same, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_totals_of_another_engine_are_not_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_of_the_job_is_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_session_that_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_engine_is_asked_for_now_and_then, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_attaching_asks_for_a_missing_engine_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_second_engine_while_one_holds_the_lock, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_frame_as_large_as_can_be, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
