/* Explorers as Python objects: whole explorations without the interpreter. */
#ifndef GOEXPLORE_PYTHON_EXPLORER_H
#define GOEXPLORE_PYTHON_EXPLORER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../explore/kernel.h"
#include "machine.h"

typedef struct {
    PyObject_HEAD
    CartridgeObject *cartridge;
    Explorer explorer;
    bool busy; /* a thread explores with it */
} ExplorerObject;

static void explorer_object_free(ExplorerObject *self)
{
    explorer_free(&self->explorer);
    Py_XDECREF(self->cartridge);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *explorer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"cartridge", "cells", "cell_width", "cell_height", "levels", "grey", "actions", "frame_skip",
                            "training_frames", "repeat", "ends_at_life_loss", "score_limit", "room_address",
                            "level_address", NULL};
    CartridgeObject *cartridge;
    const char *cells;
    Py_buffer grey, actions;
    unsigned int cell_width, cell_height, levels, frame_skip, limit;
    unsigned long long repeat;
    int life_loss, score_limit, room_address, level_address;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "$O!sIIIy*y*IIKpiii", names, cartridge_type, &cartridge,
                                     &cells, &cell_width, &cell_height, &levels, &grey, &actions, &frame_skip, &limit,
                                     &repeat, &life_loss, &score_limit, &room_address, &level_address))
        return NULL;
    ExplorerObject *self = NULL;
    int kind = strcmp(cells, "downscaled") == 0  ? CELLS_DOWNSCALED
               : strcmp(cells, "dynamic") == 0   ? CELLS_DYNAMIC
               : strcmp(cells, "montezuma") == 0 ? CELLS_MONTEZUMA
               : strcmp(cells, "pitfall") == 0   ? CELLS_PITFALL
                                                 : -1;
    bool fits = kind >= 0 && are_downscaled((CellsKind)kind)
                    ? cell_width >= 1 && cell_width <= SCREEN_WIDTH && cell_height >= 1 &&
                          cell_height <= SCREEN_HEIGHT && levels >= 1 && levels <= 255
                    : cell_width >= 2 && cell_height >= 1;
    for (Py_ssize_t at = 0; at < actions.len; at++)
        fits = fits && ((const uint8_t *)actions.buf)[at] < ACTIONS;
    if (kind < 0 || !fits || grey.len != 512 || actions.len < 1 || actions.len > ACTIONS || frame_skip < 1 ||
        limit < 1 || limit > 65535 || room_address > 127 || level_address > 127) {
        PyErr_SetString(PyExc_ValueError, "expected known cells of a size that fits the screen, 1 to 18 actions, a "
                                          "frame skip of 1 or more, 1 to 65535 training frames, addresses in memory");
        goto done;
    }
    self = (ExplorerObject *)type->tp_alloc(type, 0);
    if (self == NULL)
        goto done;
    self->cartridge = (CartridgeObject *)Py_NewRef((PyObject *)cartridge);
    Explorer *explorer = &self->explorer;
    insert_cartridge(&explorer->machine, cartridge);
    reset_machine(&explorer->machine, cartridge);
    explorer->game = cartridge->game;
    explorer->kind = (CellsKind)kind;
    explorer->cell_width = cell_width;
    explorer->cell_height = cell_height;
    explorer->frame_skip = frame_skip;
    explorer->limit = limit;
    explorer->repeat = repeat;
    memcpy(explorer->actions, actions.buf, (size_t)actions.len);
    explorer->action_count = (uint32_t)actions.len;
    explorer->ends_at_life_loss = life_loss;
    explorer->score_limit = score_limit;
    explorer->room_address = room_address;
    explorer->level_address = level_address;
    memcpy(explorer->grey, grey.buf, sizeof explorer->grey);
    if (!explorer_begin(explorer, levels)) {
        Py_CLEAR(self);
        PyErr_NoMemory();
    }
done:
    PyBuffer_Release(&grey);
    PyBuffer_Release(&actions);
    return (PyObject *)self;
}

/* (actions, training frames, known cells seen, new cells seen, candidates, what stopped the engine or None, the sampled
 * frame or nothing); a candidate is (entry, cell, offset, score, length, snapshot, level, room). */
static PyObject *build_result(const Explorer *explorer)
{
    const Py_ssize_t visits = (Py_ssize_t)explorer->visited.size;
    Py_ssize_t new_cells = 0, known_cells = 0;
    for (Py_ssize_t visit = 0; visit < visits; visit++)
        new_cells += explorer->visits[visit].number == UNKNOWN;
    PyObject *seen = PyBytes_FromStringAndSize(NULL, (visits - new_cells) * (Py_ssize_t)sizeof(int32_t));
    PyObject *seen_new = PyTuple_New(new_cells);
    PyObject *candidates = PyTuple_New((Py_ssize_t)explorer->candidate_count);
    if (seen == NULL || seen_new == NULL || candidates == NULL)
        goto failed;
    new_cells = 0;
    for (Py_ssize_t visit = 0; visit < visits; visit++) {
        const int32_t number = explorer->visits[visit].number;
        if (number != UNKNOWN) {
            memcpy(PyBytes_AS_STRING(seen) + sizeof number * (size_t)known_cells++, &number, sizeof number);
            continue;
        }
        PyObject *cell = PyBytes_FromStringAndSize((const char *)explorer->keys + (size_t)visit * explorer->max_key,
                                                   explorer->key_sizes[visit]);
        if (cell == NULL)
            goto failed;
        PyTuple_SET_ITEM(seen_new, new_cells++, cell);
    }
    for (size_t index = 0; index < explorer->candidate_count; index++) {
        const Candidate *candidate = &explorer->candidates[index];
        PyObject *each = Py_BuildValue(
            "iy#idiy#ii", explorer->visits[candidate->visit].number,
            (const char *)explorer->keys + (size_t)candidate->visit * explorer->max_key,
            (Py_ssize_t)explorer->key_sizes[candidate->visit], candidate->offset, candidate->score_length.score,
            candidate->score_length.length, (const char *)explorer->snapshots + index * explorer->max_snapshot,
            (Py_ssize_t)candidate->snapshot_size, (int)candidate->level, (int)candidate->room);
        if (each == NULL)
            goto failed;
        PyTuple_SET_ITEM(candidates, (Py_ssize_t)index, each);
    }
    return Py_BuildValue("y#nNNNzy#", (const char *)explorer->taken, (Py_ssize_t)explorer->taken_count,
                         (Py_ssize_t)explorer->played, seen, seen_new, candidates,
                         fault_reason(&explorer->machine), (const char *)explorer->sample,
                         (Py_ssize_t)explorer->sample_size);
failed:
    Py_XDECREF(seen);
    Py_XDECREF(seen_new);
    Py_XDECREF(candidates);
    return NULL;
}

static const char BUSY[] = "expected an explorer that no other thread explores with";

static PyObject *explain_outcome(Outcome outcome)
{
    if (outcome != BAD_SNAPSHOT)
        return PyErr_NoMemory();
    PyErr_SetString(PyExc_ValueError, "expected a snapshot of this engine and these cells");
    return NULL;
}

static PyObject *explorer_run(ExplorerObject *self, PyObject *arguments)
{
    Task task;
    ScoreIndex score_index;
    long long order;
    unsigned long long stream;
    Py_buffer snapshot, cell, slots, digests, scores, lengths;
    if (!PyArg_ParseTuple(arguments, "LKy*y*idi(y*y*y*y*)I", &order, &stream, &snapshot, &cell, &task.number,
                          &task.score_length.score, &task.score_length.length, &slots, &digests, &scores, &lengths,
                          &task.sampled))
        return NULL;
    task.order = order;
    task.stream = stream;
    task.snapshot = snapshot.buf;
    task.snapshot_size = (size_t)snapshot.len;
    task.cell = cell.buf;
    task.cell_size = (size_t)cell.len;
    score_index.slots = slots.buf;
    score_index.slot_count = (size_t)slots.len / sizeof *score_index.slots;
    score_index.digests = digests.buf;
    score_index.scores = scores.buf;
    score_index.lengths = lengths.buf;
    Outcome outcome = EXPLORED;
    const bool was_busy = self->busy;
    if (!was_busy) {
        self->busy = true;
        self->explorer.machine.run_frame = self->cartridge->run_frame; /* there may be a better translation by now */
        Py_BEGIN_ALLOW_THREADS
        outcome = explore(&self->explorer, &task, &score_index);
        Py_END_ALLOW_THREADS
        self->busy = false;
    }
    PyBuffer_Release(&snapshot);
    PyBuffer_Release(&cell);
    PyBuffer_Release(&slots);
    PyBuffer_Release(&digests);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&lengths);
    if (was_busy) {
        PyErr_SetString(PyExc_RuntimeError, BUSY);
        return NULL;
    }
    return outcome == EXPLORED ? build_result(&self->explorer) : explain_outcome(outcome);
}

static PyMethodDef explorer_methods[] = {
    {"run", (PyCFunction)explorer_run, METH_VARARGS,
     "run(order, stream, snapshot, cell, entry, score, length, score_index, sampled)\n--\n\nExplore; the score_index must "
     "not change meanwhile. `sampled` is the training frame whose frame is wanted, for dynamic cells, or 0."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot explorer_slots[] = {
    {Py_tp_doc, "Explorer(*, cartridge, ...)\n--\n\nRuns explorations, one at a time, without holding the "
                "interpreter."},
    {Py_tp_new, explorer_new},
    {Py_tp_dealloc, explorer_object_free},
    {Py_tp_methods, explorer_methods},
    {0, NULL},
};

static PyType_Spec explorer_spec = {
    .name = "goexplore._native._atari.Explorer",
    .basicsize = sizeof(ExplorerObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = explorer_slots,
};

#endif
