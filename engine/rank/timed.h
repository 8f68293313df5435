/* A Python callable that times another one for the phases of a step. No Python frame: tracebacks are the user's own, and Dynamo finds
 * nothing to look at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_TIMED_H
#define INDUCTOP_RANK_TIMED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the type to the module; -1 with an error set. timed(kind, callable): `kind` is a bit of enum step_valid, the callable may be a
 * method that is then put into its class. Attributes are those of the callable, which is also its __wrapped__. */
int timed_add_type(PyObject *module);

#endif
