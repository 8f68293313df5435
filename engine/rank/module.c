/* The extension module `_inductop`: the rank core for the agent. It and timed.c
 * include Python.h; limited API of 3.10, so one binary serves every later Python. Call-backs run in
 * step(); what they raise is counted and forgotten, except what is no Exception (KeyboardInterrupt,
 * SystemExit): that is the user's and is raised again at the end of step().
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/host.h"
#include "engine/rank/core.h"
#include "engine/rank/tables.h"
#include "engine/rank/timed.h"
#include "engine/wire/frame.h"
#include "engine/base/banned.h"

#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

static PyObject *on_prepare, *on_apply, *on_outcome, *on_plan, *on_bridge;
static PyObject *user_type, *user_value, *user_trace; /* raised in a call-back, not ours */

/* ---- helpers */

static PyObject *raise_err(const struct err *err) {
    PyErr_SetString(err->code == ERR_SYSTEM ? PyExc_OSError : PyExc_RuntimeError, err->message);
    return NULL;
}

static bool has_args(Py_ssize_t count, Py_ssize_t wanted, const char *signature) {
    if (count == wanted) return true;
    PyErr_Format(PyExc_TypeError, "wrong number of arguments, this is %s", signature);
    return false;
}

static bool to_u32(PyObject *object, uint32_t *ret_value) {
    unsigned long value = PyLong_AsUnsignedLong(object);
    if (value == (unsigned long)-1 && PyErr_Occurred()) return false;
    if (value > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the number does not fit into 32 bits");
        return false;
    }
    *ret_value = (uint32_t)value;
    return true;
}

static bool to_event(PyObject *object, char **ret_bytes, Py_ssize_t *ret_size) {
    if (PyBytes_AsStringAndSize(object, ret_bytes, ret_size) < 0) return false;
    if (*ret_size <= EVENT_MAX) return true;
    PyErr_Format(PyExc_ValueError, "an event has %d bytes at most, this one has %zd", EVENT_MAX,
                 *ret_size);
    return false;
}

/* ---- call-backs */

/* True when the error is ours to forget. */
static bool forget_error(void) {
    bool is_ours = PyErr_ExceptionMatches(PyExc_Exception);
    if (is_ours || user_type)
        PyErr_Clear();
    else
        PyErr_Fetch(&user_type, &user_value, &user_trace);
    if (is_ours) core_fault();
    return is_ours;
}

static uint64_t take_count(PyObject *result) {
    unsigned long long count = 0;
    if (result && result != Py_None) count = PyLong_AsUnsignedLongLong(result);
    if (PyErr_Occurred()) {
        forget_error();
        count = 0;
    }
    Py_XDECREF(result);
    return count;
}

static void copy_text(PyObject *text, char *ret, size_t room) {
    Py_ssize_t size = 0;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (!utf8) {
        PyErr_Clear();
        utf8 = "the agent gave no readable reason";
    }
    snprintf(ret, room, "%s", utf8);
}

/* The error itself is the reason; it is gone afterwards. */
static void copy_error(char *ret, size_t room) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Repr(value) : NULL;
    copy_text(text, ret, room);
    Py_XDECREF(text);
    PyErr_Restore(type, value, trace);
    forget_error();
}

static bool call_prepare(uint32_t id, const uint8_t *payload, size_t size,
                         char ret_reason[GATE_REASON_ROOM]) {
    if (!on_prepare) {
        snprintf(ret_reason, GATE_REASON_ROOM, "the agent of this process does not switch");
        return false;
    }
    PyObject *result = PyObject_CallFunction(on_prepare, "Iy#", (unsigned)id, (const char *)payload,
                                             (Py_ssize_t)size);
    bool is_ready = result == Py_None;
    if (!result)
        copy_error(ret_reason, GATE_REASON_ROOM);
    else if (!is_ready)
        copy_text(result, ret_reason, GATE_REASON_ROOM);
    Py_XDECREF(result);
    return is_ready;
}

static uint64_t call_apply(uint32_t id, uint64_t count, uint32_t index) {
    if (!on_apply) return 0;
    return take_count(PyObject_CallFunction(on_apply, "IKI", (unsigned)id,
                                            (unsigned long long)count, (unsigned)index));
}

static void call_outcome(uint32_t id, uint64_t count, const char *status) {
    if (!on_outcome) return;
    PyObject *result =
        PyObject_CallFunction(on_outcome, "IKs", (unsigned)id, (unsigned long long)count, status);
    if (!result) forget_error();
    Py_XDECREF(result);
}

static uint64_t call_plan(uint64_t count) {
    if (!on_plan) return 0;
    return take_count(PyObject_CallFunction(on_plan, "K", (unsigned long long)count));
}

static void call_bridged(uint64_t count, const char *fault) {
    if (!on_bridge) return;
    PyObject *result = PyObject_CallFunction(on_bridge, "Kz", (unsigned long long)count, fault);
    if (!result) forget_error();
    Py_XDECREF(result);
}

static void *unlock(void) {
    return PyEval_SaveThread();
}

static void relock(void *state) {
    PyEval_RestoreThread(state);
}

/* Python of 3.12 and later warns when a process that forks has threads. It counts them behind our
 * handlers, from 3.13 on even behind the hooks of os.register_at_fork(), each of which gives
 * pending calls a turn. So the sender comes back after some hundred turns: 50 us of Python, or the
 * next call of ours. */
enum { TURNS_TO_RESUME = 512 };
static int turns;

static int resume(void *unused) {
    if (turns > 0 && --turns > 0 && Py_AddPendingCall(resume, unused) == 0) return 0;
    core_resume();
    return 0;
}

static void forked(void) {
    bool is_pending = turns > 0;
    turns = TURNS_TO_RESUME;
    if (!is_pending) Py_AddPendingCall(resume, NULL);
}

static void set_callback(PyObject **callback, PyObject *value) {
    PyObject *old = *callback;
    if (value == Py_None) value = NULL;
    Py_XINCREF(value);
    *callback = value;
    Py_XDECREF(old);
}

static PyObject *py_callbacks(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!has_args(count, 4, "callbacks(prepare, apply, outcome, plan)")) return NULL;
    for (int i = 0; i < 4; i++)
        if (args[i] != Py_None && !PyCallable_Check(args[i])) {
            PyErr_SetString(PyExc_TypeError, "a call-back must be callable, or None");
            return NULL;
        }
    PyObject **const places[] = {&on_prepare, &on_apply, &on_outcome, &on_plan};
    for (int i = 0; i < 4; i++) set_callback(places[i], args[i]);
    Py_RETURN_NONE;
}

/* ---- life */

static PyObject *place_to_dict(const struct core_place *place) {
    char nonce[17];
    snprintf(nonce, sizeof nonce, "%016llx", (unsigned long long)place->nonce);
    return Py_BuildValue("{sIsIsIsssKsI}", "group_index", place->group, "slot", place->slot, "gen",
                         place->gen, "nonce", nonce, "step", (unsigned long long)place->step,
                         "in_force", place->in_force);
}

static PyObject *py_join(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    uint32_t rank, world;
    struct core_place place;
    struct err err;
    if (!has_args(count, 4, "join(page_path, key, rank, world)")) return NULL;
    const char *key = PyUnicode_AsUTF8AndSize(args[1], NULL);
    if (!key || !to_u32(args[2], &rank) || !to_u32(args[3], &world)) return NULL;
    PyObject *path;
    if (!PyUnicode_FSConverter(args[0], &path)) return NULL;
    int rc = core_join(PyBytes_AsString(path), key, rank, world, &place, &err);
    Py_DECREF(path);
    return rc < 0 ? raise_err(&err) : place_to_dict(&place);
}

static PyObject *py_start(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    char *hello;
    Py_ssize_t size;
    struct err err;
    if (!has_args(count, 2, "start(socket_path, hello)")) return NULL;
    if (PyBytes_AsStringAndSize(args[1], &hello, &size) < 0) return NULL;
    PyObject *path;
    if (!PyUnicode_FSConverter(args[0], &path)) return NULL;
    int rc = core_start(PyBytes_AsString(path), hello, (size_t)size, &err);
    Py_DECREF(path);
    if (rc < 0 && err.code != ERR_BUSY) return raise_err(&err);
    return PyBool_FromLong(rc == 0);
}

static PyObject *py_collectives(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    struct err err;
    if (!has_args(count, 1, "collectives(plugin_path)")) return NULL;
    PyObject *path;
    if (!PyUnicode_FSConverter(args[0], &path)) return NULL;
    int rc = core_collectives(PyBytes_AsString(path), &err);
    Py_DECREF(path);
    if (rc < 0) return raise_err(&err);
    Py_RETURN_NONE;
}

static PyObject *py_gloo(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    core_gloo();
    Py_RETURN_NONE;
}

static PyObject *py_memory_left(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyFloat_FromDouble(host_memory_left());
}

static PyObject *py_stop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    Py_BEGIN_ALLOW_THREADS core_stop();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* ---- a step */

static PyObject *py_step(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    uint32_t why = 0;
    if (count > 0 && !to_u32(args[0], &why)) {
        PyErr_Clear();
        core_fault();
    }
    unsigned long long begun_ns = count > 1 ? PyLong_AsUnsignedLongLong(args[1]) : 0;
    if (begun_ns == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        core_fault();
        begun_ns = 0;
    }
    uint64_t done = core_step(why, begun_ns);
    if (__builtin_expect(user_type != NULL, 0)) {
        PyErr_Restore(user_type, user_value, user_trace);
        user_type = user_value = user_trace = NULL;
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(done);
}

static PyObject *py_count(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyLong_FromUnsignedLongLong(core_count());
}

static PyObject *py_plan_next(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!has_args(count, 1, "plan_next(count)")) return NULL;
    unsigned long long next = PyLong_AsUnsignedLongLong(args[0]);
    if (next == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    core_plan_next(next);
    Py_RETURN_NONE;
}

static PyObject *py_variant(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    uint32_t key;
    if (!has_args(count, 1, "variant(key)") || !to_u32(args[0], &key)) return NULL;
    core_set_variant(key);
    Py_RETURN_NONE;
}

static PyObject *py_dirty(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    uint32_t why;
    if (!has_args(count, 1, "dirty(why)") || !to_u32(args[0], &why)) return NULL;
    core_dirty(why);
    Py_RETURN_NONE;
}

static PyObject *py_mark(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    uint32_t bit;
    if (!has_args(count, 2, "mark(kind, value)") || !to_u32(args[0], &bit)) return NULL;
    double value = PyFloat_AsDouble(args[1]);
    if (value == -1.0 && PyErr_Occurred()) return NULL;
    if (core_mark(bit, value)) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "there is no such reading");
    return NULL;
}

static PyObject *py_stepped(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    core_stepped();
    Py_RETURN_NONE;
}

static PyObject *py_bridge(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    struct err err;
    PyObject *path;
    if (!has_args(count, 3, "bridge(path, torch, call_back)")) return NULL;
    const char *torch = PyUnicode_AsUTF8AndSize(args[1], NULL);
    if (!torch || !PyUnicode_FSConverter(args[0], &path)) return NULL;
    int rc = core_bridge(PyBytes_AsString(path), torch, &err);
    Py_DECREF(path);
    if (rc < 0) return raise_err(&err);
    set_callback(&on_bridge, args[2]);
    return PyBool_FromLong(rc);
}

static PyObject *py_fault(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    core_fault();
    Py_RETURN_NONE;
}

/* ---- events */

static PyObject *py_event(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    char *bytes;
    Py_ssize_t size;
    if (!has_args(count, 1, "event(data)") || !to_event(args[0], &bytes, &size)) return NULL;
    return PyBool_FromLong(core_event(bytes, (size_t)size));
}

static PyObject *py_state(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    char *bytes;
    Py_ssize_t size;
    if (!has_args(count, 3, "state(kind, key, data)") || !to_event(args[2], &bytes, &size))
        return NULL;
    const char *kind = PyUnicode_AsUTF8AndSize(args[0], NULL);
    if (!kind) return NULL;
    long long key = PyLong_AsLongLong(args[1]);
    if (key == -1 && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(core_state(kind, key, bytes, (size_t)size));
}

static PyObject *py_stats(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    struct core_stats stats;
    core_get_stats(&stats);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define CORE_STAT(name, help) {#name, stats.name},
        CORE_STATS(CORE_STAT)
#undef CORE_STAT
    };
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < ARRAY_SIZE(rows); i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(rows[i].value);
        if (!value || PyDict_SetItemString(dict, rows[i].name, value) < 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *py_tables(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    static char text[64 << 10];
    size_t size = tables_print(text, sizeof text);
    if (size) return PyUnicode_FromStringAndSize(text, (Py_ssize_t)size);
    PyErr_SetString(PyExc_RuntimeError, "the tables do not fit");
    return NULL;
}

/* ---- the module */

static PyMethodDef methods[] = {
    {"join", FASTCALL(py_join), METH_FASTCALL,
     "join(page_path, key, rank, world) -> dict: take the seat on the decision page"},
    {"start", FASTCALL(py_start), METH_FASTCALL,
     "start(socket_path, hello) -> bool: start the sender; never waits"},
    {"collectives", FASTCALL(py_collectives), METH_FASTCALL,
     "collectives(plugin_path): open the plugin that NCCL is to find; before NCCL comes"},
    {"gloo", py_gloo, METH_NOARGS, "gloo(): tell gloo's collectives, once there is a bridge"},
    {"memory_left", py_memory_left, METH_NOARGS,
     "memory_left() -> float: bytes that the host can still give; NaN: not known"},
    {"callbacks", FASTCALL(py_callbacks), METH_FASTCALL,
     "callbacks(prepare, apply, outcome, plan): called inside step()"},
    {"plan_next", FASTCALL(py_plan_next), METH_FASTCALL,
     "plan_next(count): when plan() is called; 0: never"},
    {"step", FASTCALL(py_step), METH_FASTCALL,
     "step(why=0, begun_ns=0) -> int: the end of a step; returns the steps done; begun_ns: when "
     "our work at it began (time.monotonic_ns)"},
    {"variant", FASTCALL(py_variant), METH_FASTCALL, "variant(key): settings in force from now on"},
    {"dirty", FASTCALL(py_dirty), METH_FASTCALL, "dirty(why): the step in progress is not clean"},
    {"mark", FASTCALL(py_mark), METH_FASTCALL,
     "mark(kind, value): a reading of the step in progress; below 0: time since the last"},
    {"bridge", FASTCALL(py_bridge), METH_FASTCALL,
     "bridge(path, torch, call_back) -> bool: torch's memory in each step; False: it is waited "
     "for, call_back(count, fault) "
     "is called by the step that found it"},
    {"event", FASTCALL(py_event), METH_FASTCALL,
     "event(data) -> bool: queue an event; False: dropped"},
    {"state", FASTCALL(py_state), METH_FASTCALL,
     "state(kind, key, data) -> bool: an event that is kept for every hello"},
    {"stepped", py_stepped, METH_NOARGS, "stepped(): an optimizer has stepped, not at a boundary"},
    {"fault", py_fault, METH_NOARGS, "fault(): count an error of ours"},
    {"count", py_count, METH_NOARGS, "count() -> int: steps done"},
    {"stats", py_stats, METH_NOARGS, "stats() -> dict"},
    {"tables", py_tables, METH_NOARGS, "tables() -> str: the wire's tables as JSON"},
    {"stop", py_stop, METH_NOARGS, "stop(): send what is left, 200 ms at most, and end the thread"},
    {0},
};

/* There is one core a process, and it relies on the interpreter's lock. */
static int refuse_strange_interpreters(void) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "inductop works in the main interpreter only");
        return -1;
    }
    PyObject *flags = PySys_GetObject("abiflags");
    const char *text = flags ? PyUnicode_AsUTF8AndSize(flags, NULL) : "";
    if (text && strchr(text, 't')) {
        PyErr_SetString(PyExc_ImportError, "inductop does not work in free-threaded Python yet");
        return -1;
    }
    PyErr_Clear();
    return 0;
}

static int start_module(PyObject *module) {
    if (refuse_strange_interpreters() < 0 || timed_add_type(module) < 0) return -1;
    core_set_hooks(&(struct core_hooks){
        .prepare = call_prepare,
        .apply = call_apply,
        .outcome = call_outcome,
        .plan = call_plan,
        .unlock = unlock,
        .relock = relock,
        .forked = forked,
        .bridged = call_bridged,
    });
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, start_module}, {0}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_inductop", .m_doc = "inductop's rank core",
    .m_methods = methods,  .m_slots = slots,
};

PyMODINIT_FUNC PyInit__inductop(void);
ATTR_EXPORT PyObject *PyInit__inductop(void) {
    return PyModuleDef_Init(&definition);
}
