/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wire/page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/base/banned.h"

#define PAGE_MAGIC UINT64_C(0x3165676150746e49) /* the layout's version is in it */
#define HASH_FREE UINT64_C(0)
#define HASH_TAKEOVER UINT64_C(1)
#define TAKEOVER_WAIT_NS UINT64_C(500000000)

static_assert(ATOMIC_LLONG_LOCK_FREE == 2,
              "words are shared between processes, so they must be lock-free");
static_assert(ATOMIC_INT_LOCK_FREE == 2,
              "words are shared between processes, so they must be lock-free");

#ifdef PAGE_RULES_REMOVABLE
void (*page_pause)(void);

bool page_has_rule(const char *rule) {
    const char *without = getenv("INDUCTOP_WITHOUT");
    return !without || !strstr(without, rule);
}
#endif

/* ---- the file */

/* Nobody ever sees half a page: it is complete before it has its name. Allocated, since a hole on a
 * full disk would be a SIGBUS in the job. */
static int make_file(const char *path, struct err *err) {
    char other[PATH_MAX];
    if (snprintf(other, sizeof other, "%s.%d", path, (int)getpid()) >= (int)sizeof other)
        return err_set(err, ERR_INVALID, "path of decision page '%s' is too long", path);
    struct {
        uint64_t magic, nonce;
    } head = {.magic = PAGE_MAGIC};
    if (getrandom(&head.nonce, sizeof head.nonce, 0) != sizeof head.nonce)
        return err_set_errno(err, errno, "could not make decision page '%s'", path);
    unlink(other);
    CLEANUP(cleanup_close)
    int fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return err_set_errno(err, errno, "could not make decision page '%s'", path);
    int failed = posix_fallocate(fd, 0, sizeof(struct page));
    if (!failed && pwrite(fd, &head, sizeof head, 0) != sizeof head) failed = errno;
    if (!failed && link(other, path) < 0 && errno != EEXIST) failed = errno;
    unlink(other);
    return failed ? err_set_errno(err, failed, "could not make decision page '%s'", path) : 0;
}

static int open_file(const char *path) {
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

int page_open(const char *path, struct page **ret_page, struct err *err) {
    CLEANUP(cleanup_close) int fd = open_file(path);
    if (fd < 0 && errno == ENOENT) {
        int rc = make_file(path, err);
        if (rc < 0) return rc;
        fd = open_file(path);
    }
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, errno, "could not open decision page '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_size != (off_t)sizeof(struct page))
        return err_set(err, ERR_INVALID, "file '%s' is no decision page of this version", path);
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return err_set_errno(err, errno, "could not map decision page '%s'", path);
    if (page->magic != PAGE_MAGIC) {
        page_close(page);
        return err_set(err, ERR_INVALID, "file '%s' is no decision page of this version", path);
    }
    *ret_page = page;
    return 0;
}

void page_close(struct page *page) {
    if (page) munmap(page, sizeof *page);
}

uint32_t page_new_id(struct page *page) {
    uint32_t id = atomic_load(&page->ids);
    while (id < PAGE_ID_MAX)
        if (atomic_compare_exchange_weak(&page->ids, &id, id + 1)) return id + 1;
    return 0;
}

/* ---- groups */

static uint64_t hash_key(const char *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *key; key++) hash = (hash ^ (uint8_t)*key) * UINT64_C(0x100000001b3);
    return hash > HASH_TAKEOVER ? hash : hash + 2;
}

bool page_is_alive(uint32_t pid) {
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* Of 64-bit words, so that two ranks of a group may write the same text at once. */
static void write_key(struct page_group *group, const char *key) {
    uint64_t words[PAGE_KEY_ROOM / 8] = {0};
    memcpy(words, key, strnlen(key, PAGE_KEY_ROOM - 1));
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        atomic_store_explicit(&group->key[i], words[i], memory_order_relaxed);
    atomic_store(&group->named, 1);
}

void page_group_key(const struct page_group *group, char ret_key[PAGE_KEY_ROOM]) {
    uint64_t words[PAGE_KEY_ROOM / 8] = {0};
    if (atomic_load(&group->named))
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
            words[i] = atomic_load_explicit(&group->key[i], memory_order_relaxed);
    memcpy(ret_key, words, PAGE_KEY_ROOM);
}

static int find_hash(const struct page *page, uint64_t hash) {
    for (unsigned i = 0, at = hash % PAGE_GROUPS; i < PAGE_GROUPS; i++, at = (at + 1) % PAGE_GROUPS)
        if (atomic_load(&page->group[at].hash) == hash) return (int)at;
    return -1;
}

int page_find_group(const struct page *page, const char *key) {
    return find_hash(page, hash_key(key));
}

/* A group was free and never is again, so all who look for one key try the same groups in the same
 * order. */
static int find_or_claim(struct page *page, uint64_t hash) {
    int found = find_hash(page, hash);
    for (unsigned i = 0, at = hash % PAGE_GROUPS; found < 0 && i < PAGE_GROUPS;
         i++, at = (at + 1) % PAGE_GROUPS) {
        uint64_t seen = HASH_FREE;
        if (atomic_compare_exchange_strong(&page->group[at].hash, &seen, hash) || seen == hash)
            found = (int)at;
    }
    return found;
}

/* Somebody was there and nobody is. One who has claimed the group and not sat down yet keeps it. */
static bool is_deserted(const struct page_group *group) {
    bool had = false;
    for (unsigned i = 0; i < PAGE_SLOTS; i++) {
        uint64_t seat = atomic_load(&group->slot[i].seat);
        if (seat) had = true;
        if (page_seat_pid(seat) && page_is_alive(page_seat_pid(seat))) return false;
    }
    return had;
}

/* The word first: whoever comes to this group now must not obey what was decided for others. */
static void empty_group(struct page_group *group) {
    page_word word = atomic_load(&group->word);
    while (!atomic_compare_exchange_weak(&group->word, &word,
                                         page_pack(0, page_id(word), PAGE_ABORTED))) {
    }
    page_wake(group);
    atomic_store(&group->last, 0);
    atomic_store(&group->named, 0);
    for (unsigned i = 0; i < PAGE_SLOTS; i++) {
        struct page_slot *slot = &group->slot[i];
        uint64_t seat = atomic_load(&slot->seat);
        if (page_seat_pid(seat) && page_is_alive(page_seat_pid(seat)))
            continue; /* sat down by mistake, is leaving */
        atomic_store(&slot->look, PAGE_REST);
        atomic_store(&slot->step, 0);
        atomic_store(&slot->voted, 0);
        atomic_store(&slot->force, 0);
        atomic_compare_exchange_strong(&slot->seat, &seat, seat >> 32 << 32);
    }
}

/* Held for microseconds; whoever dies with it loses it. */
static bool take_keeper(struct page *page) {
    const uint32_t self = (uint32_t)getpid();
    for (uint64_t deadline = clock_now_ns() + TAKEOVER_WAIT_NS; clock_now_ns() < deadline;) {
        uint32_t holder = atomic_load(&page->keeper);
        if ((!holder || holder == self || !page_is_alive(holder)) &&
            atomic_compare_exchange_strong(&page->keeper, &holder, self))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return false;
}

/* Whoever sits down looks at the hash behind it, we change the hash and then look for the seated:
 * one of us sees the other. */
static int take_over(struct page *page, uint64_t hash) {
    if (!take_keeper(page)) return -1;
    int found = find_hash(page, hash);
    for (unsigned i = 0; found < 0 && i < PAGE_GROUPS; i++) {
        struct page_group *group = &page->group[i];
        uint64_t old = atomic_load(&group->hash);
        if (!is_deserted(group)) continue;
        if (!atomic_compare_exchange_strong(&group->hash, &old, HASH_TAKEOVER)) continue;
        if (!is_deserted(group)) {
            if (old != HASH_TAKEOVER) atomic_store(&group->hash, old);
            continue;
        }
        empty_group(group);
        atomic_store(&group->hash, hash);
        found = (int)i;
    }
    atomic_store(&page->keeper, 0);
    return found;
}

/* ---- seats */

static int sit_down(struct page_slot *slot, uint32_t rank, const char *key, uint32_t *ret_gen,
                    struct err *err) {
    const uint32_t self = (uint32_t)getpid();
    uint64_t seat = atomic_load(&slot->seat);
    for (;;) {
        uint32_t pid = page_seat_pid(seat), gen = page_seat_gen(seat) + 1;
        if (pid && pid != self && page_is_alive(pid))
            return err_set(err, ERR_BUSY, "rank %u of group '%s' is taken by process %u", rank, key,
                           pid);
        if (!atomic_compare_exchange_strong(&slot->seat, &seat, (uint64_t)gen << 32 | self))
            continue;
        *ret_gen = gen;
        return 0;
    }
}

void page_leave_seat(struct page *page, const struct page_seat *seat) {
    struct page_slot *slot = &page->group[seat->group].slot[seat->slot];
    uint64_t mine = (uint64_t)seat->gen << 32 | (uint32_t)getpid();
    atomic_compare_exchange_strong(&slot->seat, &mine, (uint64_t)seat->gen << 32);
}

int page_take_seat(struct page *page, const char *key, uint32_t rank, uint32_t world,
                   struct page_seat *ret_seat, struct err *err) {
    const uint64_t hash = hash_key(key);
    for (int attempt = 0; attempt < 8; attempt++) {
        int found = find_or_claim(page, hash);
        if (found < 0) found = take_over(page, hash);
        if (found < 0) break;
        struct page_seat seat = {.group = (uint32_t)found, .slot = rank % PAGE_SLOTS};
        struct page_group *group = &page->group[found];
        int rc = sit_down(&group->slot[seat.slot], rank, key, &seat.gen, err);
        if (rc < 0) return rc;
        if (atomic_load(&group->hash) != hash) {
            page_leave_seat(page, &seat);
            continue;
        }
        write_key(group, key);
        atomic_store(&group->world, world);
        atomic_store(&group->slot[seat.slot].rank, rank);
        *ret_seat = seat;
        return 0;
    }
    return err_set(err, ERR_LIMIT, "all %d groups of the decision page are taken", PAGE_GROUPS);
}

/* ---- deciding. The futex is not PRIVATE: the waiting are other processes. */

static uint32_t *low_half(struct page_group *group) {
    return (uint32_t *)&group->word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void page_wake(struct page_group *group) {
    syscall(SYS_futex, low_half(group), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int page_wait(struct page_group *group, page_word seen, uint64_t deadline_ns) {
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
    long rc = syscall(SYS_futex, low_half(group), FUTEX_WAIT_BITSET, (uint32_t)seen, &until, NULL,
                      FUTEX_BITSET_MATCH_ANY);
    return rc == 0 || errno == EAGAIN ? 0 : errno;
}

page_word page_decide(struct page_group *group, uint32_t id, page_word to) {
    page_word word = page_pack(0, id, PAGE_OPEN);
    if (!atomic_compare_exchange_strong(&group->word, &word, to)) return word;
    page_wake(group);
    return to;
}

page_word page_abort(struct page_group *group, uint32_t id) {
    return page_decide(group, id, page_pack(0, id, PAGE_ABORTED));
}

uint64_t page_arm(struct page_group *group, struct page_slot *slot, uint32_t id, unsigned ahead) {
    if (atomic_load(&group->word) != page_pack(0, id, PAGE_OPEN)) return 0;
    if (atomic_load(&slot->voted) != id) return 0;
    page_word want = PAGE_REST, gate = page_pack(atomic_load(&slot->step) + ahead, id, LOOK_GATE);
    if (page_step(gate) >= PAGE_STEP_NEVER - 1) return 0;
#ifdef PAGE_RULES_REMOVABLE
    if (page_pause) page_pause();
#endif
    if (!atomic_compare_exchange_strong(&slot->look, &want, gate)) return 0;
    while (page_has_rule("recheck")) {
        uint64_t step = atomic_load(&slot->step);
        if (step < page_step(gate)) break;
        /* The rank may have passed it unseen: raise it. When that fails, the rank met the gate and
         * gave the proposal up. */
        page_word higher = page_pack(step + ahead, id, LOOK_GATE);
        if (!atomic_compare_exchange_strong(&slot->look, &gate, higher)) return 0;
        gate = higher;
    }
    return page_step(gate);
}

uint32_t page_settle_open(struct page_group *group) {
    page_word word = atomic_load(&group->word);
    if (page_low(word) != PAGE_OPEN) return 0;
    page_abort(group, page_id(word));
    return page_id(word);
}
