/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/banned.h"

/* The first row whose limit is above the value is taken; limits are where rounding to these digits
 * would reach one more. */
struct step {
    double limit, divisor;
    int digits;
    const char *unit;
};

enum { US = 1000, MS = 1000 * US, SECOND = 1000 * MS };
#define KB 1024.0
#define MB (1024 * KB)
#define GB (1024 * MB)
#define TB (1024 * GB)

static const struct step durations[] = {
    {999.5, 1, 0, " ns"},       {9.995 * US, US, 2, " us"},        {99.95 * US, US, 1, " us"},
    {999.5 * US, US, 0, " us"}, {9.995 * MS, MS, 2, " ms"},        {99.95 * MS, MS, 1, " ms"},
    {999.5 * MS, MS, 0, " ms"}, {59.95 * SECOND, SECOND, 1, " s"},
};

static const struct step milliseconds[] = {
    {9.995 * MS, MS, 2, ""},
    {99.95 * MS, MS, 1, ""},
    {99999.5 * MS, MS, 0, ""},
};

static const struct step sizes[] = {
    {1023.5, 1, 0, " B"},        {99.95 * KB, KB, 1, " KB"},  {1023.5 * KB, KB, 0, " KB"},
    {99.95 * MB, MB, 1, " MB"},  {1023.5 * MB, MB, 0, " MB"}, {99.95 * GB, GB, 1, " GB"},
    {1023.5 * GB, GB, 0, " GB"}, {99.95 * TB, TB, 1, " TB"},  {9999.5 * TB, TB, 0, " TB"},
};

static const struct step ratios[] = {{9.995, 1, 2, ""}, {99.95, 1, 1, ""}, {99999.5, 1, 0, ""}};

static const struct step counts[] = {
    {99999.5, 1, 0, ""},    {999.5e3, 1e3, 0, "k"}, {9.995e6, 1e6, 2, "M"}, {99.95e6, 1e6, 1, "M"},
    {999.5e6, 1e6, 0, "M"}, {9.995e9, 1e9, 2, "G"}, {99.95e9, 1e9, 1, "G"}, {9999.5e9, 1e9, 0, "G"},
};

static const struct step percents[] = {{0.0995, 0.01, 1, " %"}, {99.995, 0.01, 0, " %"}};

static const struct step rates[] = {{99.95, 1, 1, " steps/s"}, {99999.5, 1, 0, " steps/s"}};

static struct figure missing(void) {
    return (struct figure){"-"};
}

static const struct step *step_of(const struct step *steps, size_t count, double size) {
    for (size_t i = 0; i < count; i++)
        if (size < steps[i].limit) return &steps[i];
    return NULL;
}

/* A value too large for every row says so, in the last row's unit. */
static struct figure by_steps(const struct step *steps, size_t count, double value) {
    struct figure figure;
    if (!isfinite(value)) return missing();
    double size = fabs(value);
    const struct step *step = step_of(steps, count, size), *last = &steps[count - 1];
    const char *sign = value < 0 ? "-" : "";
    if (step)
        snprintf(figure.text, sizeof figure.text, "%s%.*f%s", sign, step->digits,
                 size / step->divisor, step->unit);
    else
        snprintf(figure.text, sizeof figure.text, "%s>%.0f%s", sign,
                 floor(last->limit / last->divisor), last->unit);
    return figure;
}

static struct figure clock_figure(double ns) {
    static const struct {
        double limit, large, small;
        char large_unit, small_unit;
    } rows[] = {
        {3599.5, 60, 1, 'm', 's'}, {86370, 3600, 60, 'h', 'm'}, {1e15, 86400, 3600, 'd', 'h'}};
    struct figure figure;
    double seconds = fabs(ns) / SECOND;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (seconds >= rows[i].limit) continue;
        double small = round(seconds / rows[i].small) * rows[i].small,
               large = floor(small / rows[i].large);
        const char *sign = ns < 0 ? "-" : "";
        if (large >= 100)
            snprintf(figure.text, sizeof figure.text, "%s%.0f %c", sign, large, rows[i].large_unit);
        else
            snprintf(figure.text, sizeof figure.text, "%s%.0f%c %02.0f%c", sign, large,
                     rows[i].large_unit, (small - large * rows[i].large) / rows[i].small,
                     rows[i].small_unit);
        return figure;
    }
    return missing();
}

struct figure format_duration(double ns) {
    if (isfinite(ns) && !step_of(durations, ARRAY_SIZE(durations), fabs(ns)))
        return clock_figure(ns);
    return by_steps(durations, ARRAY_SIZE(durations), ns);
}

struct figure format_ms(double ns) {
    if (isfinite(ns) && !step_of(milliseconds, ARRAY_SIZE(milliseconds), fabs(ns)))
        return clock_figure(ns);
    return by_steps(milliseconds, ARRAY_SIZE(milliseconds), ns);
}

struct figure format_bytes(double bytes) {
    return by_steps(sizes, ARRAY_SIZE(sizes), bytes);
}

struct figure format_ratio(double ratio) {
    return by_steps(ratios, ARRAY_SIZE(ratios), ratio);
}

struct figure format_count(double count) {
    return by_steps(counts, ARRAY_SIZE(counts), count);
}

struct figure format_percent(double ratio) {
    if (ratio > 0 && ratio < 0.0005) return (struct figure){"<0.1 %"};
    return by_steps(percents, ARRAY_SIZE(percents), ratio);
}

struct figure format_rate(double steps_per_s) {
    if (!isfinite(steps_per_s) || steps_per_s <= 0) return missing();
    if (steps_per_s >= 1) return by_steps(rates, ARRAY_SIZE(rates), steps_per_s);
    struct figure figure, step = format_duration(SECOND / steps_per_s);
    snprintf(figure.text, sizeof figure.text, "%.20s/step", step.text);
    return figure;
}

struct figure format_ago(double ns) {
    struct figure figure;
    double seconds = ns / SECOND;
    if (!isfinite(ns)) return missing();
    if (seconds < 1) return (struct figure){"now"};
    if (seconds < 60)
        snprintf(figure.text, sizeof figure.text, "%.0f s ago", floor(seconds));
    else if (seconds < 3600)
        snprintf(figure.text, sizeof figure.text, "%.0fm ago", floor(seconds / 60));
    else if (seconds < 86400)
        snprintf(figure.text, sizeof figure.text, "%.0fh ago", floor(seconds / 3600));
    else
        snprintf(figure.text, sizeof figure.text, "%.0fd ago", floor(seconds / 86400));
    return figure;
}

struct figure format_speedup(double ratio, double low, double high, bool ascii) {
    struct figure figure, middle = format_ratio(ratio);
    if (!isfinite(ratio) || !isfinite(low) || !isfinite(high)) return middle;
    int digits = ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0;
    double unit = pow(10, -digits), half = ceil((high - low) / 2 / unit - 1e-9) * unit;
    snprintf(figure.text, sizeof figure.text, "%.12s %s%.*f", middle.text, ascii ? "+-" : "± ",
             digits, half < unit ? unit : half);
    return figure;
}

static const struct {
    const char *name;
    double worth;
} units[] = {
    {"ns", 1},
    {"us", US},
    {"ms", MS},
    {"s", SECOND},
    {"m", 60.0 * SECOND},
    {"min", 60.0 * SECOND},
    {"h", 3600.0 * SECOND},
    {"d", 86400.0 * SECOND},
    {"B", 1},
    {"K", KB},
    {"KB", KB},
    {"M", MB},
    {"MB", MB},
    {"G", GB},
    {"GB", GB},
    {"T", TB},
    {"TB", TB},
    {"k", 1e3},
    {"%", 0.01},
};

bool format_read(const char *text, double *ret_value, bool *ret_has_unit) {
    char *end;
    double value = strtod(text, &end), worth = 1;
    if (end == text || !isfinite(value) || strpbrk(text, "xXpP")) return false;
    while (*end == ' ') end++;
    bool has_unit = *end != 0, is_known = !has_unit;
    for (size_t i = 0; i < ARRAY_SIZE(units) && !is_known; i++)
        if (!strcmp(units[i].name, end)) worth = units[i].worth, is_known = true;
    if (!is_known) return false;
    *ret_value = value * worth;
    *ret_has_unit = has_unit;
    return true;
}
