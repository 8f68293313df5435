/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/banned.h"

static const struct {
    const char *name;
    const char *text;
} codes[ERR_CODE_COUNT] = {
#define ERR(symbol, name, text) [ERR_##symbol] = {name, text},
#include "engine/base/err.def"
#undef ERR
};

const char *err_name(enum err_code code) {
    return (unsigned)code < ERR_CODE_COUNT ? codes[code].name : "unknown";
}

const char *err_text(enum err_code code) {
    return (unsigned)code < ERR_CODE_COUNT ? codes[code].text : "unknown error";
}

int err_set(struct err *err, enum err_code code, const char *format, ...) {
    if (!err) return -(int)code;
    va_list args;
    va_start(args, format);
    err->code = code;
    err->hint[0] = 0;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return -(int)code;
}

int err_set_errno(struct err *err, int number, const char *format, ...) {
    if (!err) return -(int)ERR_SYSTEM;
    va_list args;
    va_start(args, format);
    err->code = ERR_SYSTEM;
    err->hint[0] = 0;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t used = strlen(err->message);
    char text[128];
    snprintf(err->message + used, sizeof err->message - used, ": %s", strerror_r(number, text, sizeof text));
    return -(int)ERR_SYSTEM;
}

int err_wrap(struct err *err, const char *format, ...) {
    if (!err) return -(int)ERR_INVALID;
    char old[sizeof err->message];
    snprintf(old, sizeof old, "%s", err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", old);
    return -(int)err->code;
}

void err_hint(struct err *err, const char *format, ...) {
    if (!err) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
}
