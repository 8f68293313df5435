/* The program's entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/main.h"

#include "engine/base/banned.h"

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
