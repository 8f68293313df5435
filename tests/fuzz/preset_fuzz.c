/* Fuzz target: the text of a preset file. What is read must be written and read again as the same.
 * Not part of the build, since it needs clang:
 *
 *     clang -std=gnu17 -D_GNU_SOURCE -I. -g -O1 -fsanitize=fuzzer,address,undefined \
 *         tests/fuzz/preset_fuzz.c engine/setup/[a-z]*.c engine/base/[a-z]*.c -lyaml -o preset_fuzz
 *     ./preset_fuzz -max_len=4096 -max_total_time=60 CORPUS presets
 *
 * CORPUS is an empty folder for what it finds, presets the project's folder to begin with.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "engine/base/attr.h"
#include "engine/setup/plan.h"
#include "engine/setup/preset.h"

#include "engine/base/banned.h"

static void check_preset(const uint8_t *bytes, size_t size) {
    CLEANUP(preset_done) struct preset preset = PRESET_INIT, again = PRESET_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT, old = BUF_INIT;
    struct err err;
    buf_add(&old, bytes, size);
    if (preset_read(buf_text(&old), size, &preset, &err) < 0) return;
    if (preset_rewrite(&preset, old.data, old.size, &text, &err) < 0) abort();
    if (preset_read(text.data, text.size, &again, &err) < 0) abort();
    if (!is_same_settings(&preset.settings, &again.settings)) abort();
    buf_clear(&text);
    settings_put(&preset.settings, "scope", "eager");
    if (preset_rewrite(&preset, old.data, old.size, &text, &err) < 0) abort();
}

static void check_change(const uint8_t *bytes, size_t size) {
    CLEANUP(settings_done) struct settings change = SETTINGS_INIT, again = SETTINGS_INIT;
    CLEANUP(plan_done) struct plan plan = PLAN_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct err err;
    buf_add(&text, bytes, size);
    (void)plan_parse_at(&plan, buf_text(&text), &err);
    if (settings_parse_change(buf_text(&text), &change, &err) < 0) return;
    CLEANUP(cleanup_free) char *written = settings_text(&change);
    CLEANUP(cleanup_free) char *label = settings_label(&change);
    if (settings_parse_change(written, &again, &err) < 0) abort();
    if (!is_same_settings(&change, &again)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    check_preset(bytes, size);
    check_change(bytes, size);
    return 0;
}
