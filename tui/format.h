/* Figures as short texts, and back. The only place where units change: inside everything is
 * nanoseconds and bytes.
 *
 * A figure is a small value; use it in place: area_text(area, x, y, style, format_bytes(n).text).
 * What is missing is NaN and becomes "-", never 0. Rounding never makes a figure longer ("1.0 s",
 * not "1000 ms"). No state, any thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_FORMAT_H
#define INDUCTOP_TUI_FORMAT_H

#include <stdbool.h>

enum { FIGURE_SIZE = 32 };

struct figure {
    char text[FIGURE_SIZE];
};

/* Columns that figures take at most, for tables; a sign in front is one more. */
enum {
    FORMAT_DURATION_WIDTH = 7,
    FORMAT_MS_WIDTH = 7,
    FORMAT_BYTES_WIDTH = 7,
    FORMAT_RATIO_WIDTH = 5,
    FORMAT_SPEEDUP_WIDTH = 11,
    FORMAT_COUNT_WIDTH = 5,
    FORMAT_PERCENT_WIDTH = 6
};

struct figure format_duration(
    double ns); /* "350 ns", "60.0 us", "31.9 ms", "13.4 s", "2m 05s", "1h 04m", "3d 04h" */
struct figure format_ms(
    double ns); /* the figure alone, for a column in ms: "31.9", "1204"; over 100 s as duration */
struct figure format_bytes(double bytes);      /* "980 B", "612 MB", "1.5 GB"; powers of 1024 */
struct figure format_ratio(double ratio);      /* "1.34", "12.3", "134" */
struct figure format_count(double count);      /* "412", "99999", "123k", "1.23M" */
struct figure format_percent(double ratio);    /* 0.003 is "0.3 %", 0.12 "12 %"; "<0.1 %" */
struct figure format_rate(double steps_per_s); /* "31.2 steps/s", "4.1 s/step" */
struct figure format_ago(double ns);           /* "now", "12 s ago", "3m ago" */

/* "1.34 ± 0.02": half of the interval, rounded up; without ends (NaN) the ratio alone. In ASCII
 * "1.34 +-0.02". */
struct figure format_speedup(double ratio, double low, double high, bool ascii);

/* Reads "40", "1.5s", "200 ms", "600M", "2 GB", "12k", "3%": into nanoseconds, bytes or a plain
 * number; m is minutes, M is 1024^2. Returns false when it is no figure. `ret_has_unit` says
 * whether a unit stood there. */
bool format_read(const char *text, double *ret_value, bool *ret_has_unit);

#endif
