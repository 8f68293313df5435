/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/children.h"
#include "engine/base/banned.h"

enum { BURN_MS = 50 };

static void what_compiles_is_known_by_its_words(void **state) {
    (void)state;
    static const struct {
        const char *words;
        size_t size;
        bool compiles;
    } cases[] = {
#define WORDS(text) text, sizeof text
        {WORDS("g++\0-O3\0a.cpp"), true},
        {WORDS("/usr/bin/x86_64-linux-gnu-g++-12"), true},
        {WORDS("/opt/bin/ccache\0g++"), true},
        {WORDS("/usr/local/cuda/bin/ptxas\0-v"), true},
        {WORDS("python\0/x/torch/_inductor/compile_worker/__main__.py\0--workers=4"), true},
        {WORDS("python\0train.py"), false},
        {WORDS("python\0/home/g++/train.py"), false},
        {WORDS("/home/gcc/bin/python\0train.py"), false},
        {WORDS("cat"), false},
        {WORDS(""), false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(children_is_compiler(cases[i].words, cases[i].size), cases[i].compiles);
}

/* A child that shows these words, with one below it; both live until they are killed. */
static pid_t start(const char *words) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ready[1], STDOUT_FILENO);
        close(ready[0]);
        close(ready[1]);
        execl("/bin/sh", words, "-c", "head -c 20000000000 /dev/zero >/dev/null & trap \"kill $!\" TERM; echo ready; wait", NULL);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct children_figures mine(void) {
    struct children *children = children_read();
    struct children_figures figures = children_of(children, getpid());
    children_free(children);
    return figures;
}

static void a_compiler_counts_with_what_is_below_it_and_other_children_do_not(void **state) {
    (void)state;
    assert_int_equal(mine().processes, 0);
    pid_t other = start("loader");
    assert_int_equal(mine().processes, 0);
    pid_t compiler = start("g++");
    struct children_figures first = mine(), later = first;
    assert_int_equal(first.processes, 2);
    assert_true(first.rss_bytes >= 2 * (uint64_t)sysconf(_SC_PAGESIZE));
    time_t bound = time(NULL) + 60;
    while (later.cpu_ms < first.cpu_ms + BURN_MS && time(NULL) < bound) later = mine();
    assert_true(later.cpu_ms >= first.cpu_ms + BURN_MS); /* that of what is below it */
    stop(compiler);
    assert_int_equal(mine().processes, 0);
    stop(other);
}

static void burn(int ms) {
    struct timespec used;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
}

static void the_time_of_ended_children_is_told_once_they_were_waited_for(void **state) {
    (void)state;
    uint64_t before, running, after;
    assert_true(children_ended_ms(getpid(), &before));
    pid_t pid = fork();
    if (pid == 0) {
        burn(4 * BURN_MS);
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(children_ended_ms(getpid(), &running));
    assert_true(running == before);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(children_ended_ms(getpid(), &after));
    assert_true(after >= before + BURN_MS);
    assert_false(children_ended_ms(pid, &after));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_compiles_is_known_by_its_words),
        cmocka_unit_test(a_compiler_counts_with_what_is_below_it_and_other_children_do_not),
        cmocka_unit_test(the_time_of_ended_children_is_told_once_they_were_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
