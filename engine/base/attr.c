/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/attr.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/banned.h"

void cleanup_free(void *pointer_to_pointer) {
    void *p;
    memcpy(&p, pointer_to_pointer, sizeof p);
    free(p);
}

void cleanup_close(int *fd) {
    if (*fd >= 0) close(*fd);
}
