/* Pools as Python objects: a thread for each explorer. */
#ifndef GOEXPLORE_PYTHON_POOL_H
#define GOEXPLORE_PYTHON_POOL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../explore/pool.h"
#include "explorer.h"

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

#endif
