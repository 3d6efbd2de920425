/* Planners as Python objects: they try plans out in the stochastic game. */
#ifndef GOEXPLORE_PYTHON_PLANNER_H
#define GOEXPLORE_PYTHON_PLANNER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../plan/planner.h"
#include "machine.h"

typedef struct {
    PyObject_HEAD
    CartridgeObject *cartridge;
    Planner planner;
} PlannerObject;

static void planner_object_free(PlannerObject *self)
{
    planner_free(&self->planner);
    Py_XDECREF(self->cartridge);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static void *copy_buffer(const Py_buffer *buffer)
{
    void *copy = malloc((size_t)buffer->len + 1);
    if (copy != NULL)
        memcpy(copy, buffer->buf, (size_t)buffer->len);
    return copy;
}

/* Whether every number in the reference means something. */
static bool is_sound(const Planner *planner)
{
    bool sound = planner->row_count > 0 && planner->stretch_count > 0;
    for (uint32_t at = 0; sound && at < planner->stretch_count; at++) {
        const Stretch *stretch = &planner->stretches[at];
        sound = stretch->first >= 0 && stretch->last >= stretch->first && stretch->end >= stretch->last &&
                stretch->end > 0 && (uint32_t)stretch->end < planner->row_count &&
                stretch->first_gain >= 0 && stretch->gain_count >= 0 &&
                (int64_t)stretch->first_gain + stretch->gain_count <= (int64_t)planner->gain_count;
        for (int32_t row = stretch->first; sound && row < stretch->end; row++)
            sound = planner->rows[row].action >= 0 && (uint32_t)planner->rows[row].action < planner->action_count;
    }
    for (uint32_t row = 0; sound && row < planner->row_count; row++)
        sound = planner->rows[row].stretch >= 0 && (uint32_t)planner->rows[row].stretch < planner->stretch_count;
    for (uint32_t at = 0; sound && at < planner->gain_count; at++)
        sound = planner->gains[at] >= 0 && planner->gains[at] < KINDS;
    for (uint32_t at = 0; sound && at < planner->kind_count; at++)
        sound = planner->kinds[at].number >= 0 && planner->kinds[at].number < KINDS;
    for (uint32_t at = 0; sound && at < planner->grounded_count; at++)
        sound = planner->grounded[at][0] < 128;
    for (uint32_t at = 0; sound && at < planner->action_count; at++)
        sound = planner->actions[at] < ACTIONS;
    return sound && planner->no_op < planner->action_count && planner->level_address < 128 && planner->room_address < 128 &&
           planner->x_address < 128 && planner->y_address < 128;
}

static PyObject *planner_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"cartridge", "actions", "no_op", "frame_skip", "repeat", "addresses", "grounded", "deficit",
                            "rows", "gains", "kinds", "stretches", NULL};
    CartridgeObject *cartridge;
    Py_buffer actions, grounded, rows, gains, kinds, stretches;
    unsigned int no_op, frame_skip;
    unsigned long long repeat;
    int level, room, x, y, deficit;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "$O!y*IIK(iiii)y*iy*y*y*y*", names, cartridge_type, &cartridge,
                                     &actions, &no_op, &frame_skip, &repeat, &level, &room, &x, &y, &grounded, &deficit,
                                     &rows, &gains, &kinds, &stretches))
        return NULL;
    PlannerObject *self = (PlannerObject *)type->tp_alloc(type, 0);
    if (self == NULL)
        goto done;
    self->cartridge = (CartridgeObject *)Py_NewRef((PyObject *)cartridge);
    Planner *planner = &self->planner;
    insert_cartridge(&planner->machine, cartridge);
    reset_machine(&planner->machine, cartridge);
    planner->first_score = planner->machine.state.score;
    planner->game = cartridge->game;
    planner->frame_skip = frame_skip;
    planner->no_op = no_op;
    planner->repeat = repeat;
    planner->level_address = level;
    planner->room_address = room;
    planner->x_address = x;
    planner->y_address = y;
    planner->deficit = deficit;
    planner->action_count = actions.len <= ACTIONS ? (uint32_t)actions.len : 0;
    memcpy(planner->actions, actions.buf, planner->action_count);
    planner->grounded = copy_buffer(&grounded);
    planner->grounded_count = (uint32_t)(grounded.len / 2);
    planner->rows = copy_buffer(&rows);
    planner->row_count = (uint32_t)((size_t)rows.len / sizeof *planner->rows);
    planner->gains = copy_buffer(&gains);
    planner->gain_count = (uint32_t)((size_t)gains.len / sizeof *planner->gains);
    planner->kinds = copy_buffer(&kinds);
    planner->kind_count = (uint32_t)((size_t)kinds.len / sizeof *planner->kinds);
    planner->stretches = copy_buffer(&stretches);
    planner->stretch_count = (uint32_t)((size_t)stretches.len / sizeof *planner->stretches);
    if (planner->grounded == NULL || planner->rows == NULL || planner->gains == NULL || planner->kinds == NULL ||
        planner->stretches == NULL) {
        Py_CLEAR(self);
        PyErr_NoMemory();
    } else if (frame_skip < 1 || frame_skip > 65535 || !is_sound(planner)) {
        Py_CLEAR(self);
        PyErr_SetString(PyExc_ValueError, "expected demonstrations of this game as rows, gains and stretches");
    } else if (!planner_begin(planner)) {
        Py_CLEAR(self);
        PyErr_NoMemory();
    }
done:
    PyBuffer_Release(&actions);
    PyBuffer_Release(&grounded);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&gains);
    PyBuffer_Release(&kinds);
    PyBuffer_Release(&stretches);
    return (PyObject *)self;
}

/* A tracker as Python has it, for PyArg_ParseTuple. */
typedef struct {
    Tracker tracker;
    double score;
    const char *won;
    Py_ssize_t kinds;
} TrackerTuple;

/* Read a state and where in the reference it is; return false and an error where they are none. */
static bool read_situation(Planner *planner, const Py_buffer *snapshot, TrackerTuple *tuple)
{
    const Tracker tracker = tuple->tracker;
    if (tuple->kinds != KINDS || !(fabs(tuple->score) <= INT32_MAX) || tracker.row < 0 ||
        (uint32_t)tracker.row >= planner->row_count || tracker.stall < 0 || tracker.stall > PATIENCE || tracker.x < 0 ||
        !restore_state(&planner->machine, snapshot->buf, (size_t)snapshot->len)) {
        PyErr_SetString(PyExc_ValueError, "expected a state of this engine, and a row of the reference");
        return false;
    }
    tuple->tracker.score = (int32_t)tuple->score;
    memcpy(tuple->tracker.won, tuple->won, KINDS);
    return true;
}

static bool read_plan(const Planner *planner, PyObject *tuple, Plan *plan)
{
    unsigned int delay, stop;
    PyObject *sequence;
    if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "IIO!", &delay, &stop, &PyBytes_Type, &sequence)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "expected plans of a delay, a stop and a sequence");
        return false;
    }
    *plan = (Plan){delay, stop, (const uint8_t *)PyBytes_AS_STRING(sequence), (uint32_t)PyBytes_GET_SIZE(sequence)};
    for (uint32_t at = 0; at < plan->length; at++)
        if (plan->sequence[at] >= planner->action_count) {
            PyErr_SetString(PyExc_ValueError, "expected sequences of this game's actions");
            return false;
        }
    return true;
}

static PyObject *list_judgements(const Judgement *judgements, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t at = 0; list != NULL && at < count; at++) {
        PyObject *each = Py_BuildValue("Id", judgements[at].alive, judgements[at].gain);
        if (each == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, at, each);
    }
    return list;
}

static PyObject *planner_judge(PlannerObject *self, PyObject *arguments)
{
    Planner *planner = &self->planner;
    Py_buffer snapshot, streams;
    unsigned int last, horizon;
    TrackerTuple tracker;
    int ceiling;
    PyObject *tuples, *list = NULL;
    if (!PyArg_ParseTuple(arguments, "y*I(iidy#ii)O!y*Ii", &snapshot, &last, &tracker.tracker.row, &tracker.tracker.stall,
                          &tracker.score, &tracker.won, &tracker.kinds, &tracker.tracker.room, &tracker.tracker.x,
                          &PyTuple_Type, &tuples, &streams, &horizon, &ceiling))
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(tuples);
    const size_t draws = (size_t)streams.len / sizeof(uint64_t);
    Plan *plans = PyMem_Calloc((size_t)count + 1, sizeof *plans);
    Judgement *judgements = PyMem_Calloc((size_t)count + 1, sizeof *judgements);
    if (plans == NULL || judgements == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (last >= planner->action_count) {
        PyErr_SetString(PyExc_ValueError, "expected one of this game's actions as the last one");
        goto done;
    }
    if (!read_situation(planner, &snapshot, &tracker))
        goto done;
    for (Py_ssize_t at = 0; at < count; at++)
        if (!read_plan(planner, PyTuple_GET_ITEM(tuples, at), &plans[at]))
            goto done;
    planner->machine.run_frame = self->cartridge->run_frame; /* there may be a better translation by now */
    Py_BEGIN_ALLOW_THREADS
    const State from = planner->machine.state;
    for (Py_ssize_t at = 0; at < count; at++)
        for (size_t draw = 0; draw < draws; draw++)
            try_plan(planner, &from, last, tracker.tracker, &plans[at], ((const uint64_t *)streams.buf)[draw], horizon, ceiling,
                     &judgements[at]);
    Py_END_ALLOW_THREADS
    list = list_judgements(judgements, count);
done:
    PyMem_Free(plans);
    PyMem_Free(judgements);
    PyBuffer_Release(&snapshot);
    PyBuffer_Release(&streams);
    return list;
}

/* Where in the reference a state is: what the real game asks after every training frame. */
static PyObject *planner_follow(PlannerObject *self, PyObject *arguments)
{
    Py_buffer snapshot;
    TrackerTuple tracker;
    if (!PyArg_ParseTuple(arguments, "y*(iidy#ii)", &snapshot, &tracker.tracker.row, &tracker.tracker.stall, &tracker.score,
                          &tracker.won, &tracker.kinds, &tracker.tracker.room, &tracker.tracker.x))
        return NULL;
    const bool read = read_situation(&self->planner, &snapshot, &tracker);
    PyBuffer_Release(&snapshot);
    if (!read)
        return NULL;
    const Tracker now = follow(&self->planner, &self->planner.machine.state, tracker.tracker);
    return Py_BuildValue("iiiy#ii", now.row, now.stall, now.score, (const char *)now.won, (Py_ssize_t)KINDS, now.room,
                         now.x);
}

static PyObject *planner_played(PlannerObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(self->planner.played);
}

static PyMethodDef planner_methods[] = {
    {"judge", (PyCFunction)planner_judge, METH_VARARGS,
     "judge(snapshot, last_action, tracker, plans, streams, horizon, ceiling)\n--\n\nTry each plan with each stream of "
     "draws; return how often it survived, and the sum of its gains."},
    {"follow", (PyCFunction)planner_follow, METH_VARARGS,
     "follow(snapshot, tracker)\n--\n\nReturn where in the reference a state is, after one more training frame."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef planner_properties[] = {
    {"played", (getter)planner_played, NULL, "Training frames played so far.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot planner_slots[] = {
    {Py_tp_doc, "Planner(*, cartridge, ...)\n--\n\nTries plans out in the stochastic game, without holding the "
                "interpreter."},
    {Py_tp_new, planner_new},
    {Py_tp_dealloc, planner_object_free},
    {Py_tp_methods, planner_methods},
    {Py_tp_getset, planner_properties},
    {0, NULL},
};

static PyType_Spec planner_spec = {
    .name = "goexplore._native._atari.Planner",
    .basicsize = sizeof(PlannerObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = planner_slots,
};

#endif
