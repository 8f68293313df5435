/* A set of settings as lines that do it again: our command line, code, environment. What one of
 * them cannot say is named, not dropped. Pure, any thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TUI_REPRODUCE_H
#define INDUCTOP_TUI_REPRODUCE_H

#include "engine/base/buf.h"
#include "engine/setup/settings.h"

/* "--set mode=max-autotune,dynamic=on"; nothing for an empty set. Added to `out`, as below. */
void reproduce_options(struct buf *out, const struct settings *settings);

/* "model = torch.compile(model, dynamic=True)"; a line more for what is no argument of it. */
void reproduce_code(struct buf *out, const struct settings *settings);

/* "TORCHINDUCTOR_SHAPE_PADDING=0", a blank between two; then "; cannot say: dynamic". */
void reproduce_environment(struct buf *out, const struct settings *settings);

#endif
