/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/banned.h"

static void (*out_of_memory)(void);

void mem_set_hook(void (*hook)(void)) {
    out_of_memory = hook;
}

static void *checked(void *memory) {
    if (memory) return memory;
    static const char text[] = "inductop: out of memory\n";
    if (out_of_memory) out_of_memory();
    if (write(2, text, sizeof text - 1) < 0) {}
    _exit(125);
}

void *mem_array(size_t count, size_t size) {
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_new(size_t size) {
    return mem_array(1, size);
}

void *mem_resize(void *memory, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) return checked(NULL);
    return checked(realloc(memory, count && size ? count * size : 1));
}

char *mem_strndup(const char *text, size_t size) {
    return checked(strndup(text, size));
}

char *mem_strdup(const char *text) {
    return checked(strdup(text));
}

char *mem_printf(const char *format, ...) {
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return checked(length < 0 ? NULL : text);
}
