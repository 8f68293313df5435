/* What a picture costs: snapshots of a store with 8 and 512 ranks at 2 Hz, what filling the store
 * costs, and the lines of a tape. CPU time of this process, so what else runs on the machine
 * matters little. Judges nothing. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/data/snapshot.h"
#include "engine/data/store.h"
#include "engine/event/event.h"
#include "engine/feed.h"
#include "engine/run/hub.h"
#include "engine/tape/replay.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

static double cpu_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void tell(struct store *store, char *line) {
    struct event event;
    for (char *at = line; *at; at++)
        if (*at == '\'') *at = '"';
    if (event_parse(line, strlen(line), 0, &event, NULL) >= 0) {
        store_take(store, &event, NULL);
        event_done(&event);
    }
    free(line);
}

static struct store *store_with(int ranks) {
    struct store *store = store_new();
    store_keep_views(store);
    for (int i = 0; i < ranks; i++) {
        tell(store, mem_printf("{'v':1,'kind':'rank','t':0,'rank':%d,'world':%d,'host':'h','pid':%"
                               "d,'python':'3.11','torch':"
                               "'2.13.0','device':'cpu','group':'run/0/"
                               "default','state':'hooked','switching':'live'}",
                               i, ranks, i + 1));
        tell(store,
             mem_printf(
                 "{'v':1,'kind':'unit','t':0,'rank':%d,'unit':0,'name':'Net','origin':'script'}",
                 i));
    }
    return store;
}

static struct step_record step_of(uint64_t step, double t, double ms) {
    return (struct step_record){.step = step,
                                .end_ns = (uint64_t)(t * 1e9),
                                .dur_ns = (uint64_t)(ms * 1e6),
                                .valid = STEP_HAS_RSS,
                                .rss_bytes = 600 << 20,
                                .why = step % 97 == 0 ? 2 : 0};
}

struct world {
    int ranks;
    double rate; /* steps a second and rank */
};

/* Seconds of training, then pictures at 2 Hz while it goes on. */
static void pictures(const struct world *world, double past_s) {
    enum { PICTURES = 60 };
    struct store *store = store_with(world->ranks);
    uint64_t step = 0, told = 0;
    double t = 0, feeding = 0, taking = 0;
    const struct snapshot *shown = NULL;
    for (int i = 0; i < PICTURES + 1; i++) {
        double until = i ? t + 0.5 : past_s, begin = cpu_s();
        for (; t < until; t += 1 / world->rate, step++)
            for (int rank = 0; rank < world->ranks; rank++, told++) {
                struct step_record record =
                    step_of(step, t, 1000 / world->rate * (1 + (double)(step * 31 % 17) / 100));
                store_step(store, &record, rank, "run/0/default", 0);
            }
        feeding += cpu_s() - begin;
        begin = cpu_s();
        const struct snapshot *next = snapshot_take(store, t);
        snapshot_unref(shown);
        shown = next;
        if (i) taking += cpu_s() - begin;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < shown->rank_count; i++)
        bytes += shown->ranks[i]->curve.count * sizeof(struct curve_point);
    printf("  %4d ranks %6.1f steps/s after %7.0f s: %8.3f ms a picture, %5.2f %% of a core at 2 "
           "Hz; filling %5.0f ns a step, "
           "%5.2f %% of a core; %5.1f MB of curves\n",
           world->ranks, world->rate, past_s, 1e3 * taking / PICTURES, 200 * taking / PICTURES,
           1e9 * feeding / (double)told, 100 * feeding / (double)told * world->ranks * world->rate,
           (double)bytes / 1e6);
    snapshot_unref(shown);
    store_free(store);
}

static void lines(void) {
    enum { MANY = 200000 };
    struct step_record record = step_of(123456, 1234.567890123, 31.923412), again;
    struct buf line = BUF_INIT;
    int rank = 0;
    double begin = cpu_s();
    for (int i = 0; i < MANY; i++) buf_clear(&line), event_step_print(&record, 7, 0, &line);
    double printing = cpu_s() - begin;
    begin = cpu_s();
    for (int i = 0; i < MANY; i++) event_step_parse(line.data, line.size, &again, &rank);
    double parsing = cpu_s() - begin;
    begin = cpu_s();
    for (int i = 0; i < MANY / 10; i++) {
        struct event event;
        event_from_step(&record, 7, 0, &event);
        buf_clear(&line);
        event_print(&event, &line);
        event_done(&event);
    }
    double slow_printing = 10 * (cpu_s() - begin);
    begin = cpu_s();
    for (int i = 0; i < MANY / 10; i++) {
        struct event event;
        if (event_parse(line.data, line.size, 0, &event, NULL) >= 0) event_done(&event);
    }
    double slow_parsing = 10 * (cpu_s() - begin);
    printf("a step as a line: written in %.0f ns (by JSON values %.0f), read in %.0f ns (%.0f)\n",
           1e9 * printing / MANY, 1e9 * slow_printing / MANY, 1e9 * parsing / MANY,
           1e9 * slow_parsing / MANY);
    buf_done(&line);
}

static void events(void) {
    enum { MANY = 20000 };
    struct store *store = store_with(8);
    double begin = cpu_s();
    for (int i = 0; i < MANY; i++)
        tell(store, mem_printf("{'v':1,'kind':'compile','t':%d,'rank':%d,'unit':0,'variant':0,'id':"
                               "'0/%d','frame':'forward m.py:3',"
                               "'trigger':'recompile','ms':800,'phases':{'dynamo':1.5,'aot':2},'"
                               "cause':'tensor x size mismatch at "
                               "index 0. expected 8, actual %d'}",
                               i / 100, i % 8, i, i));
    double taking = cpu_s() - begin;
    printf("a recompile with its cause, from its line into all lists: %.1f us\n",
           1e6 * taking / MANY);
    store_free(store);
}

/* ---- tapes */

static struct store *replayed;

static void take_event(void *ctx, const struct event *event, const char *group) {
    (void)ctx;
    store_take(replayed, event, group);
}

static void take_steps(void *ctx, const struct source_steps *steps) {
    struct step_record record;
    (void)ctx;
    memcpy(&record, steps->records, sizeof record);
    store_step(replayed, &record, steps->rank, NULL, 0);
}

static void nothing(void *ctx) {
    (void)ctx;
}

static void tape(void) {
    enum { STEPS = 20000, RANKS = 16 };
    char path[] = "/tmp/bench-tape-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    struct buf line = BUF_INIT;
    for (uint64_t step = 0; step < STEPS; step++)
        for (int rank = 0; rank < RANKS; rank++) {
            struct step_record record = step_of(step, (double)step / 10, 100);
            buf_clear(&line);
            event_step_print(&record, rank, 0, &line);
            fprintf(file, "%s\n", line.data);
        }
    double size = (double)ftell(file);
    fclose(file);
    buf_done(&line);
    struct replay *replay;
    struct source_sink sink = {take_event, take_steps, nothing, nothing, NULL};
    if (replay_open(path, &sink, &replay, NULL) == 0) {
        replayed = store_with(RANKS);
        double begin = cpu_s(), longest = 0;
        replay_seek(replay, 1e9);
        for (bool more = true; more;) {
            double turn = cpu_s();
            more = replay_turn(replay, 0);
            turn = cpu_s() - turn;
            if (turn > longest) longest = turn;
        }
        double taking = cpu_s() - begin;
        printf("a tape of %.0f MB, to its end: %.2f s, %.0f MB/s, %.2f million steps/s; the "
               "longest turn %.1f ms\n",
               size / 1e6, taking, size / 1e6 / taking, STEPS * RANKS / 1e6 / taking,
               1e3 * longest);
        store_free(replayed);
        replay_free(replay);
    }
    unlink(path);
}

/* ---- through the socket */

static struct peer *screen;

static void hub_frame(void *ctx, struct peer *peer, const struct frame *frame) {
    static const char status[] =
        "{\"v\":1,\"engine\":\"a\",\"start_ns\":0,\"past\":false,\"seq\":1}";
    (void)ctx, (void)frame;
    screen = peer;
    peer_send(peer, FRAME_STATUS, status, sizeof status - 1);
}

static void hub_gone(void *ctx, struct peer *peer) {
    (void)ctx, (void)peer;
}

static void send_steps(int rank, uint64_t step, size_t count) {
    struct rank_steps_record head = {.rank = rank, .group_size = 1};
    struct buf frame = BUF_INIT;
    buf_add(&frame, &head, sizeof head);
    buf_puts(&frame, "g");
    for (size_t i = 0; i < count; i++) {
        struct step_record record = step_of(step + i, (double)(step + i) / 1000, 1);
        buf_add(&frame, &record, sizeof record);
    }
    peer_send(screen, FRAME_RANK_STEPS, frame.data, frame.size);
    buf_done(&frame);
}

static void sockets(void) {
    enum { FRAMES = 4000, EACH = 16, RANKS = 64 };
    static const struct hub_ops ops = {.frame = hub_frame, .gone = hub_gone};
    char base[] = "/tmp/bench-XXXXXX", start[64];
    struct session session;
    uv_loop_t loop;
    if (!mkdtemp(base)) return;
    setenv("INDUCTOP_TMPDIR", base, 1);
    int size = snprintf(start, sizeof start, "{\"front\":[%d,%llu]}", (int)getpid(),
                        process_start(getpid()));
    if (session_create(&session, "bench", NULL, NULL) ||
        session_write(&session, "start.json", start, (size_t)size, NULL))
        return;
    char *path = session_path(&session, "sock");
    uv_loop_init(&loop);
    struct hub *hub = hub_new(&loop, path, &ops, NULL, NULL);
    struct feed_options options = {.loop = &loop, .session = &session};
    struct feed *feed = feed_attach(&options);
    while (feed_facts(feed).state != SOURCE_LIVE) uv_run(&loop, UV_RUN_ONCE);
    double begin = cpu_s();
    for (int i = 0; i < FRAMES; i++) {
        send_steps(i % RANKS, (uint64_t)(i / RANKS * EACH), EACH);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    while (peer_queued_bytes(screen)) uv_run(&loop, UV_RUN_NOWAIT);
    double taking = cpu_s() - begin;
    printf("engine to screen through the socket, both sides: %.0f ns a step, %d ranks at 1000 "
           "steps/s: %.1f %% of a core\n",
           1e9 * taking / FRAMES / EACH, RANKS, 100 * taking / FRAMES / EACH * RANKS * 1000);
    feed_free(feed);
    hub_free(hub);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    session_done(&session);
    free(path);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", base);
    if (system(command)) printf("%s is left\n", base);
}

int main(void) {
    static const struct world worlds[] = {{8, 10}, {8, 1000}, {512, 2}, {512, 20}};
    printf("pictures\n");
    for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
        pictures(&worlds[i], 10);
        if (worlds[i].ranks * worlds[i].rate < 2000) pictures(&worlds[i], 3600);
    }
    lines();
    events();
    tape();
    sockets();
    return 0;
}
