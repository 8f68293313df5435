/* Step events as lines, read and written without JSON values in between: there is one for each step
 * of each rank. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/event/event.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

/* ---- reading ---- */

#define NUMBER_MOST UINT64_C(9000000000000000000)
#define TIME_MOST UINT64_C(1000000000000000) /* ns; beyond it a double is not exact */

struct reader {
    const char *at, *end;
};

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t')) reader->at++;
}

static bool take(struct reader *reader, char c) {
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != c) return false;
    reader->at++;
    return true;
}

/* A text without escapes. */
static bool take_text(struct reader *reader, const char **ret, size_t *ret_size) {
    if (!take(reader, '"')) return false;
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at != '"') {
        unsigned char c = (unsigned char)*reader->at++;
        if (c == '\\' || c < 32 || c > 126) return false;
    }
    *ret = begin;
    *ret_size = (size_t)(reader->at - begin);
    return take(reader, '"');
}

/* A number, not negative and without an exponent, times 10^`digits_behind`; what is left of it is
 * rounded.
 */
static bool take_number(struct reader *reader, int digits_behind, uint64_t *ret, bool *ret_whole) {
    uint64_t value = 0;
    bool has_point = false;
    int digits = 0;
    skip_blanks(reader);
    const char *begin = reader->at;
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '.' && !has_point && digits) {
            has_point = true;
        } else if (c >= '0' && c <= '9') {
            if (has_point && digits_behind-- <= 0) {
                if (digits_behind == -1 && c >= '5') value++;
                continue;
            }
            if (value > (UINT64_MAX - 9) / 10) return false;
            value = 10 * value + (uint64_t)(c - '0');
            digits++;
        } else {
            break;
        }
    }
    bool has_zero = digits > 1 && begin[0] == '0' && begin[1] != '.';
    if (!digits || has_zero || reader->at[-1] == '.') return false;
    if (reader->at < reader->end && strchr("eE+-", *reader->at)) return false;
    for (; digits_behind > 0; digits_behind--) {
        if (value > UINT64_MAX / 10) return false;
        value *= 10;
    }
    *ret = value;
    *ret_whole = !has_point;
    return true;
}

static bool take_bool(struct reader *reader, bool *ret) {
    static const char *const names[] = {"false", "true"};
    skip_blanks(reader);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t size = strlen(names[i]);
        if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, names[i], size) != 0)
            continue;
        reader->at += size;
        *ret = i == 1;
        return true;
    }
    return false;
}

static bool take_why(struct reader *reader, uint32_t *ret) {
    const char *name;
    size_t size;
    if (!take(reader, '[')) return false;
    if (take(reader, ']')) return true;
    do {
        if (!take_text(reader, &name, &size)) return false;
        uint32_t bit = STEP_WHY_UNKNOWN;
        for (unsigned i = 0; step_why_name(i); i++)
            if (strlen(step_why_name(i)) == size && memcmp(step_why_name(i), name, size) == 0)
                bit = UINT32_C(1) << i;
        *ret |= bit;
    } while (take(reader, ','));
    return take(reader, ']');
}

enum number { NUMBER_WHOLE, NUMBER_MS, NUMBER_SECONDS };

/* The fields with numbers: where they go, and the bit that says they are there. */
static const struct place {
    const char *name;
    enum number number;
    size_t offset;
    uint32_t valid;
} places[] = {
    {"t", NUMBER_SECONDS, offsetof(struct step_record, end_ns), 0},
    {"ms", NUMBER_MS, offsetof(struct step_record, dur_ns), 0},
    {"step", NUMBER_WHOLE, offsetof(struct step_record, step), 0},
    {"data_ms", NUMBER_MS, offsetof(struct step_record, data_ns), STEP_HAS_DATA},
    {"forward_ms", NUMBER_MS, offsetof(struct step_record, forward_ns), STEP_HAS_FORWARD},
    {"backward_ms", NUMBER_MS, offsetof(struct step_record, backward_ns), STEP_HAS_BACKWARD},
    {"optimizer_ms", NUMBER_MS, offsetof(struct step_record, optimizer_ns), STEP_HAS_OPTIMIZER},
    {"rss", NUMBER_WHOLE, offsetof(struct step_record, rss_bytes), STEP_HAS_RSS},
    {"cpu_bytes", NUMBER_WHOLE, offsetof(struct step_record, cpu_bytes), STEP_HAS_CPU},
    {"cpu_peak", NUMBER_WHOLE, offsetof(struct step_record, cpu_peak_bytes), STEP_HAS_CPU},
    {"device_bytes", NUMBER_WHOLE, offsetof(struct step_record, device_bytes), STEP_HAS_DEVICE},
    {"device_peak", NUMBER_WHOLE, offsetof(struct step_record, device_peak_bytes), STEP_HAS_DEVICE},
};

static const struct place *place_of(const char *name, size_t size) {
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strlen(places[i].name) == size && memcmp(places[i].name, name, size) == 0)
            return &places[i];
    return NULL;
}

/* What a line has told so far. */
struct told {
    struct step_record record;
    uint32_t seen; /* fields, by their places in `places` and `words` */
    bool is_clean;
    int rank;
};

/* The other fields, and how each is taken. */
enum word {
    WORD_V,
    WORD_KIND,
    WORD_RANK,
    WORD_VARIANT,
    WORD_CLEAN,
    WORD_WHY,
    WORD_OWN,
    WORD_ALLOCS,
    WORD_COUNT
};

static const char *const words[WORD_COUNT] = {"v",     "kind", "rank",   "variant",
                                              "clean", "why",  "own_ms", "allocs"};

/* `places` has its own bits behind those of the words. */
enum { SEEN_PLACES = WORD_COUNT, SEEN_T = SEEN_PLACES, SEEN_STEP = SEEN_PLACES + 2 };

static bool is_word(const char *name, size_t size, const char *word) {
    return strlen(word) == size && memcmp(name, word, size) == 0;
}

static bool take_whole(struct reader *reader, uint64_t most, uint64_t *ret) {
    bool is_whole;
    return take_number(reader, 0, ret, &is_whole) && is_whole && *ret <= most;
}

static bool take_place(struct reader *reader, const struct place *place, struct told *told) {
    static const int digits[] = {[NUMBER_WHOLE] = 0, [NUMBER_MS] = 6, [NUMBER_SECONDS] = 9};
    uint64_t value;
    bool is_whole;
    if (!take_number(reader, digits[place->number], &value, &is_whole)) return false;
    if (value > (place->number == NUMBER_WHOLE ? NUMBER_MOST : TIME_MOST)) return false;
    if (place->number == NUMBER_WHOLE && !is_whole) return false;
    memcpy((char *)&told->record + place->offset, &value, sizeof value);
    told->record.valid |= place->valid;
    return true;
}

static bool take_word(struct reader *reader, enum word word, struct told *told) {
    const char *text;
    size_t size;
    uint64_t value = 0;
    bool is_whole;
    switch (word) {
    case WORD_V: return take_whole(reader, NUMBER_MOST, &value) && value >= 1;
    case WORD_KIND: return take_text(reader, &text, &size) && is_word(text, size, "step");
    case WORD_CLEAN: return take_bool(reader, &told->is_clean);
    case WORD_WHY: return take_why(reader, &told->record.why);
    case WORD_RANK:
        if (!take_whole(reader, INT_MAX, &value)) return false;
        told->rank = (int)value;
        return true;
    case WORD_VARIANT:
        if (!take_whole(reader, UINT32_MAX, &value)) return false;
        told->record.variant = (uint32_t)value;
        return true;
    case WORD_OWN:
        if (!take_number(reader, 6, &value, &is_whole) || value > UINT32_MAX) return false;
        told->record.valid |= STEP_HAS_OWN;
        told->record.own_ns = (uint32_t)value;
        return true;
    case WORD_ALLOCS:
        if (!take_whole(reader, UINT32_MAX, &value)) return false;
        told->record.valid |= STEP_HAS_ALLOCS;
        told->record.allocs = (uint32_t)value;
        return true;
    case WORD_COUNT: break;
    }
    return false;
}

static int word_of(const char *name, size_t size) {
    for (int i = 0; i < WORD_COUNT; i++)
        if (is_word(name, size, words[i])) return i;
    return -1;
}

static bool take_field(struct reader *reader, struct told *told) {
    const char *name;
    size_t size;
    if (!take_text(reader, &name, &size) || !take(reader, ':')) return false;
    const struct place *place = place_of(name, size);
    int word = place ? -1 : word_of(name, size);
    if (!place && word < 0) return false;
    uint32_t bit = UINT32_C(1) << (place ? SEEN_PLACES + (place - places) : word);
    if (told->seen & bit) return false;
    told->seen |= bit;
    return place ? take_place(reader, place, told) : take_word(reader, (enum word)word, told);
}

bool event_step_parse(const char *line, size_t size, struct step_record *ret_record,
                      int *ret_rank) {
    struct reader reader = {line, line + size};
    struct told told = {0};
    if (!take(&reader, '{')) return false;
    do {
        if (!take_field(&reader, &told)) return false;
    } while (take(&reader, ','));
    if (!take(&reader, '}')) return false;
    skip_blanks(&reader);
    static const uint32_t needed = 1 << WORD_V | 1 << WORD_KIND | 1 << WORD_RANK |
                                   1 << WORD_VARIANT | 1 << WORD_CLEAN | 1 << SEEN_T |
                                   1 << SEEN_STEP;
    if (reader.at != reader.end || (told.seen & needed) != needed) return false;
    if (told.is_clean)
        told.record.why = 0;
    else if (!told.record.why)
        told.record.why = STEP_WHY_UNKNOWN;
    *ret_record = told.record;
    *ret_rank = told.rank;
    return true;
}

/* ---- writing ---- */

struct line {
    char text[1024]; /* more than all fields at their longest */
    size_t size;
};

static void put(struct line *line, const char *text) {
    size_t size = strlen(text);
    memcpy(line->text + line->size, text, size);
    line->size += size;
}

static void put_whole(struct line *line, uint64_t value) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count) line->text[line->size++] = digits[--count];
}

/* `value` / 10^digits, without zeros at the end but for one. */
static void put_decimal(struct line *line, uint64_t value, int digits) {
    uint64_t one = 1;
    for (int i = 0; i < digits; i++) one *= 10;
    put_whole(line, value / one);
    put(line, ".");
    uint64_t rest = value % one;
    do {
        one /= 10;
        line->text[line->size++] = (char)('0' + rest / one % 10);
    } while (rest % one);
}

static void put_ms(struct line *line, const char *name, uint64_t ns) {
    put(line, name);
    put_decimal(line, ns, 6);
}

static void put_count(struct line *line, const char *name, uint64_t value) {
    put(line, name);
    put_whole(line, value);
}

static void put_why(struct line *line, uint32_t why) {
    const char *before = ",\"why\":[\"";
    for (unsigned bit = 0; bit < 32; bit++) {
        if (!(why >> bit & 1)) continue;
        const char *name = step_why_name(bit);
        put(line, before);
        put(line, name ? name : "unknown");
        before = "\",\"";
    }
    put(line, "\"]");
}

static void put_body(struct line *line, const struct step_record *record) {
    uint32_t valid = record->valid;
    if (record->dur_ns) put_ms(line, ",\"ms\":", record->dur_ns);
    if (valid & STEP_HAS_DATA) put_ms(line, ",\"data_ms\":", record->data_ns);
    if (valid & STEP_HAS_FORWARD) put_ms(line, ",\"forward_ms\":", record->forward_ns);
    if (valid & STEP_HAS_BACKWARD) put_ms(line, ",\"backward_ms\":", record->backward_ns);
    if (valid & STEP_HAS_OPTIMIZER) put_ms(line, ",\"optimizer_ms\":", record->optimizer_ns);
    if (valid & STEP_HAS_OWN) put_ms(line, ",\"own_ms\":", record->own_ns);
    put_count(line, ",\"variant\":", record->variant);
    put(line, record->why ? ",\"clean\":false" : ",\"clean\":true");
    if (record->why) put_why(line, record->why);
    if (valid & STEP_HAS_RSS) put_count(line, ",\"rss\":", record->rss_bytes);
    if (valid & STEP_HAS_CPU) {
        put_count(line, ",\"cpu_bytes\":", record->cpu_bytes);
        put_count(line, ",\"cpu_peak\":", record->cpu_peak_bytes);
    }
    if (valid & STEP_HAS_DEVICE) {
        put_count(line, ",\"device_bytes\":", record->device_bytes);
        put_count(line, ",\"device_peak\":", record->device_peak_bytes);
    }
    if (valid & STEP_HAS_ALLOCS) put_count(line, ",\"allocs\":", record->allocs);
}

void event_step_print(const struct step_record *record, int rank, uint64_t start_ns,
                      struct buf *buf) {
    if (record->end_ns < start_ns || rank < 0) {
        struct event event;
        event_from_step(record, rank, start_ns, &event);
        event_print(&event, buf);
        event_done(&event);
        return;
    }
    struct line line = {.size = 0};
    put_count(&line, "{\"v\":", WIRE_VERSION);
    put(&line, ",\"kind\":\"step\",\"t\":");
    put_decimal(&line, record->end_ns - start_ns, 9);
    put_count(&line, ",\"rank\":", (uint64_t)rank);
    put_count(&line, ",\"step\":", record->step);
    put_body(&line, record);
    put(&line, "}");
    buf_add(buf, line.text, line.size);
}
