/* The viewers of an engine: what each is told, and which of them is in charge. Part of the engine
 * (parts.h), loop thread only.
 *
 * A viewer that says `screen: true` in its hello is told everything: the past first, then what
 * comes, steps as binary frames. One that does not read fast enough is left alone until it has read
 * nearly all, then told what it missed as far as that is still known; the engine never waits and
 * never holds more than VIEWERS_QUEUE bytes for one. Screens are in charge one at a time: the first
 * that came, then the next; the others' commands are refused until they take over. A viewer without
 * a screen
 * (`inductop send`) is told events only, from its hello on, and may always command.
 *
 * Hello of a viewer: {"v":1, "role":"viewer", "screen":true, "engine":ID, "since":N}. `engine` and
 * `since` only of one that was here before: the id of the engine that it saw and the number of the
 * last event it got (both from STATUS): it is told what came after.
 *
 * STATUS, first and last frame about the past, and again whenever something in it changes:
 *     v, engine (id), start_ns (of the job, CLOCK_MONOTONIC), name, readonly, baseline (off, auto,
 * on) past       true: what follows is the past; false: it was told, all from now on is live known
 * this is the engine that the viewer saw before: what is told goes on from there seq        number
 * of the last event told to this viewer in_charge, screens (how many there are), missed {events,
 * steps} (could not be told to this viewer) did, tag   only in an answer to a command that was
 * taken: its name, and the tag it came with
 *
 * Commands: {"v":1, "do":NAME, ...}: propose {change, group, tag}, baseline {group, tag}, compare
 * {change, group, force, tag} (what is in force with a change of it; what comes of both is told as
 * speedup events with the tag), take over {tag}, status {tag}. What is refused is answered by an event with the tag, to that viewer alone
 * (kind problem), or for proposals to all (kind switch). SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_VIEWERS_H
#define INDUCTOP_VIEWERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/event/event.h"
#include "engine/wire/frame.h"

struct engine;
struct guest;

enum { VIEWERS_QUEUE = 3 << 20, VIEWERS_PAST_STEPS = 16384 };

struct viewers;

struct viewers *viewers_new(struct engine *engine);
struct viewers *viewers_free(struct viewers *viewers); /* returns NULL */

void viewers_hello(struct viewers *viewers, struct guest *guest, const json_t *hello);
void viewers_gone(struct viewers *viewers, struct guest *guest);

/* An event that was told, steps apart, and its line; `group` of the rank that it comes from, or
 * NULL. */
void viewers_event(struct viewers *viewers, const struct event *event, const char *group,
                   const char *line, size_t size);

/* A STEPS frame of a rank. */
void viewers_steps(struct viewers *viewers, const struct guest *rank, const struct frame *frame);

/* Tells those who were behind what they missed; now and then. */
void viewers_turn(struct viewers *viewers);

/* Everything told has been read. */
bool viewers_are_idle(const struct viewers *viewers);

/* NULL when this viewer may give commands, else why not. */
const char *viewers_objection(const struct viewers *viewers, const struct guest *guest);

void viewers_take_over(struct viewers *viewers, struct guest *guest);

/* The answer to a command that was taken. */
void viewers_did(struct viewers *viewers, struct guest *guest, const json_t *command);

/* The answer to one that was refused: a problem event to this viewer alone. */
void viewers_refuse(struct viewers *viewers, struct guest *guest, const json_t *command,
                    const char *reason);

#endif
