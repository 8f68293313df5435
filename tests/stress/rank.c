/* A rank of the stress test: the gate and the sender of the product, around a training loop that
 * only takes time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/rank/sender.h"
#include "tests/stress/stress.h"
#include "engine/base/banned.h"

static int log_fd, my_rank;
static struct gate gate;
static struct sender sender;
static struct step_ring steps;
static struct frame_ring frames;
static struct states states;
static struct memory_sampler memory = {.fd = -1};

/* The slowest's count, as a rank would have it that loads a checkpoint of all. */
static uint64_t first_step(void *ctx) {
    (void)ctx;
    struct sim *sim = stress.sim;
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < stress.ranks; i++) {
        uint64_t done = atomic_load(&sim->done[i]), begun = atomic_load(&sim->begun[i]);
        if (atomic_load(&sim->live[i]) == 2 && done < low) low = done;
        if (begun > high) high = begun;
    }
    if (low == UINT64_MAX) low = high;
    atomic_store(&sim->begun[my_rank], low);
    atomic_store(&sim->done[my_rank], low);
    atomic_store(&sim->live[my_rank], 2);
    return low;
}

static bool prepare(void *ctx, uint32_t id, const uint8_t *payload, size_t size,
                    char ret_reason[GATE_REASON_ROOM]) {
    (void)ctx, (void)payload, (void)size;
    dprintf(log_fd, "V %u %lu\n", id, clock_now_ns());
    if (chance(0.2)) nap_us(chance_unit() * 2000);
    if (!chance(0.01)) return true;
    snprintf(ret_reason, GATE_REASON_ROOM, "by chance");
    return false;
}

/* Every eighth is a schedule of three entries. */
static uint64_t apply(void *ctx, uint32_t id, uint64_t count, uint32_t index) {
    (void)ctx;
    dprintf(log_fd, "S %u %lu %u\n", id, count, index);
    return id % 8 == 0 && index < 2 ? count + 2 + index : 0;
}

static void outcome(void *ctx, uint32_t id, uint64_t count, enum gate_outcome what) {
    (void)ctx;
    static const char *const letters[] = {[GATE_ABORTED] = "A", [GATE_MISSED] = "M", [GATE_DROPPED] = "D"};
    dprintf(log_fd, "%s %u %lu\n", letters[what], id, count);
}

static void waited(void *ctx, uint32_t id, uint64_t from_ns, uint64_t to_ns) {
    (void)ctx;
    dprintf(log_fd, "W %u %lu %lu\n", id, from_ns, to_ns);
}

static void kick(void *ctx) {
    (void)ctx;
    sender_kick(&sender);
}

static const struct gate_ops ops = {
    .first_step = first_step,
    .prepare = prepare,
    .apply = apply,
    .outcome = outcome,
    .waited = waited,
    .kick = kick,
};

static void fill_beat(struct beat_record *ret_beat) {
    ret_beat->step = gate_count(&gate);
}

static void nothing(int number) {
    (void)number;
}

static void start_sender(void) {
    const struct stress_hello hello = {
        .nonce = stress.page->nonce,
        .group = gate.seat.group,
        .slot = gate.seat.slot,
        .gen = gate.seat.gen,
        .pid = (uint32_t)getpid(),
    };
    const struct sender_sources from = {&steps, &frames, &states, &gate, &memory, fill_beat};
    if (sender_start(&sender, &from, stress.socket_path, &hello, sizeof hello)) _exit(4);
}

/* The model's work and its collectives: nobody runs far ahead of the slowest. */
static void take_time(double speed_us, uint64_t step) {
    struct sim *sim = stress.sim;
    double us = speed_us * (0.5 + chance_unit());
    if (chance(0.003))
        us += chance_unit() * 15000; /* evaluation, a checkpoint, garbage collection */
    if (us > 60) nap_us(us - 55);
    for (;;) {
        uint64_t low = UINT64_MAX;
        for (int i = 0; i < stress.ranks; i++)
            if (atomic_load(&sim->live[i]) && atomic_load(&sim->done[i]) < low)
                low = atomic_load(&sim->done[i]);
        if (step <= low + (uint64_t)stress.window || atomic_load(&sim->stop)) return;
        nap_us(30);
    }
}

void run_rank(int rank) {
    struct sim *sim = stress.sim;
    struct err err;
    my_rank = rank;
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    double speed_us = 20 + chance_unit() * chance_unit() * 1500;
    log_fd = open_log("rank.%d.%d", rank, (int)getpid());
    gate_init(&gate, &ops, NULL, 0);
    if (gate_join(&gate, stress.page, STRESS_KEY, (uint32_t)rank, 1, &err) < 0) {
        dprintf(log_fd, "E %s\n", err.message);
        _exit(3);
    }
    dprintf(log_fd, "J %lu %u\n", gate_count(&gate), gate.in_force);
    start_sender();
    uint64_t step = gate_count(&gate);
    while (!atomic_load(&sim->stop) && !atomic_load(&sim->quit[rank])) {
        take_time(speed_us, step);
        atomic_store(&sim->begun[rank], ++step);
        gate_boundary(&gate);
        atomic_store(&sim->done[rank], step);
    }
    dprintf(log_fd, "L %lu %lu\n", step, clock_now_ns());
    sender_stop(&sender);
    gate_leave(&gate);
    _exit(0);
}
