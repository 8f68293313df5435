/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/data/rank_set.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/banned.h"

void rank_set_done(struct rank_set *set) {
    free(set->bits);
    *set = (struct rank_set){0};
}

struct rank_set rank_set_dup(const struct rank_set *set) {
    struct rank_set copy = *set;
    if (!set->room) return copy;
    copy.bits = mem_array(set->room, 1);
    memcpy(copy.bits, set->bits, set->room);
    return copy;
}

bool rank_set_has(const struct rank_set *set, int rank) {
    return rank >= 0 && (size_t)rank / 8 < set->room && set->bits[rank / 8] >> rank % 8 & 1;
}

bool rank_set_add(struct rank_set *set, int rank) {
    if (rank < 0 || rank >= RANKS_MOST || rank_set_has(set, rank)) return false;
    size_t needed = (size_t)rank / 8 + 1;
    if (needed > set->room) {
        size_t room = needed > 2 * set->room ? needed : 2 * set->room;
        set->bits = mem_resize(set->bits, room, 1);
        memset(set->bits + set->room, 0, room - set->room);
        set->room = room;
    }
    set->bits[rank / 8] |= (uint8_t)(1 << rank % 8);
    set->count++;
    return true;
}

int rank_set_first(const struct rank_set *set) {
    for (int rank = 0; (size_t)rank < 8 * set->room; rank++)
        if (rank_set_has(set, rank)) return rank;
    return -1;
}

char *rank_set_text(const struct rank_set *set) {
    struct buf text = BUF_INIT;
    int behind = (int)(8 * set->room);
    for (int rank = 0; rank < behind; rank++) {
        if (!rank_set_has(set, rank)) continue;
        int last = rank;
        while (rank_set_has(set, last + 1)) last++;
        if (last == rank + 1) last = rank; /* two in a row stand alone */
        buf_printf(&text, last > rank ? "%s%d-%d" : "%s%d", text.size ? "," : "", rank, last);
        rank = last;
    }
    return buf_take(&text);
}

void rank_set_parse(struct rank_set *set, const char *text) {
    for (;;) {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (end == text) return;
        if (*end == '-') last = strtol(text = end + 1, &end, 10);
        if (end == text || first < 0 || last >= RANKS_MOST) return;
        for (long rank = first; rank <= last; rank++) rank_set_add(set, (int)rank);
        if (*end != ',') return;
        text = end + 1;
    }
}
