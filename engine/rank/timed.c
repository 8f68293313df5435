/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/timed.h"

#include <stdbool.h>
#include <stddef.h>

#include "engine/rank/core.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

struct timed {
    PyObject_HEAD
    PyObject *real;
    PyObject *bound;    /* first argument, NULL: none */
    PyObject *listener; /* NULL: none */
    uint32_t bit;       /* 0: not timed */
};

static PyObject *make(PyTypeObject *type, const struct timed *like, PyObject *bound) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct timed *self = (struct timed *)allocate(type, 0);
    if (!self) return NULL;
    Py_INCREF(like->real);
    Py_XINCREF(like->listener);
    Py_XINCREF(bound);
    self->real = like->real;
    self->listener = like->listener;
    self->bound = bound;
    self->bit = like->bit;
    return (PyObject *)self;
}

static PyObject *timed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"kind", "callable", "listener", NULL};
    unsigned int bit;
    struct timed like = {0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IO|O:timed", names, &bit, &like.real, &like.listener)) return NULL;
    like.bit = bit;
    bool is_kind = bit == STEP_HAS_DATA || bit == STEP_HAS_BACKWARD || (bit == 0 && like.listener);
    if (is_kind && PyCallable_Check(like.real) && (!like.listener || PyCallable_Check(like.listener)))
        return make(type, &like, NULL);
    PyErr_SetString(PyExc_ValueError, "timed(kind, callable, listener): of data, backward, or 0 with a listener");
    return NULL;
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

/* What it raises is ours, counted and forgotten, unless it is no Exception: then it is the user's, and the result is lost to it. */
static PyObject *tell(const struct timed *self, PyObject *result, PyObject *args, PyObject *kwargs) {
    PyObject *said = PyObject_CallFunctionObjArgs(self->listener, result, args, kwargs ? kwargs : Py_None, NULL);
    if (said) {
        Py_DECREF(said);
        return result;
    }
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        core_fault();
        return result;
    }
    Py_DECREF(result);
    return NULL;
}

static PyObject *timed_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    struct timed *self = (struct timed *)object;
    PyObject *all = self->bound ? with_first(self->bound, args) : NULL;
    if (self->bound && !all) return NULL;
    if (self->bit) core_phase_begin(self->bit);
    PyObject *result = PyObject_Call(self->real, all ? all : args, kwargs);
    if (self->bit) core_phase_end();
    if (result && self->listener) result = tell(self, result, all ? all : args, kwargs);
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
    return make(Py_TYPE(object), self, instance);
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
    Py_VISIT(self->listener);
    return 0;
}

static int timed_clear(PyObject *object) {
    struct timed *self = (struct timed *)object;
    Py_CLEAR(self->real);
    Py_CLEAR(self->bound);
    Py_CLEAR(self->listener);
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
    {Py_tp_doc, "timed(kind, callable, listener=None): see timed.h"},
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
