/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/support.h"

#include <stddef.h>

#include "engine/run/launch.h"
#include "engine/base/banned.h"

char *support_folder(void) {
    char *folder = NULL;
    return launch_support_dir(&folder, NULL) ? NULL : folder;
}
