/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/reproduce.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/str.h"
#include "engine/base/banned.h"

static bool is_value(const char *value, const char *wanted) {
    return value && strcmp(value, wanted) == 0;
}

void reproduce_options(struct buf *out, const struct settings *settings) {
    if (settings->count == 0) return;
    CLEANUP(cleanup_free) char *text = settings_text(settings);
    bool is_plain = !strpbrk(text, " \"'\\$`*?;&|<>()[]{}#~");
    buf_printf(out, is_plain ? "--set %s" : "--set '%s'", text);
}

/* ---- code */

/* Text to Python: the values that are Python's own, numbers, else a string. */
static void add_python(struct buf *out, const char *value) {
    static const char *const words[][2] = {{"on", "True"},     {"true", "True"}, {"off", "False"},
                                           {"false", "False"}, {"none", "None"}, {"auto", "None"}};
    char *end;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (is_value(value, words[i][0])) {
            buf_puts(out, words[i][1]);
            return;
        }
    strtod(value, &end);
    buf_printf(out, *value && !*end ? "%s" : "\"%s\"", value);
}

static void add_argument(struct buf *out, const char *name, const char *value) {
    if (!value) return;
    buf_printf(out, ", %s=", name);
    add_python(out, value);
}

/* Options of inductor: those of options.*, and settings that are one. */
static void add_options(struct buf *out, const struct settings *settings) {
    size_t count = 0;
    for (size_t i = 0; i < settings->count; i++) {
        const struct settings_pair *pair = &settings->pairs[i];
        bool is_graphs = is_value(pair->key, "cudagraphs"),
             is_padding = is_value(pair->key, "shape_padding");
        if (!is_graphs && !is_padding && !has_prefix(pair->key, "options.")) continue;
        buf_puts(out, count++ ? ", " : ", options={");
        buf_printf(out, "\"%s\": ",
                   is_graphs    ? "triton.cudagraphs"
                   : is_padding ? "shape_padding"
                                : pair->key + strlen("options."));
        add_python(out, is_padding && is_value(pair->value, "force") ? "on" : pair->value);
        if (is_padding && is_value(pair->value, "force"))
            buf_puts(out, ", \"force_shape_pad\": True");
    }
    if (count) buf_puts(out, "}");
}

void reproduce_code(struct buf *out, const struct settings *settings) {
    const char *scope = settings_get(settings, "scope");
    if (is_value(scope, "eager")) {
        buf_puts(out, "no torch.compile() at all");
        return;
    }
    if (settings->count == 0) {
        buf_puts(out, "as the script has it");
        return;
    }
    bool is_regional = is_value(scope, "regional");
    buf_puts(out, is_regional ? "for block in model.blocks: block.compile("
                              : "model = torch.compile(model");
    size_t before = out->size;
    add_argument(out, "backend", settings_get(settings, "backend"));
    add_argument(out, "mode", settings_get(settings, "mode"));
    add_argument(out, "fullgraph", settings_get(settings, "fullgraph"));
    add_argument(out, "dynamic", settings_get(settings, "dynamic"));
    add_options(out, settings);
    if (is_regional && out->size > before) { /* no argument stands before the first */
        memmove(out->data + before, out->data + before + 2, out->size - before - 1);
        out->size -= 2;
    }
    buf_puts(out, ")");
    for (size_t i = 0; i < settings->count; i++)
        if (strchr(settings->pairs[i].key, '/'))
            buf_printf(out, "  # and for one unit: %s=%s", settings->pairs[i].key,
                       settings->pairs[i].value);
}

/* ---- environment */

struct variable {
    const char *key, *value, *text;
};

static const struct variable variables[] = {
    {"scope", "eager", "TORCH_COMPILE_DISABLE=1"},
    {"mode", "max-autotune", "TORCHINDUCTOR_MAX_AUTOTUNE=1"},
    {"mode", "max-autotune-no-cudagraphs", "TORCHINDUCTOR_MAX_AUTOTUNE=1"},
    {"options.max_autotune", "true", "TORCHINDUCTOR_MAX_AUTOTUNE=1"},
    {"options.coordinate_descent_tuning", "true", "TORCHINDUCTOR_COORDINATE_DESCENT_TUNING=1"},
    {"cudagraphs", "on", "TORCHINDUCTOR_CUDAGRAPHS=1"},
    {"shape_padding", "on", "TORCHINDUCTOR_SHAPE_PADDING=1"},
    {"shape_padding", "off", "TORCHINDUCTOR_SHAPE_PADDING=0"},
};

static const char *variable_for(const struct settings_pair *pair) {
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        if (is_value(pair->key, variables[i].key) && is_value(pair->value, variables[i].value))
            return variables[i].text;
    return NULL;
}

void reproduce_environment(struct buf *out, const struct settings *settings) {
    CLEANUP(buf_done) struct buf unsaid = BUF_INIT;
    size_t said = 0;
    for (size_t i = 0; i < settings->count; i++) {
        const char *text = variable_for(&settings->pairs[i]);
        if (text)
            buf_printf(out, "%s%s", said++ ? " " : "", text);
        else
            buf_printf(&unsaid, "%s%s", unsaid.size ? ", " : "", settings->pairs[i].key);
    }
    if (unsaid.size)
        buf_printf(out, "%scannot say: %s", said ? "; " : "", buf_text(&unsaid));
    else if (said == 0)
        buf_puts(out, "nothing to set");
}
