/* Cartridges as Python objects: a ROM, how its game begins, and the program that runs it. */
#ifndef GOEXPLORE_PYTHON_CARTRIDGE_H
#define GOEXPLORE_PYTHON_CARTRIDGE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../atari/boot.h"
#include "../atari/games.h"

typedef struct {
    PyObject_HEAD
    Cartridge cartridge;
    const Game *game;
    RunFrame *run_frame;
    State initial;
    uint8_t initial_screen[SCREEN_HEIGHT][SCREEN_WIDTH];
} CartridgeObject;

static PyTypeObject *cartridge_type;

static void cartridge_free(CartridgeObject *self)
{
    PyMem_Free(self->cartridge.views);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static void insert_cartridge(Machine *machine, const CartridgeObject *from)
{
    memset(machine, 0, sizeof *machine);
    machine->cartridge = &from->cartridge;
    machine->run_frame = from->run_frame;
    machine->wanted = from->game->collisions;
}

static void reset_machine(Machine *machine, const CartridgeObject *cartridge)
{
    machine->state = cartridge->initial;
    machine->fault = 0;
    show_view(machine, machine->state.view);
    memcpy(machine->screen, cartridge->initial_screen, sizeof machine->screen);
    refresh_tia(machine);
}

static PyObject *cartridge_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rom", "name", NULL};
    Py_buffer rom;
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*s", names, &rom, &name))
        return NULL;
    CartridgeObject *self = NULL;
    Machine *machine = NULL;
    const Game *game = find_game(name);
    Cartridge cartridge;
    if (game == NULL || !identify_cartridge(&cartridge, (size_t)rom.len, game->slices)) {
        PyErr_Format(PyExc_ValueError, "expected a game that this engine knows, got %s of %zd bytes", name, rom.len);
        goto done;
    }
    self = (CartridgeObject *)type->tp_alloc(type, 0);
    machine = PyMem_Malloc(sizeof *machine);
    if (self != NULL) {
        self->cartridge = cartridge;
        self->cartridge.views = PyMem_Malloc((size_t)cartridge.view_count * VIEW_SIZE);
    }
    if (self == NULL || machine == NULL || self->cartridge.views == NULL) {
        Py_CLEAR(self);
        PyErr_NoMemory();
        goto done;
    }
    lay_out_views(&self->cartridge, rom.buf, (size_t)rom.len);
    self->game = game;
    self->run_frame = interpret_frame;
    insert_cartridge(machine, self);
    boot(machine, game); /* faults do not count here: what is certified is the state in which a game begins */
    self->initial = machine->state;
    memcpy(self->initial_screen, machine->screen, sizeof machine->screen);
done:
    PyMem_Free(machine);
    PyBuffer_Release(&rom);
    return (PyObject *)self;
}

/* Play, and note which code runs: what a translator needs to know. */
static PyObject *cartridge_trace(CartridgeObject *self, PyObject *actions)
{
    Py_buffer bytes;
    if (PyObject_GetBuffer(actions, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    Machine *machine = PyMem_Malloc(sizeof *machine);
    PyObject *visited = PyBytes_FromStringAndSize(NULL, CODE_SIZE);
    if (machine == NULL || visited == NULL) {
        Py_CLEAR(visited);
        PyErr_NoMemory();
        goto done;
    }
    insert_cartridge(machine, self);
    machine->run_frame = trace_frame;
    machine->visited = (uint8_t *)PyBytes_AS_STRING(visited);
    memset(machine->visited, 0, CODE_SIZE);
    boot(machine, self->game);
    for (Py_ssize_t at = 0; at < bytes.len; at++) {
        play(machine, self->game, ((const uint8_t *)bytes.buf)[at] % ACTIONS, 1);
        if (machine->state.over || machine->fault)
            reset_machine(machine, self);
    }
done:
    PyMem_Free(machine);
    PyBuffer_Release(&bytes);
    return visited;
}

/* Use a translation: the address of its function, which stays loaded as long as the process lives. */
static PyObject *cartridge_translate(CartridgeObject *self, PyObject *address)
{
    RunFrame *run_frame = (RunFrame *)(uintptr_t)PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return NULL;
    self->run_frame = run_frame;
    Py_RETURN_NONE;
}

static PyMethodDef cartridge_methods[] = {
    {"trace", (PyCFunction)cartridge_trace, METH_O,
     "trace(actions)\n--\n\nPlay one game frame per action, interpreted; return which code ran (1) and which of it was "
     "jumped to from elsewhere (2)."},
    {"translate", (PyCFunction)cartridge_translate, METH_O,
     "translate(address)\n--\n\nLet machines run a translation of this ROM from now on."},
    {NULL, NULL, 0, NULL},
};

static PyObject *cartridge_sliced(CartridgeObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self->cartridge.kind == CARTRIDGE_SLICES);
}

static PyObject *cartridge_translated(CartridgeObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self->run_frame != interpret_frame);
}

static PyGetSetDef cartridge_properties[] = {
    {"translated", (getter)cartridge_translated, NULL, "Whether machines run a translation of this ROM.", NULL},
    {"sliced", (getter)cartridge_sliced, NULL, "Whether banks are switched in slices of 1 kB.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot cartridge_slots[] = {
    {Py_tp_doc, "Cartridge(rom, name)\n--\n\nA game, shared by all machines that play it."},
    {Py_tp_new, cartridge_new},
    {Py_tp_dealloc, cartridge_free},
    {Py_tp_methods, cartridge_methods},
    {Py_tp_getset, cartridge_properties},
    {0, NULL},
};

static PyType_Spec cartridge_spec = {
    .name = "goexplore._native._atari.Cartridge",
    .basicsize = sizeof(CartridgeObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = cartridge_slots,
};

#endif
