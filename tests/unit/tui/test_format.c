/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "engine/base/attr.h"
#include "tui/format.h"
#include "tui/utf8.h"
#include "engine/base/banned.h"

#define MS 1e6
#define S 1e9
#define MINUTE (60 * S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define K 1024.0
#define M (1024 * K)
#define G (1024 * M)

struct row {
    double value;
    const char *text;
};

static void check(const struct row *rows, size_t count, struct figure (*format)(double)) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(format(rows[i].value).text, rows[i].text))
            fail_msg("row %zu: '%s', not '%s'", i, format(rows[i].value).text, rows[i].text);
}

static const struct row durations[] = {
    {NAN, "-"},
    {INFINITY, "-"},
    {0, "0 ns"},
    {350, "350 ns"},
    {999.4, "999 ns"},
    {999.6, "1.00 us"},
    {60e3, "60.0 us"},
    {9.996e3, "10.0 us"},
    {999.4e3, "999 us"},
    {999.6e3, "1.00 ms"},
    {31.94 * MS, "31.9 ms"},
    {99.94 * MS, "99.9 ms"},
    {99.96 * MS, "100 ms"},
    {812 * MS, "812 ms"},
    {999.4 * MS, "999 ms"},
    {999.6 * MS, "1.0 s"},
    {4.1 * S, "4.1 s"},
    {13.4 * S, "13.4 s"},
    {59.94 * S, "59.9 s"},
    {59.96 * S, "1m 00s"},
    {125 * S, "2m 05s"},
    {3599.4 * S, "59m 59s"},
    {3599.6 * S, "1h 00m"},
    {64 * MINUTE, "1h 04m"},
    {23 * HOUR + 59 * MINUTE, "23h 59m"},
    {24 * HOUR - 1 * S, "1d 00h"},
    {76 * HOUR, "3d 04h"},
    {99 * DAY, "99d 00h"},
    {100 * DAY, "100 d"},
    {9999 * DAY, "9999 d"},
    {-4.1 * S, "-4.1 s"},
    {-125 * S, "-2m 05s"},
};

static const struct row milliseconds[] = {
    {NAN, "-"},           {0, "0.00"},          {1.234 * MS, "1.23"},
    {9.996 * MS, "10.0"}, {31.94 * MS, "31.9"}, {99.96 * MS, "100"},
    {1204 * MS, "1204"},  {13.4 * S, "13400"},  {99.9994 * S, "99999"},
    {100 * S, "1m 40s"},
};

static const struct row sizes[] = {
    {NAN, "-"},
    {0, "0 B"},
    {980, "980 B"},
    {1023, "1023 B"},
    {1024, "1.0 KB"},
    {99.96 * K, "100 KB"},
    {1023.4 * K, "1023 KB"},
    {1023.6 * K, "1.0 MB"},
    {612 * M, "612 MB"},
    {1023.6 * M, "1.0 GB"},
    {1.5 * G, "1.5 GB"},
    {80 * G, "80.0 GB"},
    {1024 * G, "1.0 TB"},
    {1e18, ">9999 TB"},
    {-3 * M, "-3.0 MB"},
};

static const struct row ratios[] = {
    {NAN, "-"},      {0, "0.00"},     {1, "1.00"},    {1.344, "1.34"},
    {9.994, "9.99"}, {9.996, "10.0"}, {99.96, "100"}, {134.2, "134"},
};

static const struct row counts[] = {
    {NAN, "-"},       {0, "0"},          {412, "412"},        {99999, "99999"},   {100000, "100k"},
    {999499, "999k"}, {999501, "1.00M"}, {12345678, "12.3M"}, {999.6e6, "1.00G"}, {5e9, "5.00G"},
};

static const struct row percents[] = {
    {NAN, "-"},        {0, "0.0 %"},     {0.0001, "<0.1 %"}, {0.003, "0.3 %"},
    {0.0994, "9.9 %"}, {0.0996, "10 %"}, {0.12, "12 %"},     {1.5, "150 %"},
};

static const struct row rates[] = {
    {NAN, "-"},
    {0, "-"},
    {-1, "-"},
    {31.24, "31.2 steps/s"},
    {312, "312 steps/s"},
    {1, "1.0 steps/s"},
    {0.2439, "4.1 s/step"},
    {0.005, "3m 20s/step"},
};

static const struct row agos[] = {
    {NAN, "-"},         {0.2 * S, "now"},     {1 * S, "1 s ago"},    {59.99 * S, "59 s ago"},
    {60 * S, "1m ago"}, {2 * HOUR, "2h ago"}, {49 * HOUR, "2d ago"},
};

static void test_boundaries(void **state) {
    (void)state;
    check(durations, ARRAY_SIZE(durations), format_duration);
    check(milliseconds, ARRAY_SIZE(milliseconds), format_ms);
    check(sizes, ARRAY_SIZE(sizes), format_bytes);
    check(ratios, ARRAY_SIZE(ratios), format_ratio);
    check(counts, ARRAY_SIZE(counts), format_count);
    check(percents, ARRAY_SIZE(percents), format_percent);
    check(rates, ARRAY_SIZE(rates), format_rate);
    check(agos, ARRAY_SIZE(agos), format_ago);
}

static void test_widths_hold(void **state) {
    (void)state;
    static const struct {
        struct figure (*format)(double);
        double least, most;
        int width;
    } rows[] = {
        {format_duration, 1, 100 * DAY, FORMAT_DURATION_WIDTH},
        {format_ms, 1000, 50 * MINUTE, FORMAT_MS_WIDTH},
        {format_bytes, 1, 9000 * 1024 * G, FORMAT_BYTES_WIDTH},
        {format_ratio, 0.001, 99999, FORMAT_RATIO_WIDTH},
        {format_count, 1, 9e12, FORMAT_COUNT_WIDTH},
        {format_percent, 1e-5, 99, FORMAT_PERCENT_WIDTH},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (double value = rows[i].least; value < rows[i].most; value *= 1.0003)
            if (utf8_columns(rows[i].format(value).text) > rows[i].width)
                fail_msg("row %zu: '%s' is too long", i, rows[i].format(value).text);
}

static void test_speedup(void **state) {
    (void)state;
    assert_string_equal(format_speedup(1.34, 1.32, 1.36, false).text, "1.34 ± 0.02");
    assert_string_equal(format_speedup(1.34, 1.32, 1.36, true).text, "1.34 +-0.02");
    assert_string_equal(format_speedup(1.34, 1.339, 1.341, false).text, "1.34 ± 0.01");
    assert_string_equal(format_speedup(1.34, 1.319, 1.36, false).text, "1.34 ± 0.03");
    assert_string_equal(format_speedup(12.3, 12, 12.6, false).text, "12.3 ± 0.3");
    assert_string_equal(format_speedup(1.34, NAN, NAN, false).text, "1.34");
    assert_string_equal(format_speedup(NAN, 1, 2, false).text, "-");
}

static void test_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
        bool has_unit;
    } rows[] = {
        {"40", 40, false},       {"1.5s", 1.5 * S, true},  {"200 ms", 200 * MS, true},
        {"600M", 600 * M, true}, {"2 GB", 2 * G, true},    {"12k", 12000, true},
        {"3%", 0.03, true},      {"2m", 2 * MINUTE, true}, {"-4", -4, false},
        {"0", 0, false},
    };
    static const char *const wrong[] = {"",    "s",    "4 parsecs", "nan",
                                        "inf", "0x10", "4s s",      "1e999"};
    double value = 0;
    bool has_unit;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_true(format_read(rows[i].text, &value, &has_unit));
        assert_true(fabs(value - rows[i].value) < 1e-9 * (1 + fabs(value)) &&
                    has_unit == rows[i].has_unit);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (format_read(wrong[i], &value, &has_unit)) fail_msg("'%s' was read", wrong[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_widths_hold),
        cmocka_unit_test(test_speedup),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
