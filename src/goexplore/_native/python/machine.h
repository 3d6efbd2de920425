/* Machines as Python objects, and many of them that play in one call. */
#ifndef GOEXPLORE_PYTHON_MACHINE_H
#define GOEXPLORE_PYTHON_MACHINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cartridge.h"

typedef struct {
    PyObject_HEAD
    CartridgeObject *cartridge;
    Machine machine;
} MachineObject;

static PyTypeObject *machine_type;

static void machine_free(MachineObject *self)
{
    Py_XDECREF(self->cartridge);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *machine_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"cartridge", NULL};
    CartridgeObject *cartridge;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!", names, cartridge_type, &cartridge))
        return NULL;
    MachineObject *self = (MachineObject *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->cartridge = (CartridgeObject *)Py_NewRef((PyObject *)cartridge);
    insert_cartridge(&self->machine, cartridge);
    reset_machine(&self->machine, cartridge);
    return (PyObject *)self;
}

static int check_fault(const Machine *machine)
{
    const char *const reason = fault_reason(machine);
    if (reason == NULL)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, reason);
    return -1;
}

static PyObject *machine_reset(MachineObject *self, PyObject *nothing)
{
    (void)nothing;
    reset_machine(&self->machine, self->cartridge);
    Py_RETURN_NONE;
}

/* Return a frame skip, or 0 and an error. */
static uint32_t read_frame_skip(PyObject *number)
{
    const long frame_skip = PyLong_AsLong(number);
    if (frame_skip >= 1 && frame_skip <= 65535)
        return (uint32_t)frame_skip;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "expected a frame skip of 1 to 65535");
    return 0;
}

/* Bytes only: nobody can change them while others run. */
static bool check_actions(PyObject *actions)
{
    bool fit = PyBytes_Check(actions);
    for (Py_ssize_t at = 0; fit && at < PyBytes_GET_SIZE(actions); at++)
        fit = (uint8_t)PyBytes_AS_STRING(actions)[at] < ACTIONS;
    if (!fit)
        PyErr_SetString(PyExc_ValueError, "expected actions below 18, as bytes");
    return fit;
}

/* There may be a better translation by now. */
static void use_translation(MachineObject *self)
{
    self->machine.run_frame = self->cartridge->run_frame;
}

static int32_t play_bytes(MachineObject *self, PyObject *actions, uint32_t frame_skip)
{
    return play_all(&self->machine, self->cartridge->game, (const uint8_t *)PyBytes_AS_STRING(actions),
                    (size_t)PyBytes_GET_SIZE(actions), frame_skip);
}

static PyObject *machine_play(MachineObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "expected actions and a frame skip");
        return NULL;
    }
    const uint32_t frame_skip = read_frame_skip(arguments[1]);
    if (frame_skip == 0 || !check_actions(arguments[0]))
        return NULL;
    int32_t reward;
    use_translation(self);
    Py_BEGIN_ALLOW_THREADS
    reward = play_bytes(self, arguments[0], frame_skip);
    Py_END_ALLOW_THREADS
    return check_fault(&self->machine) ? NULL : PyLong_FromLong(reward);
}

/* One game frame of a training frame: what tests and certification step through. */
static PyObject *machine_frame(MachineObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    long action = count == 2 ? PyLong_AsLong(arguments[0]) : -1;
    int drawing = count == 2 ? PyObject_IsTrue(arguments[1]) : 0;
    if (PyErr_Occurred())
        return NULL;
    if (action < 0 || action >= ACTIONS) {
        PyErr_SetString(PyExc_ValueError, "expected an action below 18 and whether to draw");
        return NULL;
    }
    State *state = &self->machine.state;
    const int32_t before = state->score;
    use_translation(self);
    if (!state->over) {
        play_frame(&self->machine, self->cartridge->game, (uint32_t)action, false, drawing);
        look(state, self->cartridge->game);
    }
    return check_fault(&self->machine) ? NULL : PyLong_FromLong(state->score - before);
}

static PyObject *machine_snapshot(MachineObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBytes_FromStringAndSize((const char *)&self->machine.state, sizeof(State));
}

static PyObject *machine_restore(MachineObject *self, PyObject *snapshot)
{
    Py_buffer bytes;
    if (PyObject_GetBuffer(snapshot, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    bool restored = restore_state(&self->machine, bytes.buf, (size_t)bytes.len);
    PyBuffer_Release(&bytes);
    if (!restored) {
        PyErr_SetString(PyExc_ValueError, "expected a state of this engine");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *machine_ram(MachineObject *self, void *closure)
{
    (void)closure;
    return PyBytes_FromStringAndSize((const char *)self->machine.state.ram, sizeof self->machine.state.ram);
}

static PyObject *machine_lives(MachineObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(self->machine.state.lives);
}

static PyObject *machine_over(MachineObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self->machine.state.over);
}

static int machine_buffer(MachineObject *self, Py_buffer *view, int flags)
{
    static Py_ssize_t shape[2] = {SCREEN_HEIGHT, SCREEN_WIDTH}, strides[2] = {SCREEN_WIDTH, 1};
    if (PyBuffer_FillInfo(view, (PyObject *)self, self->machine.screen, sizeof self->machine.screen, 1, flags) < 0)
        return -1;
    if (flags & PyBUF_ND) {
        view->ndim = 2;
        view->shape = shape;
        view->strides = flags & PyBUF_STRIDES ? strides : NULL;
    }
    return 0;
}

static PyMethodDef machine_methods[] = {
    {"reset", (PyCFunction)machine_reset, METH_NOARGS, "reset()\n--\n\nGo to the initial state."},
    {"play", (PyCFunction)(void (*)(void))machine_play, METH_FASTCALL,
     "play(actions, frame_skip)\n--\n\nPlay training frames, one per byte, until the game ends; return their reward. Only the "
     "last game frame is drawn, or the one in which the game ends."},
    {"frame", (PyCFunction)(void (*)(void))machine_frame, METH_FASTCALL,
     "frame(action, drawing)\n--\n\nPlay one game frame and return its reward."},
    {"snapshot", (PyCFunction)machine_snapshot, METH_NOARGS, "snapshot()\n--\n\nReturn the state."},
    {"restore", (PyCFunction)machine_restore, METH_O, "restore(snapshot)\n--\n\nGo back to a state; the screen is stale."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef machine_properties[] = {
    {"ram", (getter)machine_ram, NULL, "The 128 bytes of memory.", NULL},
    {"lives", (getter)machine_lives, NULL, "Lives left.", NULL},
    {"over", (getter)machine_over, NULL, "Whether the game is over.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot machine_slots[] = {
    {Py_tp_doc, "Machine(cartridge)\n--\n\nAn Atari 2600; as a buffer, its screen."},
    {Py_tp_new, machine_new},
    {Py_tp_dealloc, machine_free},
    {Py_tp_methods, machine_methods},
    {Py_tp_getset, machine_properties},
    {Py_bf_getbuffer, machine_buffer},
    {0, NULL},
};

static PyType_Spec machine_spec = {
    .name = "goexplore._native._atari.Machine",
    .basicsize = sizeof(MachineObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = machine_slots,
};

/* ---- many machines ------------------------------------------------------------------------------------------------- */

static bool are_ready(PyObject *machines, PyObject *actions)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(machines); at++) {
        PyObject *machine = PyTuple_GET_ITEM(machines, at);
        if (!Py_IS_TYPE(machine, machine_type)) {
            PyErr_SetString(PyExc_ValueError, "expected machines");
            return false;
        }
        if (!check_actions(PyTuple_GET_ITEM(actions, at)))
            return false;
        use_translation((MachineObject *)machine);
    }
    return true;
}

static PyObject *list_rewards(PyObject *machines, const int32_t *numbers)
{
    PyObject *rewards = PyList_New(PyTuple_GET_SIZE(machines));
    for (Py_ssize_t at = 0; rewards != NULL && at < PyTuple_GET_SIZE(machines); at++) {
        const bool stopped = ((MachineObject *)PyTuple_GET_ITEM(machines, at))->machine.fault;
        PyObject *reward = stopped ? Py_NewRef(Py_None) : PyLong_FromLong(numbers[at]);
        if (reward == NULL)
            Py_CLEAR(rewards);
        else
            PyList_SET_ITEM(rewards, at, reward);
    }
    return rewards;
}

/* One release of the interpreter's lock for many machines: asking for it again after each would cost more than playing. */
static PyObject *play_each(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *machines, *actions, *number;
    if (!PyArg_ParseTuple(arguments, "O!O!O", &PyTuple_Type, &machines, &PyTuple_Type, &actions, &number))
        return NULL;
    const uint32_t frame_skip = read_frame_skip(number);
    if (frame_skip == 0)
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(machines);
    if (PyTuple_GET_SIZE(actions) != count) {
        PyErr_SetString(PyExc_ValueError, "expected actions for every machine");
        return NULL;
    }
    if (!are_ready(machines, actions))
        return NULL;
    int32_t *numbers = PyMem_Calloc((size_t)count, sizeof *numbers);
    if (numbers == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t at = 0; at < count; at++)
        numbers[at] = play_bytes((MachineObject *)PyTuple_GET_ITEM(machines, at), PyTuple_GET_ITEM(actions, at), frame_skip);
    Py_END_ALLOW_THREADS
    PyObject *rewards = list_rewards(machines, numbers);
    PyMem_Free(numbers);
    return rewards;
}

static PyMethodDef module_methods[] = {
    {"play_each", play_each, METH_VARARGS,
     "play_each(machines, actions, frame_skip)\n--\n\nLet each machine play its training frames, as `Machine.play` does; "
     "return their rewards, None where a machine could not go on."},
    {NULL, NULL, 0, NULL},
};

#endif
