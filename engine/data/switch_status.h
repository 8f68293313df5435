/* What became of a switch.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SWITCH_STATUS_H
#define INDUCTOP_DATA_SWITCH_STATUS_H

enum switch_status {
    SWITCH_UNTOLD,
    SWITCH_PROPOSED,
    SWITCH_READY,
    SWITCH_COMMITTED,
    SWITCH_APPLIED,
    SWITCH_NOT_REACHED,
    SWITCH_ABORTED,
    SWITCH_REFUSED,
    SWITCH_MISSED,
    SWITCH_FAILED,
    SWITCH_STATUS_COUNT
};

/* As in JSON; "proposed" for one that was never told. */
const char *switch_status_name(enum switch_status status);

#endif
