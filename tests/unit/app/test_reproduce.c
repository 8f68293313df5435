/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/base/attr.h"
#include "tui/reproduce.h"
#include "engine/base/banned.h"

static const struct {
    const char *change, *options, *code, *environment;
} rows[] = {
    {"as-written", "", "as the script has it", "nothing to set"},
    {"dynamic=on", "--set dynamic=on", "model = torch.compile(model, dynamic=True)",
     "cannot say: dynamic"},
    {"dynamic=auto,fullgraph=off", "--set dynamic=auto,fullgraph=off",
     "model = torch.compile(model, fullgraph=False, dynamic=None)",
     "cannot say: dynamic, fullgraph"},
    {"scope=eager", "--set scope=eager", "no torch.compile() at all", "TORCH_COMPILE_DISABLE=1"},
    {"scope=regional,backend=aot_eager", "--set backend=aot_eager,scope=regional",
     "for block in model.blocks: block.compile(backend=\"aot_eager\")",
     "cannot say: backend, scope"},
    {"scope=regional", "--set scope=regional", "for block in model.blocks: block.compile()",
     "cannot say: scope"},
    {"mode=max-autotune", "--set mode=max-autotune",
     "model = torch.compile(model, mode=\"max-autotune\")", "TORCHINDUCTOR_MAX_AUTOTUNE=1"},
    {"cudagraphs=on,options.max_fusion_size=64,options.epilogue_fusion=false",
     "--set cudagraphs=on,options.epilogue_fusion=false,options.max_fusion_size=64",
     "model = torch.compile(model, options={\"triton.cudagraphs\": True, \"epilogue_fusion\": "
     "False, "
     "\"max_fusion_size\": 64})",
     "TORCHINDUCTOR_CUDAGRAPHS=1; cannot say: options.epilogue_fusion, options.max_fusion_size"},
    {"shape_padding=force", "--set shape_padding=force",
     "model = torch.compile(model, options={\"shape_padding\": True, \"force_shape_pad\": True})",
     "cannot say: shape_padding"},
};

static void test_settings_are_said_in_three_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct settings change = SETTINGS_INIT, set = SETTINGS_INIT;
        CLEANUP(buf_done) struct buf options = BUF_INIT;
        CLEANUP(buf_done) struct buf code = BUF_INIT;
        CLEANUP(buf_done) struct buf environment = BUF_INIT;
        assert_int_equal(settings_parse_change(rows[i].change, &change, NULL), 0);
        settings_merge(&set, &change);
        reproduce_options(&options, &set);
        reproduce_code(&code, &set);
        reproduce_environment(&environment, &set);
        assert_string_equal(buf_text(&options), rows[i].options);
        assert_string_equal(buf_text(&code), rows[i].code);
        assert_string_equal(buf_text(&environment), rows[i].environment);
        settings_done(&change);
        settings_done(&set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings_are_said_in_three_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
