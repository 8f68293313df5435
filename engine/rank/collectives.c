/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/collectives.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/base/banned.h"

static const struct collective_door *door_of(struct collectives *collectives) {
    return atomic_load_explicit(&collectives->door, memory_order_acquire);
}

int collectives_open(struct collectives *collectives, const char *path, struct err *err) {
    if (door_of(collectives)) return 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *reason = dlerror();
        return err_set(err, ERR_MISSING, "could not open the plugin for NCCL: %s",
                       reason ? reason : "no reason given");
    }
    const struct collective_door *door = dlsym(library, NCCL_DOOR_SYMBOL);
    if (!door || door->version != COLLECTIVE_DOOR_VERSION)
        return err_set(err, ERR_INVALID, "the plugin for NCCL in '%s' is of another version", path);
    atomic_store_explicit(&collectives->door, door, memory_order_release);
    return 0;
}

static void watch(struct collectives *collectives, unsigned what) {
    if (what == collectives->watched) return;
    collectives->watched = what;
    door_of(collectives)->watch(what);
}

static void count_from(struct collectives *collectives, const struct collective_door *door,
                       uint64_t step) {
    door->read(&collectives->told);
    collectives->told_step = step;
    collectives->told_ns = clock_now_ns();
}

static void begin(struct collectives *collectives, const struct collective_door *door,
                  uint64_t step) {
    count_from(collectives, door, step);
    collectives->sample = SAMPLE_NONE;
    collectives->has_sampled = false;
    collectives->watched = COLLECTIVE_WATCH_CALLS;
    door->watch(collectives->watched);
}

void collectives_begin(struct collectives *collectives, uint64_t step) {
    const struct collective_door *door = door_of(collectives);
    if (door) begin(collectives, door, step);
}

void collectives_take(struct collectives *collectives, const struct collective_door *door,
                      uint64_t step) {
    if (door_of(collectives)) return;
    begin(collectives, door, step);
    atomic_store_explicit(&collectives->door, door, memory_order_release);
}

bool collectives_are_used(const struct collectives *collectives) {
    return collectives->told.version != 0;
}

void collectives_rest(struct collectives *collectives) {
    if (!door_of(collectives) || !collectives->watched) return;
    watch(collectives, COLLECTIVE_WATCH_CALLS);
    collectives->sample = SAMPLE_NONE;
}

void collectives_end(struct collectives *collectives) {
    if (door_of(collectives)) watch(collectives, 0);
}

/* ---- the event */

/* No number with a point in it is printed by printf(): the job's locale may have a comma there. */
struct text {
    char *at;
    size_t size, room;
};

static void ATTR_PRINTF(2, 3) put(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = text->size < text->room
                   ? vsnprintf(text->at + text->size, text->room - text->size, format, args)
                   : 0;
    va_end(args);
    text->size += size > 0 ? (size_t)size : 0;
}

static void put_ms(struct text *text, const char *name, uint64_t ns) {
    put(text, ",\"%s\":%" PRIu64 ".%06" PRIu64, name, ns / 1000000, ns % 1000000);
}

static struct collective_func_figures less(const struct collective_func_figures *now,
                                           const struct collective_func_figures *then) {
    return (struct collective_func_figures){
        .count = now->count - then->count,
        .bytes = now->bytes - then->bytes,
        .host_ns = now->host_ns - then->host_ns,
        .timed = now->timed - then->timed,
        .timed_ns = now->timed_ns - then->timed_ns,
    };
}

static void add(struct collective_func_figures *sum, const struct collective_func_figures *more) {
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->host_ns += more->host_ns;
    sum->timed += more->timed;
    sum->timed_ns += more->timed_ns;
}

static void put_by(struct text *text, const struct collective_figures *now,
                   const struct collective_figures *then) {
    static const char *const names[] = {
#define FUNC(symbol, name) name,
        COLLECTIVE_FUNCS(FUNC)
#undef FUNC
    };
    const char *before = "";
    put(text, ",\"by\":{");
    for (int f = 0; f < COLLECTIVE_FUNC_COUNT; f++) {
        struct collective_func_figures figures = less(&now->funcs[f], &then->funcs[f]);
        if (!figures.count) continue;
        put(text, "%s\"%s\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64, before, names[f],
            figures.count, figures.bytes);
        if (figures.timed) {
            put(text, ",\"timed\":%" PRIu64, figures.timed);
            put_ms(text, "timed_ms", figures.timed_ns);
        }
        put(text, "}");
        before = ",";
    }
    put(text, "}");
}

static void put_event(struct text *text, const struct collective_figures *now,
                      const struct collective_figures *then,
                      const struct collective_func_figures *sum) {
    put(text, ",\"count\":%" PRIu64 ",\"bytes\":%" PRIu64, sum->count, sum->bytes);
    if (now->version) put_ms(text, "host_ms", sum->host_ns);
    if (sum->timed) {
        put(text, ",\"timed\":%" PRIu64, sum->timed);
        put_ms(text, "timed_ms", sum->timed_ns);
    }
    put_by(text, now, then);
    if (now->captured) put(text, ",\"captured\":%" PRIu64, now->captured);
    if (now->version)
        put(text, ",\"comms\":%" PRIu64 ",\"api\":%" PRIu64, now->comms, now->version);
    if (now->ranks) put(text, ",\"ranks\":%" PRIu64, now->ranks);
    put(text, ",\"dropped\":%" PRIu64 ",\"strange\":%" PRIu64 "}", now->dropped, now->strange);
}

static bool is_time(uint64_t wall_ns) {
    return wall_ns % COLLECTIVES_PERIOD_NS < COLLECTIVES_TIMED_NS;
}

static bool is_second_over(const struct collectives *collectives, uint64_t now_ns, uint64_t step) {
    return now_ns - collectives->told_ns >= COLLECTIVES_TELL_NS && step > collectives->told_step;
}

/* True: a sample is complete. It begins and ends where a step does, as well as the turns see it. */
static bool sample(struct collectives *collectives, const struct collective_door *door,
                   uint64_t now_ns, uint64_t wall_ns, uint64_t step) {
    bool is_boundary = step != collectives->seen_step;
    collectives->seen_step = step;
    if (collectives->sample == SAMPLE_NONE) {
        if (collectives->has_sampled && !is_time(wall_ns)) return false;
        watch(collectives, COLLECTIVE_WATCH_CALLS | COLLECTIVE_WATCH_TIMES);
        collectives->sample = SAMPLE_NEXT_STEP;
    } else if (collectives->sample == SAMPLE_NEXT_STEP && is_boundary) {
        count_from(collectives, door, step);
        collectives->sample = SAMPLE_RUNS;
    } else if (is_boundary && is_second_over(collectives, now_ns, step)) {
        watch(collectives, COLLECTIVE_WATCH_CALLS);
        collectives->sample = SAMPLE_NONE;
        return collectives->has_sampled = true;
    }
    return false;
}

/* True: what is counted since `told` is to be told. */
static bool is_due(struct collectives *collectives, const struct collective_door *door,
                   const struct collective_figures *now, uint64_t now_ns, uint64_t wall_ns,
                   uint64_t step) {
    if (door->has_both) return sample(collectives, door, now_ns, wall_ns, step);
    bool is_timed = !now->captured && is_time(wall_ns);
    watch(collectives, COLLECTIVE_WATCH_CALLS | (is_timed ? COLLECTIVE_WATCH_TIMES : 0u));
    return is_second_over(collectives, now_ns, step);
}

size_t collectives_turn(struct collectives *collectives, uint64_t now_ns, uint64_t wall_ns,
                        uint64_t step, char *ret_event, size_t room) {
    const struct collective_door *door = door_of(collectives);
    struct collective_figures now;
    struct collective_func_figures sum = {0};
    if (!door || !collectives->watched) return 0;
    door->read(&now);
    if (!is_due(collectives, door, &now, now_ns, wall_ns, step)) return 0;
    struct collective_figures *then = &collectives->told;
    for (int f = 0; f < COLLECTIVE_FUNC_COUNT; f++) {
        struct collective_func_figures figures = less(&now.funcs[f], &then->funcs[f]);
        add(&sum, &figures);
    }
    bool has_news =
        sum.count || sum.timed || now.captured != then->captured || now.comms != then->comms;
    struct text text = {.at = ret_event, .room = room};
    put(&text,
        "{\"v\":1,\"kind\":\"collective\",\"ns\":%" PRIu64 ",\"step\":%" PRIu64
        ",\"steps\":%" PRIu64 ",\"backend\":\"%s\"",
        now_ns, step - 1, step - collectives->told_step, door->backend);
    put_event(&text, &now, then, &sum);
    *then = now;
    collectives->told_step = step;
    collectives->told_ns = now_ns;
    return has_news && text.size < room ? text.size : 0;
}
