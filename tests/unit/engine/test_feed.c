/* An engine, a rank and screens on one loop: what a screen sees of a job.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/data/store.h"
#include "engine/engine.h"
#include "engine/feed.h"
#include "engine/viewers.h"
#include "engine/wire/frame.h"
#include "engine/wire/page.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

enum { BOUND_MS = 20000, SCREENS = 2 };

/* A socket that speaks frames, of a rank or of a screen that reads when it likes. */
struct wire {
    int fd;
    struct buf in;
};

struct rank {
    struct wire wire;
    struct page_seat seat;
    uint64_t step;
    uint32_t seq, variant;
};

static struct lab {
    char base[32];
    uv_loop_t loop;
    struct session session;
    pid_t job, rank_pid; /* rank_pid: that ranks say; 0: ours */
    struct engine *engine;
    struct page *page;
    uint64_t start_ns;
    struct feed *feeds[SCREENS];
    bool is_over;
} * lab;

/* ---- waiting */

static void over(uv_timer_t *timer) {
    (void)timer;
    lab->is_over = true;
}

static void turn_feeds(void) {
    for (int i = 0; i < SCREENS; i++)
        if (lab->feeds[i]) feed_turn(lab->feeds[i], clock_now_ns());
}

#define wait_until(condition)                                                                      \
    do {                                                                                           \
        uv_timer_t timer;                                                                          \
        uv_timer_init(&lab->loop, &timer);                                                         \
        lab->is_over = false;                                                                      \
        uv_timer_start(&timer, over, BOUND_MS, 0);                                                 \
        while (!(condition) && !lab->is_over) uv_run(&lab->loop, UV_RUN_ONCE), turn_feeds();       \
        uv_close((uv_handle_t *)&timer, NULL);                                                     \
        uv_run(&lab->loop, UV_RUN_NOWAIT);                                                         \
        if (lab->is_over) fail_msg("not in time: " #condition);                                    \
    } while (0)

/* ---- the wire */

static void wire_connect(struct wire *wire) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *path = session_path(&lab->session, "sock");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    free(path);
    *wire = (struct wire){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(wire->fd, (struct sockaddr *)&address, sizeof address), 0);
    fcntl(wire->fd, F_SETFL, O_NONBLOCK);
}

static void wire_close(struct wire *wire) {
    if (wire->fd > 0) close(wire->fd);
    buf_done(&wire->in);
    *wire = (struct wire){0};
}

/* The loop runs while the other side has no room. */
static void wire_send(struct wire *wire, uint8_t type, const void *payload, size_t size) {
    struct buf out = BUF_INIT;
    uint8_t header[FRAME_HEADER_SIZE];
    frame_header(header, type, (uint32_t)size);
    buf_add(&out, header, sizeof header);
    buf_add(&out, payload, size);
    for (size_t at = 0; at < out.size;) {
        ssize_t n = send(wire->fd, out.data + at, out.size - at, MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        else if (errno == EAGAIN)
            uv_run(&lab->loop, UV_RUN_NOWAIT);
        else
            fail_msg("send: %s", strerror(errno));
    }
    buf_done(&out);
}

/* The next frame if one has come; its bytes stay until the next call. */
static bool wire_next(struct wire *wire, struct frame *ret) {
    static size_t used;
    char bytes[65536];
    buf_drop(&wire->in, used < wire->in.size ? used : wire->in.size);
    used = 0;
    for (;;) {
        long n =
            wire->in.size ? frame_parse((const uint8_t *)wire->in.data, wire->in.size, ret) : 0;
        if (n > 0) {
            used = (size_t)n;
            return true;
        }
        ssize_t got = recv(wire->fd, bytes, sizeof bytes, 0);
        if (got <= 0) return false;
        buf_add(&wire->in, bytes, (size_t)got);
    }
}

/* ---- a rank */

__attribute__((format(printf, 3, 4))) static void rank_tells(struct rank *rank, const char *kind,
                                                             const char *format, ...) {
    char fields[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(fields, sizeof fields, format, args);
    va_end(args);
    char *line =
        mem_printf("{'v':1,'kind':'%s','ns':%" PRIu64 ",%s}", kind, clock_now_ns(), fields);
    for (size_t i = 0; line[i]; i++)
        if (line[i] == '\'') line[i] = '"';
    wire_send(&rank->wire, FRAME_EVENT, line, strlen(line));
    free(line);
}

static struct page_slot *slot_of(const struct rank *rank) {
    return &lab->page->group[rank->seat.group].slot[rank->seat.slot];
}

static void rank_starts(struct rank *rank, const char *group, uint32_t number) {
    struct err err;
    char hello[400];
    *rank = (struct rank){0};
    if (page_take_seat(lab->page, group, number, 1, &rank->seat, &err)) fail_msg("%s", err.message);
    slot_of(rank)->look = PAGE_REST;
    wire_connect(&rank->wire);
    int size = snprintf(hello, sizeof hello,
                        "{\"v\":1,\"role\":\"rank\",\"pid\":%d,\"group\":\"%s\",\"group_index\":%u,"
                        "\"slot\":%u,\"gen\":%u,"
                        "\"nonce\":\"%016" PRIx64 "\"}",
                        (int)(lab->rank_pid ? lab->rank_pid : getpid()), group, rank->seat.group,
                        rank->seat.slot, rank->seat.gen, lab->page->nonce);
    wire_send(&rank->wire, FRAME_HELLO, hello, (size_t)size);
    rank_tells(rank, "rank",
               "'rank':%u,'world':1,'host':'h','pid':%d,'python':'3.11','torch':'2.13','device':'"
               "cpu','group':'%s',"
               "'state':'hooked','switching':'live'",
               number, (int)getpid(), group);
    rank_tells(rank, "unit", "'rank':%u,'unit':0,'name':'Net','origin':'script'", number);
}

static void rank_steps(struct rank *rank, size_t count) {
    struct step_record records[16];
    while (count) {
        size_t n = 0;
        for (; n < 16 && count; n++, count--)
            records[n] = (struct step_record){.step = rank->step++,
                                              .end_ns = clock_now_ns(),
                                              .dur_ns = 2000000,
                                              .variant = rank->variant,
                                              .seq = rank->seq++};
        wire_send(&rank->wire, FRAME_STEPS, records, n * sizeof records[0]);
    }
    atomic_store(&slot_of(rank)->step, rank->step);
}

/* Waits for PREPARE and votes; returns the proposal's id. */
static uint32_t rank_votes(struct rank *rank) {
    struct frame frame = {0};
    struct prepare_record prepare;
    wait_until(wire_next(&rank->wire, &frame) && frame.type == FRAME_PREPARE);
    memcpy(&prepare, frame.payload, sizeof prepare);
    atomic_store(&slot_of(rank)->voted, prepare.id);
    wire_send(&rank->wire, FRAME_VOTE, &(struct vote_record){.id = prepare.id, .ready = 1},
              sizeof(struct vote_record));
    return prepare.id;
}

/* ---- screens */

static int no_engine(const struct session *session, struct err *err) {
    (void)session;
    return err_set(err, ERR_REFUSED, "not here");
}

static void screen_starts(int i) {
    struct feed_options options = {
        .loop = &lab->loop, .session = &lab->session, .start_engine = no_engine};
    lab->feeds[i] = feed_attach(&options);
    wait_until(feed_facts(lab->feeds[i]).state == SOURCE_LIVE);
}

static void screen_ends(int i) {
    feed_free(lab->feeds[i]);
    lab->feeds[i] = NULL;
}

static const struct snapshot *shown;

/* The picture of a screen just now; the one before goes. */
static const struct snapshot *look(int i) {
    snapshot_unref(shown);
    return shown = feed_snapshot(lab->feeds[i]);
}

static const struct snapshot_rank *rank_of(int i) {
    const struct snapshot *snapshot = look(i);
    return snapshot->rank_count ? snapshot->ranks[0] : NULL;
}

static uint64_t steps_of(int i) {
    return rank_of(i) ? rank_of(i)->steps : 0;
}

/* ---- set up */

static int set_up(void **state) {
    struct err err;
    lab = mem_new(sizeof *lab);
    *state = lab;
    snprintf(lab->base, sizeof lab->base, "/tmp/feed-XXXXXX");
    assert_non_null(mkdtemp(lab->base));
    setenv("INDUCTOP_TMPDIR", lab->base, 1);
    uv_loop_init(&lab->loop);
    if (session_create(&lab->session, "job", NULL, &err)) fail_msg("%s", err.message);
    lab->job = fork();
    if (lab->job == 0)
        for (;;) pause();
    lab->start_ns = clock_now_ns();
    char *start = mem_printf(
        "{\"v\":1,\"name\":\"job\",\"command\":[\"a\",\"b\"],\"start\":\"s\",\"start_ns\":%" PRIu64
        ",\"baseline\":\"off\",\"plan\":[],\"front\":[%d,%llu]}",
        lab->start_ns, (int)lab->job, process_start(lab->job));
    assert_int_equal(session_write(&lab->session, "start.json", start, strlen(start), &err), 0);
    free(start);
    struct engine_options options = {.session = &lab->session, .job = lab->job};
    char *page = session_path(&lab->session, "page");
    if (engine_new(&lab->loop, &options, &lab->engine, &err)) fail_msg("%s", err.message);
    if (page_open(page, &lab->page, &err)) fail_msg("%s", err.message);
    free(page);
    return 0;
}

static void end_job(void) {
    if (!lab->job) return;
    session_write(&lab->session, "exit", "exit 3\n", 7, NULL);
    kill(lab->job, SIGKILL);
    waitpid(lab->job, NULL, 0);
    lab->job = 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snapshot_unref(shown);
    shown = NULL;
    for (int i = 0; i < SCREENS; i++) feed_free(lab->feeds[i]);
    end_job();
    engine_run(lab->engine);
    engine_free(lab->engine);
    uv_run(&lab->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&lab->loop), 0);
    page_close(lab->page);
    session_done(&lab->session);
    snprintf(command, sizeof command, "rm -rf %s", lab->base);
    assert_int_equal(system(command), 0);
    free(lab);
    return 0;
}

/* ---- */

static void test_a_screen_that_comes_late_sees_it_all(void **state) {
    (void)state;
    struct rank rank;
    rank_starts(&rank, "run/0", 0);
    rank_steps(&rank, 3000);
    for (int i = 0; i < 700; i++) /* more than are kept */
        rank_tells(
            &rank, "compile",
            "'rank':0,'unit':0,'variant':0,'id':'0/%d','trigger':'recompile','ms':1,'cause':'c'",
            i);
    rank_tells(&rank, "break",
               "'rank':0,'unit':0,'variant':0,'file':'a.py','line':3,'reason':'r','count':1");
    rank_tells(&rank, "problem", "'what':'w','text':'the last of it'");
    wait_until(store_problem_count(engine_store(lab->engine)) > 0);
    screen_starts(0);
    const struct snapshot_rank *seen = rank_of(0);
    assert_non_null(seen);
    assert_int_equal(seen->steps, 3000);
    assert_int_equal(seen->step, 2999);
    assert_true(seen->compiles == 700 && seen->recompiles == 700 && seen->breaks == 1);
    assert_true(seen->median_ms == 2 && seen->uses[0].clean == 3000 && seen->curve.count > 200);
    assert_string_equal(seen->who->torch, "2.13");
    assert_string_equal(seen->who->group, "run/0");
    assert_string_equal(shown->job->command, "a b");
    assert_true(shown->cause_count == 1 && shown->causes[0]->count == 700 &&
                shown->break_count == 1);
    size_t last = shown->event_count - 1;
    while (shown->events[last]->kind == EVENT_FINDING) last--; /* the engine may have looked by now */
    assert_string_equal(shown->events[last]->text, "the last of it");
    assert_string_equal(seen->units->units[0].name, "Net");
    double now = (double)(clock_now_ns() - lab->start_ns) / 1e9;
    assert_true(fabs(shown->now - now) < 5);
    rank_steps(&rank, 100);
    wait_until(steps_of(0) == 3100);
    assert_int_equal(rank_of(0)->uses[0].clean, 3100);
    wire_close(&rank.wire);
}

static void test_ranks_of_the_same_number_are_told_apart(void **state) {
    (void)state;
    struct rank a, b;
    rank_starts(&a, "pid/1", 0);
    rank_starts(&b, "pid/2", 0);
    screen_starts(0);
    rank_steps(&a, 5);
    rank_steps(&b, 7);
    for (int i = 0; i < 3; i++)
        rank_tells(&a, "compile", "'rank':0,'variant':0,'id':'0/%d','trigger':'first','ms':1", i);
    wait_until(look(0)->rank_count == 2 && shown->ranks[0]->compiles == 3 &&
               shown->ranks[1]->steps == 7);
    assert_string_equal(shown->ranks[0]->who->group, "pid/1");
    assert_int_equal(shown->ranks[0]->steps, 5);
    assert_int_equal(shown->ranks[1]->compiles, 0);
    wire_close(&a.wire);
    wire_close(&b.wire);
}

static void test_losses_are_seen(void **state) {
    (void)state;
    struct rank rank;
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 5);
    screen_starts(0);
    rank.seq += 10;
    rank_steps(&rank, 5);
    wait_until(steps_of(0) == 10);
    assert_true(rank_of(0)->dropped[0] == 10 && shown->dropped[0] == 10);
    wire_close(&rank.wire);
}

static bool is_settled(int i, enum switch_status status) {
    const struct snapshot *snapshot = look(i);
    return snapshot->switch_count &&
           snapshot->switches[snapshot->switch_count - 1]->status == status;
}

static int propose(int i, const char *text, const char *tag) {
    struct settings change = SETTINGS_INIT;
    struct err err;
    if (settings_parse_change(text, &change, &err)) fail_msg("%s", err.message);
    int rc = feed_propose(lab->feeds[i], &change, NULL, tag, &err);
    settings_done(&change);
    return rc;
}

static void test_a_proposal_rank_by_rank(void **state) {
    (void)state;
    struct rank rank;
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 20);
    screen_starts(0);
    wait_until(steps_of(0) == 20);
    assert_int_equal(propose(0, "dynamic=on", "mine"), 0);
    uint32_t id = rank_votes(&rank);
    wait_until(is_settled(0, SWITCH_COMMITTED));
    const struct snapshot_switch *pending = snapshot_pending(shown, "g");
    assert_non_null(pending);
    assert_string_equal(pending->tag, "\"mine\"");
    assert_int_equal(pending->by_rank[0], SWITCH_READY);
    assert_true(pending->has_at && pending->at == 22);
    uint32_t variant = pending->variant;
    rank_steps(&rank, 2);
    rank.variant = variant;
    rank_tells(&rank, "switch",
               "'rank':0,'id':%u,'by':'viewer','from':{},'to':{'dynamic':'on'},'variant':%u,'"
               "status':'applied','at':22,"
               "'ran':{'Net':'variant'},'lost_ms':40",
               id, variant);
    rank_steps(&rank, 2);
    wait_until(is_settled(0, SWITCH_APPLIED) && !snapshot_pending(shown, "g"));
    const struct snapshot_group *group = shown->groups[shown->ranks[0]->group];
    assert_string_equal(snapshot_pair(group->settings, "dynamic"), "on");
    assert_string_equal(snapshot_pair(group->evidence, "Net"), "variant");
    assert_true(shown->switches[0]->lost_ms == 40);
    wire_close(&rank.wire);
}

static const char *last_problem(int i) {
    const struct snapshot *snapshot = look(i);
    return snapshot->problem_count ? snapshot->problems[snapshot->problem_count - 1]->text : "";
}

static void test_one_screen_is_in_charge(void **state) {
    (void)state;
    struct rank rank;
    struct err err;
    rank_starts(&rank, "g", 0);
    screen_starts(0);
    screen_starts(1);
    assert_true(feed_facts(lab->feeds[0]).is_in_charge);
    assert_false(feed_facts(lab->feeds[1]).is_in_charge);
    wait_until(feed_facts(lab->feeds[0]).screens == 2);
    assert_int_equal(propose(1, "dynamic=on", NULL), 0);
    wait_until(strstr(last_problem(1), "another screen is in charge"));
    assert_string_equal(last_problem(0), "");
    assert_int_equal(look(0)->switch_count, 0);
    assert_int_equal(feed_take_over(lab->feeds[1], "t", &err), 0);
    wait_until(feed_facts(lab->feeds[1]).is_in_charge && !feed_facts(lab->feeds[0]).is_in_charge);
    wait_until(feed_facts(lab->feeds[1]).did_count == 1);
    assert_string_equal(feed_facts(lab->feeds[1]).did, "take over");
    assert_string_equal(feed_facts(lab->feeds[1]).tag, "\"t\"");
    screen_ends(1);
    wait_until(feed_facts(lab->feeds[0]).is_in_charge && feed_facts(lab->feeds[0]).screens == 1);
    wire_close(&rank.wire);
}

static void test_a_command_without_a_screen_is_always_taken(void **state) {
    (void)state;
    static const char hello[] = "{\"v\":1,\"role\":\"viewer\"}",
                      command[] = "{\"v\":1,\"do\":\"propose\",\"change\":{}}";
    struct rank rank;
    struct wire wire;
    struct frame frame = {0};
    rank_starts(&rank, "g", 0);
    screen_starts(0);
    wire_connect(&wire);
    wire_send(&wire, FRAME_HELLO, hello, sizeof hello - 1);
    wire_send(&wire, FRAME_COMMAND, command, sizeof command - 1);
    wait_until(wire_next(&wire, &frame) &&
               memmem(frame.payload, frame.size, "nothing to change", 17));
    assert_int_equal(frame.type, FRAME_EVENT);
    assert_int_equal(feed_facts(lab->feeds[0]).screens, 1);
    wire_close(&wire);
    wire_close(&rank.wire);
}

static void test_a_baseline_when_asked(void **state) {
    (void)state;
    struct rank rank;
    struct err err;
    struct frame frame = {0};
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 30);
    screen_starts(0);
    wait_until(steps_of(0) == 30);
    assert_int_equal(feed_baseline(lab->feeds[0], "other", NULL, &err), 0);
    wait_until(strstr(last_problem(0), "no rank of that group"));
    assert_int_equal(feed_baseline(lab->feeds[0], NULL, "b", &err), 0);
    wait_until(feed_facts(lab->feeds[0]).did_count == 1);
    assert_string_equal(feed_facts(lab->feeds[0]).did, "baseline");
    rank_steps(&rank, 15);
    wait_until(wire_next(&rank.wire, &frame) && frame.type == FRAME_PREPARE);
    assert_non_null(memmem(frame.payload, frame.size, "\"by\":\"baseline\"", 15));
    assert_non_null(memmem(frame.payload, frame.size, "eager", 5));
    assert_int_equal(feed_baseline(lab->feeds[0], NULL, "c", &err), 0);
    wait_until(strstr(last_problem(0), "a measurement is under way"));
    wire_close(&rank.wire);
}

static void test_a_command_that_is_not_known(void **state) {
    (void)state;
    static const char hello[] = "{\"v\":1,\"role\":\"viewer\"}",
                      command[] = "{\"v\":1,\"do\":\"dance\",\"tag\":5}";
    struct wire wire;
    struct frame frame = {0};
    wire_connect(&wire);
    wire_send(&wire, FRAME_HELLO, hello, sizeof hello - 1);
    wire_send(&wire, FRAME_COMMAND, command, sizeof command - 1);
    wait_until(wire_next(&wire, &frame));
    assert_non_null(memmem(frame.payload, frame.size, "not known", 9));
    assert_non_null(memmem(frame.payload, frame.size, "\"tag\":5", 7));
    wire_close(&wire);
}

/* What a screen that reads by hand has got. */
struct got {
    size_t events, steps, statuses;
    int64_t missed_events, missed_steps, seq;
    bool is_live;
    char state[16]; /* of rank 0, as told last */
};

static void read_all(struct wire *wire, struct got *got) {
    struct frame frame;
    while (wire_next(wire, &frame)) {
        if (frame.type == FRAME_RANK_STEPS) got->steps++;
        if (frame.type == FRAME_RANK_EVENT) {
            struct rank_event_record head;
            memcpy(&head, frame.payload, sizeof head);
            size_t before = sizeof head + head.group_size;
            json_t *event =
                json_loadb((const char *)frame.payload + before, frame.size - before, 0, NULL);
            const char *state = json_string_value(json_object_get(event, "state"));
            if (state && json_object_get(event, "rank"))
                snprintf(got->state, sizeof got->state, "%s", state);
            json_decref(event);
            got->events++;
        }
        if (frame.type != FRAME_STATUS) continue;
        json_t *status = json_loadb((const char *)frame.payload, frame.size, 0, NULL);
        got->statuses++;
        got->is_live = !json_is_true(json_object_get(status, "past"));
        got->seq = json_integer_value(json_object_get(status, "seq"));
        got->missed_events =
            json_integer_value(json_object_get(json_object_get(status, "missed"), "events"));
        got->missed_steps =
            json_integer_value(json_object_get(json_object_get(status, "missed"), "steps"));
        json_decref(status);
    }
}

static void test_a_screen_that_does_not_read_costs_nothing_and_catches_up(void **state) {
    (void)state;
    static const char hello[] = "{\"v\":1,\"role\":\"viewer\",\"screen\":true}";
    struct rank rank;
    struct wire stopped;
    struct got got = {0};
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = 0;
    rank_starts(&rank, "g", 0);
    wire_connect(&stopped);
    wire_send(&stopped, FRAME_HELLO, hello, sizeof hello - 1);
    wait_until((read_all(&stopped, &got), got.is_live));
    screen_starts(0);
    for (int i = 0; i < 8000; i++)
        rank_tells(&rank, "problem", "'what':'w','text':'%d %s'", i, text);
    rank_steps(&rank, 1000);
    rank_tells(&rank, "rank",
               "'rank':0,'host':'h','pid':1,'python':'3','group':'g','state':'stalled'");
    wait_until(steps_of(0) == 1000 &&
               strcmp(rank_of(0)->who->state, "stalled") == 0); /* others see all */
    got = (struct got){0};
    wait_until((read_all(&stopped, &got), got.is_live && got.statuses >= 2));
    assert_string_equal(got.state, "stalled");
    assert_true(got.events < 8000 && got.missed_events > 1000);
    assert_int_equal(got.missed_steps, 1000);
    rank_tells(&rank, "problem", "'what':'w','text':'y'");
    size_t before = got.events;
    wait_until((read_all(&stopped, &got), got.events == before + 1));
    wire_close(&stopped);
    wire_close(&rank.wire);
}

static void test_who_comes_back_is_told_what_came_meanwhile(void **state) {
    (void)state;
    struct wire wire;
    struct rank rank;
    struct got got = {0};
    static const char first[] = "{\"v\":1,\"role\":\"viewer\",\"screen\":true}";
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 10);
    wire_connect(&wire);
    wire_send(&wire, FRAME_HELLO, first, sizeof first - 1);
    wait_until((read_all(&wire, &got), got.is_live && got.seq >= 3));
    assert_true(got.events >= 3);
    /* the id of the engine is the one in the last STATUS: ask again */
    static const char ask[] = "{\"v\":1,\"do\":\"status\"}";
    struct frame frame = {0};
    wire_send(&wire, FRAME_COMMAND, ask, sizeof ask - 1);
    wait_until(wire_next(&wire, &frame) && frame.type == FRAME_STATUS);
    json_t *status = json_loadb((const char *)frame.payload, frame.size, 0, NULL);
    char *again =
        mem_printf("{\"v\":1,\"role\":\"viewer\",\"screen\":true,\"engine\":\"%s\",\"since\":%lld}",
                   json_string_value(json_object_get(status, "engine")),
                   (long long)json_integer_value(json_object_get(status, "seq")));
    json_decref(status);
    wire_close(&wire);
    rank_tells(&rank, "problem", "'what':'w','text':'meanwhile'");
    wait_until(store_problem_count(engine_store(lab->engine)) == 1);
    wire_connect(&wire);
    wire_send(&wire, FRAME_HELLO, again, strlen(again));
    free(again);
    got = (struct got){0};
    wait_until((read_all(&wire, &got), got.is_live));
    assert_int_equal(got.events, 2); /* the problem and the totals */
    assert_int_equal(got.steps, 0);
    wire_close(&wire);
    wire_close(&rank.wire);
}

static void test_a_rank_that_is_being_killed_is_lost_in_the_end(void **state) {
    (void)state;
    struct rank rank;
    lab->rank_pid = fork();
    if (lab->rank_pid == 0)
        for (;;) pause();
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 10);
    screen_starts(0);
    wait_until(steps_of(0) == 10);
    wire_close(&rank.wire);
    wait_until(strcmp(rank_of(0)->who->state, "stalled") == 0);
    kill(lab->rank_pid, SIGKILL);
    waitpid(lab->rank_pid, NULL, 0);
    wait_until(strcmp(rank_of(0)->who->state, "lost") == 0);
    assert_int_equal(snapshot_activity(shown, shown->ranks[0]), ACTIVITY_LOST);
}

static void test_the_end(void **state) {
    (void)state;
    struct rank rank;
    rank_starts(&rank, "g", 0);
    rank_steps(&rank, 10);
    screen_starts(0);
    wait_until(steps_of(0) == 10);
    wire_close(&rank.wire);
    wait_until(strcmp(rank_of(0)->who->state, "stalled") == 0);
    end_job();
    wait_until(feed_facts(lab->feeds[0]).state == SOURCE_ENDED);
    assert_true(look(0)->job->has_exit && shown->job->exit == 3);
    assert_string_equal(shown->job->state, "ended");
    assert_int_equal(shown->ranks[0]->steps, 10);
    double now = shown->now;
    feed_turn(lab->feeds[0], clock_now_ns() + UINT64_C(60000000000));
    assert_true(look(0)->now == now);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_screen_that_comes_late_sees_it_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_ranks_of_the_same_number_are_told_apart, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_losses_are_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_proposal_rank_by_rank, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_screen_is_in_charge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_command_without_a_screen_is_always_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_baseline_when_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_command_that_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_screen_that_does_not_read_costs_nothing_and_catches_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_comes_back_is_told_what_came_meanwhile, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_rank_that_is_being_killed_is_lost_in_the_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_end, set_up, tear_down),
    };
    signal(SIGPIPE, SIG_IGN); /* as every process of ours with a loop */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
