/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/wire/source.h"

#include "engine/base/banned.h"

const char *source_state_name(enum source_state state) {
    static const char *const names[SOURCE_STATE_COUNT] = {
        [SOURCE_CONNECTING] = "connecting",
        [SOURCE_CATCHING_UP] = "catching up",
        [SOURCE_LIVE] = "live",
        [SOURCE_PAUSED] = "paused",
        [SOURCE_LOST] = "lost",
        [SOURCE_ENDED] = "ended",
    };
    return names[state];
}
