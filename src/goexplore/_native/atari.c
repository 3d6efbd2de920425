/* The Python module of the Atari engine: cartridges, machines, and explorers that run whole tasks without Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "atari/boot.h"
#include "atari/games.h"
#include "explore/kernel.h"
#include "explore/pool.h"
#include "plan/planner.h"

/* ---- Cartridge ----------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    Cartridge cartridge;
    const Game *game;
    RunFrame *run_frame;
    State initial;
    uint8_t initial_screen[SCREEN_HEIGHT][SCREEN_WIDTH];
} CartridgeObject;

static PyTypeObject *cartridge_type, *machine_type;

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

/* ---- Machine ------------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    CartridgeObject *cartridge;
    Machine machine;
} MachineObject;

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

/* In words what the machine stopped at; NULL if it runs. */
static const char *fault_reason(const Machine *machine)
{
    static const char *const reasons[] = FAULT_REASONS;
    return machine->fault ? reasons[lowest_bit(machine->fault)] : NULL;
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

/* Play training frames until the last or the end of the game; return their reward. Only the last game frame is drawn, and
 * the one in which the game ends. */
static int32_t play_all(Machine *machine, const Game *game, const uint8_t *actions, size_t count, uint32_t frame_skip)
{
    State *state = &machine->state;
    const int32_t before = state->score;
    for (size_t at = 0; at < count; at++)
        for (uint32_t frame = 1; frame <= frame_skip && !state->over && !machine->fault; frame++) {
            const State earlier = *state;
            const bool drawing = at + 1 == count && frame == frame_skip;
            play_frame(machine, actions[at], false, drawing);
            look(state, game);
            if (state->over && !drawing && restore_state(machine, &earlier, sizeof earlier)) {
                play_frame(machine, actions[at], false, true);
                look(state, game);
            }
        }
    return state->score - before;
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
        play_frame(&self->machine, (uint32_t)action, false, drawing);
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

/* ---- Explorer ------------------------------------------------------------------------------------------------------ */

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

/* ---- Pool ---------------------------------------------------------------------------------------------------------- */

enum { POOL_BUFFERS = 9 };

typedef struct {
    PyObject_HEAD
    PyObject *explorers;
    Pool pool;
    pid_t process; /* which has the threads */
    bool exploring;
    Py_buffer buffers[POOL_BUFFERS]; /* held while a batch runs, so that nobody resizes them */
    size_t buffer_count;
} PoolObject;

static PyTypeObject *explorer_type;

static void pool_release(PoolObject *self)
{
    while (self->buffer_count > 0)
        PyBuffer_Release(&self->buffers[--self->buffer_count]);
    for (Py_ssize_t at = 0; self->exploring && at < PyTuple_GET_SIZE(self->explorers); at++)
        ((ExplorerObject *)PyTuple_GET_ITEM(self->explorers, at))->busy = false;
    self->exploring = false;
}

static PyObject *pool_close(PoolObject *self, PyObject *nothing)
{
    (void)nothing;
    const bool are_mine = self->process == getpid();
    if (self->pool.workers != NULL) {
        Py_BEGIN_ALLOW_THREADS
        pool_end(&self->pool, are_mine);
        Py_END_ALLOW_THREADS
    }
    if (self->explorers != NULL)
        pool_release(self);
    Py_RETURN_NONE;
}

static void pool_object_free(PoolObject *self)
{
    Py_XDECREF(pool_close(self, NULL));
    Py_XDECREF(self->explorers);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *pool_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"explorers", NULL};
    PyObject *explorers;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!", names, &PyTuple_Type, &explorers))
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(explorers);
    bool sound = count >= 1;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *explorer = PyTuple_GET_ITEM(explorers, at);
        sound = sound && Py_IS_TYPE(explorer, explorer_type);
        for (Py_ssize_t other = 0; other < at; other++)
            sound = sound && explorer != PyTuple_GET_ITEM(explorers, other);
    }
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "expected one explorer or more, each of them once");
        return NULL;
    }
    PoolObject *self = (PoolObject *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    Pool *pool = &self->pool;
    self->process = getpid();
    self->explorers = Py_NewRef(explorers);
    pool_init(pool);
    pool->workers = calloc((size_t)count, sizeof *pool->workers);
    if (pool->workers == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        Worker *worker = &pool->workers[at];
        worker->pool = pool;
        worker->explorer = &((ExplorerObject *)PyTuple_GET_ITEM(explorers, at))->explorer;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            Py_DECREF(self);
            PyErr_SetString(PyExc_RuntimeError, "expected to start a thread for each explorer, got an error: use fewer");
            return NULL;
        }
        pool->worker_count++;
    }
    return (PyObject *)self;
}

/* Hold a buffer while a batch runs; return it, or NULL and an error. */
static const Py_buffer *pool_hold(PoolObject *self, PyObject *object, size_t size)
{
    Py_buffer *buffer = &self->buffers[self->buffer_count];
    if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    self->buffer_count++;
    if ((size_t)buffer->len % size == 0 && (buffer->len == 0 || (uintptr_t)buffer->buf % size == 0))
        return buffer;
    PyErr_Format(PyExc_ValueError, "expected an array of numbers of %zu bytes", size);
    return NULL;
}

/* Whether a batch of entries fits the archive's columns. */
static bool batch_is_sound(const Py_buffer *held, const Batch *batch, bool has_rooms)
{
    const size_t entries = (size_t)held[6].len / sizeof(double), slots = batch->score_index.slot_count;
    bool sound = (size_t)held[1].len == 4 * entries && (size_t)held[2].len == 4 * entries &&
                 (size_t)held[5].len == 16 * entries && (size_t)held[7].len == 4 * entries && slots > entries &&
                 (slots & (slots - 1)) == 0 && batch->count >= 1 && batch->count < UINT32_MAX &&
                 (!has_rooms || held[8].len == 256);
    for (size_t at = 0; at < batch->count && sound; at++)
        sound = batch->entries[at] >= 0 && (size_t)batch->entries[at] < entries;
    return sound;
}

static PyObject *pool_object_begin(PoolObject *self, PyObject *arguments)
{
    PyObject *given[POOL_BUFFERS];
    unsigned long long stream;
    static const uint8_t sizes[POOL_BUFFERS] = {4, 4, 4, 1, 4, 8, 8, 4, 1};
    if (!PyArg_ParseTuple(arguments, "OK(OOO)(OOOO)O", &given[0], &stream, &given[1], &given[2], &given[3], &given[4],
                          &given[5], &given[6], &given[7], &given[8]))
        return NULL;
    Pool *pool = &self->pool;
    bool idle = !self->exploring && pool->workers != NULL && self->process == getpid();
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(self->explorers); at++)
        idle = idle && !((ExplorerObject *)PyTuple_GET_ITEM(self->explorers, at))->busy;
    if (!idle) {
        PyErr_SetString(PyExc_RuntimeError, "expected threads that wait for work");
        return NULL;
    }
    const bool has_rooms = given[8] != Py_None;
    for (size_t at = 0; at < (has_rooms ? POOL_BUFFERS : POOL_BUFFERS - 1); at++)
        if (pool_hold(self, given[at], sizes[at]) == NULL) {
            pool_release(self);
            return NULL;
        }
    const Py_buffer *held = self->buffers;
    Batch *batch = &pool->batch;
    batch->entries = held[0].buf;
    batch->count = (size_t)held[0].len / sizeof(int32_t);
    batch->stream = stream;
    batch->cells = held[1].buf;
    batch->snapshots = held[2].buf;
    batch->bytes = (ByteStore){held[3].buf, (size_t)held[3].len};
    batch->score_index = (ScoreIndex){held[4].buf, (size_t)held[4].len / sizeof(int32_t), held[5].buf, held[6].buf, held[7].buf};
    batch->room_numbers = has_rooms ? held[8].buf : NULL;
    if (!batch_is_sound(held, batch, has_rooms)) {
        pool_release(self);
        PyErr_SetString(PyExc_ValueError, "expected entries of an archive, and its columns");
        return NULL;
    }
    RecordPlace *places = realloc(batch->places, batch->count * sizeof *places);
    if (places == NULL) {
        pool_release(self);
        return PyErr_NoMemory();
    }
    batch->places = places;
    atomic_store(&batch->next, 0);
    atomic_store(&batch->played, 0);
    atomic_store(&batch->outcome, (int)EXPLORED);
    atomic_store(&batch->stopped, false);
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(self->explorers); at++) {
        ExplorerObject *explorer = (ExplorerObject *)PyTuple_GET_ITEM(self->explorers, at);
        explorer->busy = true;
        explorer->explorer.machine.run_frame = explorer->cartridge->run_frame; /* there may be a better translation by now */
    }
    self->exploring = true;
    pool_begin(pool);
    Py_RETURN_NONE;
}

static PyObject *pool_object_wait(PoolObject *self, PyObject *arguments)
{
    double seconds;
    if (!PyArg_ParseTuple(arguments, "d", &seconds))
        return NULL;
    if (!(seconds >= 0 && seconds <= 3600)) {
        PyErr_SetString(PyExc_ValueError, "expected 0 to 3600 seconds");
        return NULL;
    }
    bool done = true;
    if (self->exploring) {
        Py_BEGIN_ALLOW_THREADS
        done = pool_wait(&self->pool, seconds);
        Py_END_ALLOW_THREADS
    }
    return PyBool_FromLong(done);
}

static PyObject *pool_object_stop(PoolObject *self, PyObject *nothing)
{
    (void)nothing;
    if (self->exploring && self->process == getpid()) {
        Py_BEGIN_ALLOW_THREADS
        pool_stop(&self->pool);
        Py_END_ALLOW_THREADS
    }
    pool_release(self);
    Py_RETURN_NONE;
}

/* All records in the order of the tasks, and where each begins. */
static PyObject *join_records(const Pool *pool)
{
    const Batch *batch = &pool->batch;
    size_t size = 0;
    for (size_t at = 0; at < batch->count; at++)
        size += batch->places[at].size;
    PyObject *records = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    PyObject *offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(batch->count * sizeof(int64_t)));
    if (records == NULL || offsets == NULL) {
        Py_XDECREF(records);
        Py_XDECREF(offsets);
        return NULL;
    }
    int64_t offset = 0;
    for (size_t at = 0; at < batch->count; at++) {
        const RecordPlace place = batch->places[at];
        memcpy(PyBytes_AS_STRING(records) + offset, pool->workers[place.worker].records + place.offset, place.size);
        memcpy(PyBytes_AS_STRING(offsets) + at * sizeof offset, &offset, sizeof offset);
        offset += place.size;
    }
    return Py_BuildValue("NN", records, offsets);
}

static PyObject *pool_object_finish(PoolObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!self->exploring || !pool_wait(&self->pool, 0)) {
        PyErr_SetString(PyExc_RuntimeError, "expected a batch that is done");
        return NULL;
    }
    pool_release(self);
    const Outcome outcome = (Outcome)atomic_load(&self->pool.batch.outcome);
    return outcome == EXPLORED ? join_records(&self->pool) : explain_outcome(outcome);
}

static PyObject *pool_object_played(PoolObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(atomic_load(&self->pool.batch.played));
}

static PyObject *pool_object_seconds(PoolObject *self, void *closure)
{
    (void)closure;
    double nanoseconds = 0;
    for (size_t at = 0; at < self->pool.worker_count; at++)
        nanoseconds += (double)self->pool.workers[at].nanoseconds;
    return PyFloat_FromDouble(nanoseconds / 1e9);
}

static PyMethodDef pool_methods[] = {
    {"begin", (PyCFunction)pool_object_begin, METH_VARARGS,
     "begin(entries, stream, columns, score_index, room_numbers)\n--\n\nExplore from entries of an archive, whose columns "
     "(handles of cells and of snapshots, and their strings) and score index must not change until the batch is done."},
    {"wait", (PyCFunction)pool_object_wait, METH_VARARGS,
     "wait(seconds)\n--\n\nWait until the batch is done, or this long; return whether it is done."},
    {"finish", (PyCFunction)pool_object_finish, METH_NOARGS,
     "finish()\n--\n\nReturn the records of a batch that is done, in the order of the entries, and where each begins, as "
     "64-bit numbers."},
    {"stop", (PyCFunction)pool_object_stop, METH_NOARGS,
     "stop()\n--\n\nDrop the batch: wait until each thread has ended the exploration that it is running."},
    {"close", (PyCFunction)pool_close, METH_NOARGS, "close()\n--\n\nEnd the threads."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef pool_properties[] = {
    {"played", (getter)pool_object_played, NULL, "Training frames of the batch so far.", NULL},
    {"seconds", (getter)pool_object_seconds, NULL, "Processor time that the threads have spent exploring.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot pool_slots[] = {
    {Py_tp_doc, "Pool(explorers)\n--\n\nA thread for each explorer. They run batches without the interpreter."},
    {Py_tp_new, pool_new},
    {Py_tp_dealloc, pool_object_free},
    {Py_tp_methods, pool_methods},
    {Py_tp_getset, pool_properties},
    {0, NULL},
};

static PyType_Spec pool_spec = {
    .name = "goexplore._native._atari.Pool",
    .basicsize = sizeof(PoolObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = pool_slots,
};

/* ---- Planner ------------------------------------------------------------------------------------------------------- */

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

/* ---- the module ---------------------------------------------------------------------------------------------------- */

static PyObject *game_names(void)
{
    PyObject *names = PyTuple_New(GAME_COUNT);
    for (Py_ssize_t index = 0; names != NULL && index < GAME_COUNT; index++) {
        PyObject *name = PyUnicode_FromString(GAMES[index]->rom);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, index, name);
    }
    return names;
}

static PyObject *stop_reasons(void)
{
    static const char *const reasons[] = FAULT_REASONS;
    const Py_ssize_t count = (Py_ssize_t)(sizeof reasons / sizeof *reasons);
    PyObject *texts = PyTuple_New(count);
    for (Py_ssize_t index = 0; texts != NULL && index < count; index++) {
        PyObject *text = PyUnicode_FromString(reasons[index]);
        if (text == NULL)
            Py_CLEAR(texts);
        else
            PyTuple_SET_ITEM(texts, index, text);
    }
    return texts;
}

/* Add an object, which is used up, to a module; return whether that worked. */
static bool add_object(PyObject *module, const char *name, PyObject *object)
{
    const bool added = object != NULL && PyModule_AddObjectRef(module, name, object) == 0;
    Py_XDECREF(object);
    return added;
}

static int fill_module(PyObject *module)
{
    make_tia_tables();
    cartridge_type = (PyTypeObject *)PyType_FromSpec(&cartridge_spec);
    machine_type = (PyTypeObject *)PyType_FromSpec(&machine_spec);
    explorer_type = (PyTypeObject *)PyType_FromSpec(&explorer_spec);
    const bool filled = PyModule_AddStringConstant(module, "VERSION", ENGINE_VERSION) == 0 &&
                        PyModule_AddStringConstant(module, "BUILD_VERSION", BUILD_VERSION) == 0 &&
                        add_object(module, "GAMES", game_names()) && add_object(module, "STOP_REASONS", stop_reasons()) &&
                        add_object(module, "Cartridge", Py_XNewRef((PyObject *)cartridge_type)) &&
                        add_object(module, "Machine", Py_XNewRef((PyObject *)machine_type)) &&
                        add_object(module, "Explorer", Py_XNewRef((PyObject *)explorer_type)) &&
                        add_object(module, "Pool", PyType_FromSpec(&pool_spec)) &&
                        add_object(module, "Planner", PyType_FromSpec(&planner_spec));
    return filled ? 0 : -1;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_atari",
    .m_doc = "The Atari engine.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__atari(void)
{
    return PyModuleDef_Init(&module_definition);
}
