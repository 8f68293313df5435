/* The supervisor: starts, stops, kills and buries. See stress.h.
 *
 *     stress [-d DIR] [-n RANKS] [-w WINDOW] [-s SEED] [-t SECONDS] [-q] [PROPOSALS]
 *
 * Runs until that many proposals were opened on the page. Exit 1: the ranks hung. DIR keeps the
 * logs for verify.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/banned.h"

struct stress stress = {.ranks = 4, .window = 4, .goal = 500, .seed = 1, .limit_s = 100};

/* ---- chance, time, logs */

static uint64_t rng = 1;

void chance_init(uint64_t seed) {
    rng = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 8; i++) chance_bits();
}

uint64_t chance_bits(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

double chance_unit(void) {
    return (double)(chance_bits() >> 11) / 9007199254740992.0;
}

bool chance(double probability) {
    return chance_unit() < probability;
}

void nap_us(double us) {
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)(us / 1e6), .tv_nsec = (long)(us * 1e3) % 1000000000},
        NULL);
}

int open_log(const char *format, ...) {
    char path[256];
    int used = snprintf(path, sizeof path, "%s/", stress.dir);
    va_list args;
    va_start(args, format);
    vsnprintf(path + used, sizeof path - (size_t)used, format, args);
    va_end(args);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* ---- processes */

struct process {
    pid_t pid;
    int rank; /* -1: the engine */
    uint64_t stopped_ns, until_ns, restart_ns;
};

static struct process process[PAGE_SLOTS + 1];
static int stop_log;
static struct { unsigned long stops, kills, exits, engine_stops, engine_kills; } done;

static uint64_t slowest(void) {
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < stress.ranks; i++) {
        if (atomic_load(&stress.sim->live[i]) && atomic_load(&stress.sim->done[i]) < low)
            low = atomic_load(&stress.sim->done[i]);
        if (atomic_load(&stress.sim->begun[i]) > high) high = atomic_load(&stress.sim->begun[i]);
    }
    return low == UINT64_MAX ? high : low;
}

static void start(struct process *p) {
    if (p->rank >= 0) {
        uint64_t at = slowest();
        atomic_store(&stress.sim->begun[p->rank], at);
        atomic_store(&stress.sim->done[p->rank], at);
        atomic_store(&stress.sim->quit[p->rank], 0);
        atomic_store(&stress.sim->live[p->rank], 1);
    }
    p->restart_ns = p->stopped_ns = p->until_ns = 0;
    if ((p->pid = fork()) != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    chance_init(stress.seed ^ (uint64_t)getpid() << 20);
    if (p->rank >= 0) run_rank(p->rank);
    run_engine();
}

static void log_stop(struct process *p) {
    if (p->stopped_ns)
        dprintf(stop_log, "%d %lu %lu\n", (int)p->pid, p->stopped_ns, clock_now_ns());
    p->stopped_ns = 0;
}

static void let_go(struct process *p) {
    if (!p->stopped_ns) return;
    log_stop(p);
    kill(p->pid, SIGCONT);
}

static bool stop_for(struct process *p, double ms) {
    if (!p->pid || p->stopped_ns) return false;
    p->stopped_ns = clock_now_ns();
    p->until_ns = p->stopped_ns + (uint64_t)(ms * 1e6);
    kill(p->pid, SIGSTOP);
    return true;
}

static void bury(struct process *p, bool wait) {
    int status;
    if (!p->pid || waitpid(p->pid, &status, wait ? 0 : WNOHANG) != p->pid) return;
    log_stop(p);
    if (p->rank >= 0) {
        int log = open_log("rank.%d.%d", p->rank, (int)p->pid);
        dprintf(log, "X %lu %lu %d %lu\n", atomic_load(&stress.sim->done[p->rank]),
                atomic_load(&stress.sim->begun[p->rank]), status, clock_now_ns());
        close(log);
        atomic_store(&stress.sim->live[p->rank], 0);
    }
    p->restart_ns = clock_now_ns() + (uint64_t)(chance_unit() * (p->rank < 0 ? 20e6 : 60e6));
    p->pid = 0;
}

/* ---- cruelty: rates are per second */

static void be_cruel(double seconds) {
    struct process *engine = &process[stress.ranks],
                   *any = &process[chance_bits() % (unsigned)stress.ranks];
    if (chance(12 * seconds)) done.stops += stop_for(any, chance_unit() * (chance(0.8) ? 10 : 100));
    if (chance(5 * seconds)) done.engine_stops += stop_for(engine, chance_unit() * 70);
    if (chance(4 * seconds) && engine->pid) done.engine_kills += kill(engine->pid, SIGKILL) == 0;
    if (chance(1.5 * seconds)) done.exits++, atomic_store(&stress.sim->quit[any->rank], 1);
    if (chance(1.0 * seconds) && any->pid) done.kills += kill(any->pid, SIGKILL) == 0;
    if (chance(8 * seconds) && any->pid) kill(any->pid, SIGUSR1);
}

static bool supervise(void) {
    uint64_t begun = clock_now_ns(), moved = begun, last = begun, seen = 0;
    while (atomic_load(&stress.sim->opened) < stress.goal &&
           (double)(clock_now_ns() - begun) < stress.limit_s * 1e9) {
        nap_us(300);
        uint64_t now = clock_now_ns(), sum = 0;
        for (int i = 0; i <= stress.ranks; i++) {
            if (process[i].stopped_ns && now >= process[i].until_ns) let_go(&process[i]);
            if (!process[i].pid && now >= process[i].restart_ns) start(&process[i]);
            bury(&process[i], false);
        }
        if (!stress.calm) be_cruel((double)(now - last) / 1e9);
        last = now;
        for (int i = 0; i < stress.ranks; i++) sum += atomic_load(&stress.sim->done[i]);
        if (sum != seen) seen = sum, moved = now;
        if (now - moved > UINT64_C(10000000000)) return false; /* nobody stepped for 10 s */
    }
    return true;
}

static void end_all(bool hung) {
    atomic_store(&stress.sim->stop, 1);
    for (int i = 0; i <= stress.ranks; i++) {
        let_go(&process[i]);
        if (process[i].pid && (hung || process[i].rank < 0)) kill(process[i].pid, SIGKILL);
    }
    for (int i = 0; i <= stress.ranks; i++) bury(&process[i], true);
    for (int i = 0; i < 1000 && atomic_load(&stress.sim->ghosts) > 0; i++) nap_us(1000);
}

static void report(double seconds, bool hung) {
    struct sim *sim = stress.sim;
    printf("%d ranks, window %d: %.0f s, %lu proposals, %lu opened; ranks: %lu stops, %lu kills, "
           "%lu exits; engine: %lu stops, "
           "%lu kills, %lu at points, %lu ghosts%s\n",
           stress.ranks, stress.window, seconds, atomic_load(&sim->proposals),
           atomic_load(&sim->opened), done.stops, done.kills, done.exits, done.engine_stops,
           done.engine_kills, atomic_load(&sim->killed_at_points), atomic_load(&sim->ghosts_made),
           hung ? "; HUNG" : "");
    for (int i = 0; i < AGREEMENT_RESULT_COUNT; i++)
        if (atomic_load(&sim->result[i]))
            printf("    %6lu %s\n", atomic_load(&sim->result[i]), agreement_text(i));
}

static bool read_options(int argc, char **argv) {
    for (int option; (option = getopt(argc, argv, "d:n:w:s:t:q")) != -1;) switch (option) {
        case 'd': stress.dir = optarg; break;
        case 'n': stress.ranks = (int)strtol(optarg, NULL, 10); break;
        case 'w': stress.window = (int)strtol(optarg, NULL, 10); break;
        case 's': stress.seed = strtoul(optarg, NULL, 10); break;
        case 't': stress.limit_s = strtod(optarg, NULL); break;
        case 'q': stress.calm = true; break;
        default: return false;
        }
    if (optind < argc) stress.goal = strtoul(argv[optind], NULL, 10);
    return stress.ranks > 0 && stress.ranks <= PAGE_SLOTS && stress.goal > 0;
}

static bool set_up(void) {
    static char dir[] = "/tmp/inductop-stress-XXXXXX";
    char path[128];
    struct err err;
    if (!stress.dir && !(stress.dir = mkdtemp(dir))) return false;
    mkdir(stress.dir, 0700);
    snprintf(path, sizeof path, "%s/page", stress.dir);
    snprintf(stress.socket_path, sizeof stress.socket_path, "%s/sock", stress.dir);
    stress.sim =
        mmap(NULL, sizeof *stress.sim, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stop_log = open_log("stops");
    if (page_open(path, &stress.page, &err) == 0) return true;
    fprintf(stderr, "stress: %s\n", err.message);
    return false;
}

int main(int argc, char **argv) {
    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: stress [-d DIR] [-n RANKS] [-w WINDOW] [-s SEED] [-t SECONDS] [-q] "
                        "[PROPOSALS]\n");
        return 2;
    }
    if (!set_up()) return 2;
    chance_init(stress.seed);
    for (int i = 0; i <= stress.ranks; i++) {
        process[i].rank = i < stress.ranks ? i : -1;
        start(&process[i]);
    }
    uint64_t begun = clock_now_ns();
    bool hung = !supervise();
    double seconds = (double)(clock_now_ns() - begun) / 1e9;
    end_all(hung);
    report(seconds, hung);
    return hung;
}
