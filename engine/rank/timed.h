/* A Python callable in the place of another one: it times its calls for the phases of a step, and tells a listener of them. No Python
 * frame: tracebacks are the user's own, and Dynamo finds nothing to look at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_TIMED_H
#define INDUCTOP_RANK_TIMED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the type to the module; -1 with an error set. timed(kind, callable, listener=None): `kind` is STEP_HAS_DATA, STEP_HAS_BACKWARD, or
 * 0 with a listener alone; the callable may be a method that is then put into its class. listener(result, args, kwargs or None) is called
 * behind a call that raised nothing. Attributes are those of the callable, which is also its __wrapped__. */
int timed_add_type(PyObject *module);

#endif
