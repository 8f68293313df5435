/* Events as lines for people, when there is no screen. Each line begins "inductop: ". Steps are not told one by one.
 * No state but the printer's own; the loop thread alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_CLI_PRINTER_H
#define INDUCTOP_CLI_PRINTER_H

#include "engine/base/buf.h"
#include "engine/event/event.h"

struct printer;

struct printer *printer_new(void);
void printer_free(struct printer *printer); /* accepts NULL */

/* Adds the lines for this event, if it is worth one. */
void printer_event(struct printer *printer, const struct event *event, struct buf *ret_lines);

/* Adds text of several lines, each with the prefix. */
void printer_text(struct buf *ret_lines, const char *text);

#endif
