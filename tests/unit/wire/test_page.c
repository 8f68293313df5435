/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/wire/page.h"
#include "engine/base/banned.h"

static char dir[64], path[96];
static struct page *page;

static int set_up(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/inductop-test-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/page", dir);
    return page_open(path, &page, NULL);
}

static int tear_down(void **state) {
    (void)state;
    page_close(page);
    unlink(path);
    return rmdir(dir);
}

static void test_word_keeps_its_three_parts(void **state) {
    (void)state;
    static const struct {
        uint64_t step;
        uint32_t id;
        unsigned low;
    } rows[] = {
        {0, 0, 0}, {1, 1, 1}, {PAGE_STEP_NEVER, PAGE_ID_MAX, 3}, {123456789012, 4000000, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        page_word word = page_pack(rows[i].step, rows[i].id, rows[i].low);
        assert_true(page_step(word) == rows[i].step);
        assert_int_equal(page_id(word), rows[i].id);
        assert_int_equal(page_low(word), rows[i].low);
    }
}

static void test_open_gives_every_party_the_same_page(void **state) {
    (void)state;
    struct page *again;
    assert_int_equal(page_open(path, &again, NULL), 0);
    assert_true(page->nonce == again->nonce);
    atomic_store(&page->group[7].word, 42);
    assert_true(atomic_load(&again->group[7].word) == 42);
    page_close(again);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, sizeof(struct page));
    assert_true((size_t)st.st_blocks * 512 >= sizeof(struct page));
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_open_refuses_what_is_no_page(void **state) {
    (void)state;
    char other[128], text[256];
    struct page *none;
    struct err err;
    snprintf(other, sizeof other, "%s/other", dir);
    int fd = open(other, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_true(page_open(other, &none, &err) < 0);
    snprintf(text, sizeof text, "file '%s' is no decision page of this version", other);
    assert_string_equal(err.message, text);
    assert_int_equal(ftruncate(fd, sizeof(struct page)), 0);
    assert_true(page_open(other, &none, &err) < 0);
    close(fd);
    unlink(other);
    assert_int_equal(symlink(path, other), 0);
    assert_true(page_open(other, &none, &err) < 0);
    unlink(other);
}

static void test_ids_are_never_given_twice_and_end(void **state) {
    (void)state;
    assert_int_equal(page_new_id(page), 1);
    assert_int_equal(page_new_id(page), 2);
    atomic_store(&page->ids, PAGE_ID_MAX - 1);
    assert_int_equal(page_new_id(page), PAGE_ID_MAX);
    assert_int_equal(page_new_id(page), 0);
    assert_int_equal(page_new_id(page), 0);
}

static void test_ranks_of_a_key_share_a_group(void **state) {
    (void)state;
    struct page_seat a, b, c;
    char key[PAGE_KEY_ROOM];
    assert_int_equal(page_find_group(page, "run/0/train"), -1);
    assert_int_equal(page_take_seat(page, "run/0/train", 0, 2, &a, NULL), 0);
    assert_int_equal(page_take_seat(page, "run/0/train", 1, 2, &b, NULL), 0);
    assert_int_equal(page_take_seat(page, "run/1/train", 0, 2, &c, NULL), 0);
    assert_int_equal(a.group, b.group);
    assert_int_not_equal(a.group, c.group);
    assert_int_equal(page_find_group(page, "run/0/train"), (int)a.group);
    page_group_key(&page->group[a.group], key);
    assert_string_equal(key, "run/0/train");
    assert_int_equal(atomic_load(&page->group[a.group].world), 2);
    assert_int_equal(atomic_load(&page->group[b.group].slot[b.slot].rank), 1);
}

static void test_long_key_is_cut_in_the_text_only(void **state) {
    (void)state;
    char long_key[300], other_key[300], text[PAGE_KEY_ROOM];
    memset(long_key, 'k', sizeof long_key);
    long_key[299] = 0;
    memcpy(other_key, long_key, sizeof other_key);
    other_key[298] = 'x';
    struct page_seat a, b;
    assert_int_equal(page_take_seat(page, long_key, 0, 1, &a, NULL), 0);
    assert_int_equal(page_take_seat(page, other_key, 0, 1, &b, NULL), 0);
    assert_int_not_equal(a.group, b.group);
    page_group_key(&page->group[a.group], text);
    assert_int_equal(strlen(text), PAGE_KEY_ROOM - 1);
}

/* A child that sits in `key` and lives until told. */
static pid_t sit_in_child(const char *key, uint32_t rank, struct page_seat *ret_seat) {
    int up[2];
    assert_int_equal(pipe(up), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct page_seat seat;
        if (page_take_seat(page, key, rank, 1, &seat, NULL) < 0) _exit(1);
        if (write(up[1], &seat, sizeof seat) != sizeof seat) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(up[0], ret_seat, sizeof *ret_seat), sizeof *ret_seat);
    close(up[0]);
    close(up[1]);
    return pid;
}

static void kill_child(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_seat_of_a_living_process_is_refused_and_of_a_dead_one_given(void **state) {
    (void)state;
    struct page_seat theirs, mine;
    struct err err;
    char text[128];
    pid_t pid = sit_in_child("run/0", 3, &theirs);
    assert_true(page_take_seat(page, "run/0", 3, 1, &mine, &err) < 0);
    assert_int_equal(err.code, ERR_BUSY);
    snprintf(text, sizeof text, "rank 3 of group 'run/0' is taken by process %d", (int)pid);
    assert_string_equal(err.message, text);
    kill_child(pid);
    assert_int_equal(page_take_seat(page, "run/0", 3, 1, &mine, &err), 0);
    assert_int_equal(mine.group, theirs.group);
    assert_int_equal(mine.gen, theirs.gen + 1);
    page_leave_seat(page, &theirs); /* out of date: not ours */
    uint64_t seat = atomic_load(&page->group[mine.group].slot[3].seat);
    assert_int_equal(page_seat_pid(seat), getpid());
    page_leave_seat(page, &mine);
    assert_int_equal(page_seat_pid(atomic_load(&page->group[mine.group].slot[3].seat)), 0);
}

static void test_full_page_refuses_until_a_group_is_deserted(void **state) {
    (void)state;
    struct page_seat seats[PAGE_GROUPS], more;
    struct err err;
    char key[PAGE_KEY_ROOM];
    for (int i = 0; i < PAGE_GROUPS; i++) {
        snprintf(key, sizeof key, "pid/%d", i);
        assert_int_equal(page_take_seat(page, key, 0, 1, &seats[i], NULL), 0);
    }
    assert_true(page_take_seat(page, "pid/late", 0, 1, &more, &err) < 0);
    assert_int_equal(err.code, ERR_LIMIT);
    struct page_group *group = &page->group[seats[9].group];
    atomic_store(&group->word, page_pack(700, 5, PAGE_COMMITTED));
    atomic_store(&group->last, page_pack(600, 4, PAGE_COMMITTED));
    atomic_store(&group->slot[0].step, 650);
    page_leave_seat(page, &seats[9]);
    assert_int_equal(page_take_seat(page, "pid/late", 0, 1, &more, &err), 0);
    assert_int_equal(more.group, seats[9].group);
    assert_true(more.gen > seats[9].gen);
    assert_int_equal(page_low(atomic_load(&group->word)), PAGE_ABORTED);
    assert_true(atomic_load(&group->last) == 0);
    assert_true(atomic_load(&group->slot[0].step) == 0);
    page_group_key(group, key);
    assert_string_equal(key, "pid/late");
    assert_int_equal(page_find_group(page, "pid/9"), -1);
    assert_int_equal(atomic_load(&page->keeper), 0);
}

static void test_takeover_survives_the_death_of_who_did_it(void **state) {
    (void)state;
    struct page_seat seats[PAGE_GROUPS], more;
    char key[32];
    for (int i = 0; i < PAGE_GROUPS; i++) {
        snprintf(key, sizeof key, "pid/%d", i);
        assert_int_equal(page_take_seat(page, key, 0, 1, &seats[i], NULL), 0);
    }
    page_leave_seat(page, &seats[3]);
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    atomic_store(&page->keeper, (uint32_t)dead);
    atomic_store(&page->group[seats[3].group].hash, 1); /* in the middle of it */
    assert_int_equal(page_take_seat(page, "pid/late", 0, 1, &more, NULL), 0);
    assert_int_equal(more.group, seats[3].group);
}

static void test_many_processes_find_one_group(void **state) {
    (void)state;
    enum { RANKS = 16 };
    pid_t pid[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        if ((pid[i] = fork()) == 0) {
            struct page_seat seat;
            _exit(page_take_seat(page, "run/0/x", i, RANKS, &seat, NULL) < 0
                      ? 255
                      : (int)seat.group % 255);
        }
    int group = -1;
    for (int i = 0; i < RANKS; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
        if (group < 0) group = WEXITSTATUS(status);
        assert_int_equal(WEXITSTATUS(status), group);
    }
}

static void test_arm_needs_an_open_word_the_vote_and_a_slot_at_rest(void **state) {
    (void)state;
    struct page_group *group = &page->group[0];
    struct page_slot *slot = &group->slot[0];
    atomic_store(&slot->look, PAGE_REST);
    atomic_store(&slot->step, 10);
    assert_true(page_arm(group, slot, 5, 2) == 0);
    atomic_store(&group->word, page_pack(0, 5, PAGE_OPEN));
    assert_true(page_arm(group, slot, 5, 2) == 0);
    atomic_store(&slot->voted, 5);
    assert_true(page_arm(group, slot, 5, 2) == 12);
    assert_true(atomic_load(&slot->look) == page_pack(12, 5, LOOK_GATE));
    assert_true(page_arm(group, slot, 5, 2) == 0);
}

static void test_decision_is_made_once(void **state) {
    (void)state;
    struct page_group *group = &page->group[0];
    atomic_store(&group->word, page_pack(0, 5, PAGE_OPEN));
    assert_true(page_decide(group, 5, page_pack(30, 5, PAGE_COMMITTED)) ==
                page_pack(30, 5, PAGE_COMMITTED));
    assert_true(page_abort(group, 5) == page_pack(30, 5, PAGE_COMMITTED));
    assert_true(page_decide(group, 6, page_pack(31, 6, PAGE_COMMITTED)) ==
                page_pack(30, 5, PAGE_COMMITTED));
    assert_int_equal(page_settle_open(group), 0);
    atomic_store(&group->word, page_pack(0, 7, PAGE_OPEN));
    assert_int_equal(page_settle_open(group), 7);
    assert_true(atomic_load(&group->word) == page_pack(0, 7, PAGE_ABORTED));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_keeps_its_three_parts),
        cmocka_unit_test_setup_teardown(test_open_gives_every_party_the_same_page, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_open_refuses_what_is_no_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ids_are_never_given_twice_and_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranks_of_a_key_share_a_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_key_is_cut_in_the_text_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_seat_of_a_living_process_is_refused_and_of_a_dead_one_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_page_refuses_until_a_group_is_deserted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_takeover_survives_the_death_of_who_did_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_many_processes_find_one_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arm_needs_an_open_word_the_vote_and_a_slot_at_rest,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decision_is_made_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
