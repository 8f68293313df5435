/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/timed.h"

#include <stddef.h>

#include "engine/rank/core.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

struct timed {
    PyObject_HEAD
    PyObject *real;
    PyObject *bound; /* first argument, NULL: none */
    uint32_t bit;
};

static PyObject *make(PyTypeObject *type, PyObject *real, PyObject *bound, uint32_t bit) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct timed *self = (struct timed *)allocate(type, 0);
    if (!self) return NULL;
    Py_INCREF(real);
    Py_XINCREF(bound);
    self->real = real;
    self->bound = bound;
    self->bit = bit;
    return (PyObject *)self;
}

static PyObject *timed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned int bit;
    PyObject *real;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "this is timed(kind, callable)");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "IO:timed", &bit, &real)) return NULL;
    if ((bit != STEP_HAS_DATA && bit != STEP_HAS_BACKWARD) || !PyCallable_Check(real)) {
        PyErr_SetString(PyExc_ValueError, "timed(kind, callable): of data or backward");
        return NULL;
    }
    return make(type, real, NULL, bit);
}

static PyObject *with_first(PyObject *first, PyObject *args) {
    Py_ssize_t count = PyTuple_Size(args);
    PyObject *all = PyTuple_New(count + 1);
    if (!all) return NULL;
    Py_INCREF(first);
    PyTuple_SetItem(all, 0, first);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *arg = PyTuple_GetItem(args, i);
        Py_INCREF(arg);
        PyTuple_SetItem(all, i + 1, arg);
    }
    return all;
}

static PyObject *timed_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    struct timed *self = (struct timed *)object;
    PyObject *all = self->bound ? with_first(self->bound, args) : NULL;
    if (self->bound && !all) return NULL;
    core_phase_begin(self->bit);
    PyObject *result = PyObject_Call(self->real, all ? all : args, kwargs);
    core_phase_end();
    Py_XDECREF(all);
    return result;
}

static PyObject *timed_get(PyObject *object, PyObject *instance, PyObject *type) {
    (void)type;
    struct timed *self = (struct timed *)object;
    if (!instance || instance == Py_None) {
        Py_INCREF(object);
        return object;
    }
    return make(Py_TYPE(object), self->real, instance, self->bit);
}

static PyObject *timed_getattr(PyObject *object, PyObject *name) {
    struct timed *self = (struct timed *)object;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        Py_INCREF(self->real);
        return self->real;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return PyObject_GenericGetAttr(object, name);
    return PyObject_GetAttr(self->real, name);
}

static int timed_traverse(PyObject *object, visitproc visit, void *arg) {
    struct timed *self = (struct timed *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->real);
    Py_VISIT(self->bound);
    return 0;
}

static int timed_clear(PyObject *object) {
    struct timed *self = (struct timed *)object;
    Py_CLEAR(self->real);
    Py_CLEAR(self->bound);
    return 0;
}

static void timed_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyObject_GC_UnTrack(object);
    timed_clear(object);
    release(object);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "timed(kind, callable): counts the calls' time into a phase of the step"},
    {Py_tp_new, timed_new},
    {Py_tp_call, timed_call},
    {Py_tp_descr_get, timed_get},
    {Py_tp_getattro, timed_getattr},
    {Py_tp_traverse, timed_traverse},
    {Py_tp_clear, timed_clear},
    {Py_tp_dealloc, timed_dealloc},
    {0},
};

static PyType_Spec spec = {
    .name = "_inductop.timed",
    .basicsize = sizeof(struct timed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};

int timed_add_type(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    int rc = PyModule_AddObjectRef(module, "timed", type);
    Py_DECREF(type);
    return rc;
}
