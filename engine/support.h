/* The door to the folder of what was installed beside the program: shipped presets, the demo.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SUPPORT_H
#define INDUCTOP_SUPPORT_H

/* Its path, owned by the caller; NULL: it was not found. */
char *support_folder(void);

#endif
