/* The serial part of a search, in C: what happens to the archive and the selection between two batches.
 *
 * Each function gives exactly what its reference in Python gives (goexplore/archive, goexplore/selection); tests compare
 * them. They work in the memory of Python's own arrays, which check that nobody else resizes them meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "archive/columns.h"
#include "archive/sum_tree.h"
#include "archive/update.h"
#include "explore/digest.h"

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

/* An array of numbers in Python's memory. */
typedef struct {
    Py_buffer buffer;
    bool held;
    size_t count;
} Array;

static void array_release(Array *array)
{
    if (array->held)
        PyBuffer_Release(&array->buffer);
    array->held = false;
}

/* Hold an array of numbers of `size` bytes each; return false and an error where it is none. */
static bool array_hold(Array *array, PyObject *object, size_t size, bool writable)
{
    if (PyObject_GetBuffer(object, &array->buffer, writable ? PyBUF_ND | PyBUF_WRITABLE : PyBUF_ND) < 0)
        return false;
    array->held = true;
    array->count = (size_t)array->buffer.len / size;
    if ((size_t)array->buffer.len % size != 0 || (array->count > 0 && (uintptr_t)array->buffer.buf % size != 0)) {
        PyErr_Format(PyExc_ValueError, "expected an array of numbers of %zu bytes", size);
        return false;
    }
    return true;
}

/* ---- free lists of a byte store: Python's, by the number of units ---------------------------------------------------- */

static bool store_take(Store *store, size_t units, int32_t *handle)
{
    *handle = -1;
    PyObject *key = PyLong_FromSize_t(units);
    if (key == NULL)
        return false;
    PyObject *list = PyDict_GetItemWithError(store->free, key);
    Py_DECREF(key);
    if (list == NULL)
        return !PyErr_Occurred();
    const Py_ssize_t last = PyList_Check(list) ? PyList_GET_SIZE(list) - 1 : -1;
    if (last < 0)
        return true;
    const long number = PyLong_AsLong(PyList_GET_ITEM(list, last));
    if (number < 0 || number > INT32_MAX) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "expected handles in the lists of free ones");
        return false;
    }
    *handle = (int32_t)number;
    return PyList_SetSlice(list, last, last + 1, NULL) == 0;
}

static bool store_give(Store *store, size_t units, int32_t handle)
{
    PyObject *key = PyLong_FromSize_t(units), *number = PyLong_FromLong(handle), *list = NULL;
    bool given = false;
    if (key != NULL && number != NULL) {
        list = Py_XNewRef(PyDict_GetItemWithError(store->free, key));
        if (list == NULL && !PyErr_Occurred()) {
            list = PyList_New(0);
            if (list != NULL && PyDict_SetItem(store->free, key, list) < 0)
                Py_CLEAR(list);
        }
        given = list != NULL && PyList_Append(list, number) == 0;
    }
    Py_XDECREF(key);
    Py_XDECREF(number);
    Py_XDECREF(list);
    return given;
}

/* Hold the memory of a store, of which `used` bytes are in use, with room for more: a bytearray gets it here and gives
 * back what is left in `store_close`, any other memory must have it. Return false and an error where that fails. */
static bool store_open(Store *store, Array *memory, PyObject *data, PyObject *free_lists, size_t used, size_t more)
{
    if (PyByteArray_CheckExact(data) && (size_t)PyByteArray_GET_SIZE(data) == used &&
        PyByteArray_Resize(data, (Py_ssize_t)(used + more)) < 0)
        return false;
    if (!array_hold(memory, data, 1, true))
        return false;
    if (memory->count < used || memory->count - used < more) {
        PyErr_SetString(PyExc_ValueError, "expected stores with room for what these records add");
        return false;
    }
    store->used = used;
    store->bytes = (ByteStore){memory->buffer.buf, memory->count};
    store->free = free_lists;
    return true;
}

static bool store_close(size_t used, Array *memory, PyObject *data)
{
    const bool held = memory->held;
    array_release(memory);
    return !held || !PyByteArray_CheckExact(data) || PyByteArray_Resize(data, (Py_ssize_t)used) == 0;
}

/* ---- the archive --------------------------------------------------------------------------------------------------- */

static const char NO_RECORDS[] = "expected the records of a batch, in the order of its tasks";

static bool hold_records(Array *records, Array *offsets, PyObject *bytes, PyObject *places)
{
    if (!array_hold(records, bytes, 1, false) || !array_hold(offsets, places, sizeof(int64_t), false))
        return false;
    if ((uintptr_t)records->buffer.buf % RECORD_UNIT == 0)
        return true;
    PyErr_SetString(PyExc_ValueError, "expected records at an address that suits numbers of 8 bytes");
    return false;
}

static PyObject *measure(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *bytes, *places, *result = NULL;
    Py_ssize_t entries, action_bytes;
    if (!PyArg_ParseTuple(arguments, "OOnn", &bytes, &places, &entries, &action_bytes))
        return NULL;
    Array records = {.held = false}, offsets = {.held = false};
    UpdateBound bound;
    if (hold_records(&records, &offsets, bytes, places)) {
        if (entries < 0 || action_bytes < 1 || action_bytes > 2 ||
            !check_records(records.buffer.buf, records.count, offsets.buffer.buf, offsets.count, (size_t)entries,
                           (size_t)action_bytes, &bound))
            PyErr_SetString(PyExc_ValueError, NO_RECORDS);
        else {
            const int64_t cells = count_new_cells(records.buffer.buf, records.count, offsets.buffer.buf, offsets.count,
                                                  bound.candidates);
            result = cells < 0 ? PyErr_NoMemory()
                               : Py_BuildValue("nnnn", (Py_ssize_t)cells, (Py_ssize_t)bound.segments,
                                               (Py_ssize_t)bound.string_bytes, (Py_ssize_t)bound.action_bytes);
        }
    }
    array_release(&records);
    array_release(&offsets);
    return result;
}

/* What is counted of a batch, and the frames for revisions of dynamic cells. */
static PyObject *total(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *bytes, *places, *frames = NULL;
    Py_ssize_t action_bytes;
    unsigned int at_most;
    if (!PyArg_ParseTuple(arguments, "OOnI", &bytes, &places, &action_bytes, &at_most))
        return NULL;
    Array records = {.held = false}, offsets = {.held = false};
    UpdateBound bound;
    uint64_t played = 0;
    Py_ssize_t lost = 0, stops = 0;
    int last_stop = 0;
    if (!hold_records(&records, &offsets, bytes, places))
        goto done;
    if (action_bytes < 1 || action_bytes > 2 ||
        !check_records(records.buffer.buf, records.count, offsets.buffer.buf, offsets.count, INT32_MAX,
                       (size_t)action_bytes, &bound)) {
        PyErr_SetString(PyExc_ValueError, NO_RECORDS);
        goto done;
    }
    frames = PyList_New(0);
    for (size_t at = 0; at < offsets.count && frames != NULL; at++) {
        const size_t offset = (size_t)((const int64_t *)offsets.buffer.buf)[at];
        Record record;
        if (!record_read((const uint8_t *)records.buffer.buf + offset, records.count - offset, &record))
            continue;
        const RecordHead *head = record.head;
        played += head->played;
        lost += head->played <= at_most && head->action_size < (uint64_t)head->played * (uint64_t)action_bytes;
        stops += head->fault != 0;
        last_stop = head->fault ? head->fault : last_stop;
        if (head->frame_size > 0) {
            PyObject *frame = PyBytes_FromStringAndSize((const char *)record.frame, head->frame_size);
            if (frame == NULL || PyList_Append(frames, frame) < 0)
                Py_CLEAR(frames);
            Py_XDECREF(frame);
        }
    }
done:
    array_release(&records);
    array_release(&offsets);
    return frames == NULL ? NULL : Py_BuildValue("KnniN", (unsigned long long)played, lost, stops, last_stop, frames);
}

enum { INDEX_ARRAYS = 4, ENTRY_ARRAYS = 12, SEGMENT_ARRAYS = 4, ALL_ARRAYS = INDEX_ARRAYS + ENTRY_ARRAYS + SEGMENT_ARRAYS };

/* Sizes of numbers, in the order of `update`'s arguments. */
static const uint8_t ARRAY_SIZES[ALL_ARRAYS] = {4, 8, 8, 4, 4, 4, 4, 2, 2, 2, 4, 4, 4, 8, 1, 2, 4, 2, 4, 4};

static bool hold_columns(Array *arrays, PyObject *columns)
{
    for (Py_ssize_t at = 0; at < ALL_ARRAYS; at++)
        if (!array_hold(&arrays[at], PyTuple_GET_ITEM(columns, at), ARRAY_SIZES[at], true))
            return false;
    return true;
}

/* Whether all columns of a kind have the same room, and the sizes in use fit into it. */
static bool columns_fit(const Array *arrays, const ArchiveUpdate *archive)
{
    bool fit = arrays[1].count == 2 * archive->entry_room && arrays[2].count == archive->entry_room &&
               arrays[3].count == archive->entry_room && archive->entry_room <= INT32_MAX &&
               archive->segment_room <= INT32_MAX;
    for (size_t at = INDEX_ARRAYS; at < INDEX_ARRAYS + ENTRY_ARRAYS; at++)
        fit = fit && arrays[at].count == archive->entry_room;
    for (size_t at = INDEX_ARRAYS + ENTRY_ARRAYS; at < ALL_ARRAYS; at++)
        fit = fit && arrays[at].count == archive->segment_room;
    const size_t slots = arrays[0].count;
    return fit && slots > archive->entry_room && (slots & (slots - 1)) == 0 && archive->entries >= 1 &&
           archive->entries <= archive->entry_room && archive->segments >= 1 &&
           archive->segments <= archive->segment_room && archive->living <= archive->segments && archive->best >= 0 &&
           (size_t)archive->best < archive->entries;
}

static void point_to_columns(const Array *arrays, ArchiveUpdate *archive)
{
    const Array *at = arrays;
    archive->index.slot_count = at->count;
    archive->index.slots = at++->buffer.buf;
    archive->index.digests = at++->buffer.buf;
    archive->index.scores = at++->buffer.buf;
    archive->index.lengths = at++->buffer.buf;
    archive->entry.cell = at++->buffer.buf;
    archive->entry.snapshot = at++->buffer.buf;
    archive->entry.segment = at++->buffer.buf;
    archive->entry.offset = at++->buffer.buf;
    archive->entry.level = at++->buffer.buf;
    archive->entry.room = at++->buffer.buf;
    archive->entry.times_seen = at++->buffer.buf;
    archive->entry.times_chosen = at++->buffer.buf;
    archive->entry.times_chosen_since_new = at++->buffer.buf;
    archive->entry.found_at = at++->buffer.buf;
    archive->entry.end = at++->buffer.buf;
    archive->entry.event = at++->buffer.buf;
    archive->segment.parents = at++->buffer.buf;
    archive->segment.offsets = at++->buffer.buf;
    archive->segment.holds = at++->buffer.buf;
    archive->segment.handles = at++->buffer.buf;
}

static PyObject *as_bytes(const Numbers *numbers)
{
    return PyBytes_FromStringAndSize((const char *)numbers->items, (Py_ssize_t)(numbers->size * sizeof *numbers->items));
}

static bool is_chosen(const Array *chosen, size_t entries)
{
    for (size_t at = 0; at < chosen->count; at++) {
        const int32_t entry = ((const int32_t *)chosen->buffer.buf)[at];
        if (entry < 0 || (size_t)entry >= entries)
            return false;
    }
    return true;
}

static PyObject *describe_update(const ArchiveUpdate *archive, UpdateOutcome outcome)
{
    switch (outcome) {
    case UPDATED: {
        PyObject *touched = as_bytes(&archive->touched), *improved = as_bytes(&archive->improved),
                 *locations = as_bytes(&archive->locations);
        if (touched != NULL && improved != NULL && locations != NULL)
            return Py_BuildValue("nnninnNNN", (Py_ssize_t)archive->entries, (Py_ssize_t)archive->segments,
                                 (Py_ssize_t)archive->living, (int)archive->best, (Py_ssize_t)archive->strings.used,
                                 (Py_ssize_t)archive->actions.used, touched, improved, locations);
        Py_XDECREF(touched);
        Py_XDECREF(improved);
        Py_XDECREF(locations);
        return NULL;
    }
    case UPDATE_OUT_OF_MEMORY:
        return PyErr_NoMemory();
    case UPDATE_UNSOUND:
        PyErr_SetString(PyExc_RuntimeError, "expected an archive that its records fit to");
        return NULL;
    default:
        return NULL;
    }
}

static PyObject *update(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    (void)module;
    static char *names[] = {"columns", "strings", "used_strings", "free_strings", "actions", "used_actions", "free_actions",
                            "chosen", "records", "offsets", "entries", "segments", "living", "best", "reset_seen",
                            "game_frame", "action_bytes", NULL};
    PyObject *columns, *strings, *free_strings, *actions, *free_actions, *chosen, *bytes, *places, *result = NULL;
    Py_ssize_t entries, segments, living, action_bytes, used_strings, used_actions;
    int best, reset_seen;
    long long game_frame;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "$O!OnO!OnO!OOOnnnipLn", names, &PyTuple_Type, &columns, &strings,
                                     &used_strings, &PyDict_Type, &free_strings, &actions, &used_actions, &PyDict_Type,
                                     &free_actions, &chosen, &bytes, &places, &entries, &segments, &living, &best,
                                     &reset_seen, &game_frame, &action_bytes))
        return NULL;
    if (PyTuple_GET_SIZE(columns) != ALL_ARRAYS || entries < 1 || segments < 1 || living < 1 || action_bytes < 1 ||
        action_bytes > 2 || used_strings < 0 || used_actions < 0 || strings == actions) {
        PyErr_SetString(PyExc_ValueError, "expected the columns of an archive");
        return NULL;
    }
    Array arrays[ALL_ARRAYS] = {{.held = false}}, starts = {.held = false}, records = {.held = false},
          offsets = {.held = false}, string_memory = {.held = false}, action_memory = {.held = false};
    ArchiveUpdate archive = {.entries = (size_t)entries,
                             .segments = (size_t)segments,
                             .living = (size_t)living,
                             .best = best,
                             .reset_seen = reset_seen,
                             .game_frame = game_frame,
                             .action_bytes = (size_t)action_bytes};
    UpdateBound bound;
    if (!hold_columns(arrays, columns) || !array_hold(&starts, chosen, sizeof(int32_t), false) ||
        !hold_records(&records, &offsets, bytes, places))
        goto done;
    archive.entry_room = arrays[2].count;
    archive.segment_room = arrays[INDEX_ARRAYS + ENTRY_ARRAYS].count;
    if (!columns_fit(arrays, &archive) || starts.count != offsets.count || !is_chosen(&starts, archive.entries) ||
        !check_records(records.buffer.buf, records.count, offsets.buffer.buf, offsets.count, archive.entries,
                       archive.action_bytes, &bound) ||
        bound.segments > archive.segment_room - archive.segments) {
        PyErr_SetString(PyExc_ValueError, "expected the columns of an archive, with room for what these records add");
        goto done;
    }
    point_to_columns(arrays, &archive);
    if (!store_open(&archive.strings, &string_memory, strings, free_strings, (size_t)used_strings, bound.string_bytes) ||
        !store_open(&archive.actions, &action_memory, actions, free_actions, (size_t)used_actions, bound.action_bytes))
        goto done;
    const UpdateOutcome outcome = update_archive(&archive, starts.buffer.buf, records.buffer.buf, records.count,
                                                 offsets.buffer.buf, offsets.count);
    result = describe_update(&archive, outcome);
done:
    if (!store_close(result != NULL ? archive.strings.used : (size_t)used_strings, &string_memory, strings) ||
        !store_close(result != NULL ? archive.actions.used : (size_t)used_actions, &action_memory, actions))
        Py_CLEAR(result);
    for (size_t at = 0; at < ALL_ARRAYS; at++)
        array_release(&arrays[at]);
    array_release(&starts);
    array_release(&records);
    array_release(&offsets);
    free(archive.touched.items);
    free(archive.improved.items);
    free(archive.locations.items);
    free(archive.accepted);
    return result;
}

static PyObject *fill_slots(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *slot_array, *digest_array, *result = NULL;
    Py_ssize_t first;
    if (!PyArg_ParseTuple(arguments, "OOn", &slot_array, &digest_array, &first))
        return NULL;
    Array slots = {.held = false}, digests = {.held = false};
    if (array_hold(&slots, slot_array, sizeof(int32_t), true) && array_hold(&digests, digest_array, sizeof(uint64_t), false)) {
        const size_t entries = digests.count / 2;
        if (digests.count % 2 || slots.count <= entries || (slots.count & (slots.count - 1)) || entries > INT32_MAX ||
            first < 0 || (size_t)first > entries)
            PyErr_SetString(PyExc_ValueError, "expected more slots than digests, a power of two");
        else if (!index_fill(slots.buffer.buf, slots.count, digests.buffer.buf, (size_t)first, entries))
            PyErr_SetString(PyExc_ValueError, "expected slots without these digests, and digests that differ");
        else
            result = Py_NewRef(Py_None);
    }
    array_release(&slots);
    array_release(&digests);
    return result;
}

/* Strings that stand one after the other: where each begins and the last ends, and the bytes. */
typedef struct {
    Array offsets, bytes;
    size_t count;
} Strings;

static void strings_release(Strings *strings)
{
    array_release(&strings->offsets);
    array_release(&strings->bytes);
}

/* Hold strings; return false and an error where they are none. */
static bool strings_hold(Strings *strings, PyObject *offsets, PyObject *bytes)
{
    if (!array_hold(&strings->offsets, offsets, sizeof(int64_t), false) || !array_hold(&strings->bytes, bytes, 1, false))
        return false;
    const int64_t *offset = strings->offsets.buffer.buf;
    bool sound = strings->offsets.count >= 1 && offset[0] >= 0;
    for (size_t at = 1; at < strings->offsets.count && sound; at++)
        sound = offset[at] >= offset[at - 1] && offset[at] - offset[at - 1] <= INT32_MAX;
    if (!sound || (uint64_t)offset[strings->offsets.count - 1] > strings->bytes.count) {
        PyErr_SetString(PyExc_ValueError, "expected strings, one after the other, and where each begins");
        return false;
    }
    strings->count = strings->offsets.count - 1;
    return true;
}

static const uint8_t *string_at(const Strings *strings, size_t at, size_t *length)
{
    const int64_t *offset = (const int64_t *)strings->offsets.buffer.buf + at;
    *length = (size_t)(offset[1] - offset[0]);
    return (const uint8_t *)strings->bytes.buffer.buf + offset[0];
}

/* The digests of cells. */
static PyObject *digests(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *offsets, *bytes, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &offsets, &bytes))
        return NULL;
    Strings cells = {.count = 0};
    if (strings_hold(&cells, offsets, bytes))
        result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(cells.count * sizeof(Digest)));
    for (size_t at = 0; result != NULL && at < cells.count; at++) {
        size_t length;
        const uint8_t *cell = string_at(&cells, at, &length);
        const Digest found = digest(cell, length);
        memcpy(PyBytes_AS_STRING(result) + at * sizeof found, &found, sizeof found);
    }
    strings_release(&cells);
    return result;
}

/* Write strings to the end of a store that has room for them. */
static PyObject *put(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *data, *offsets, *bytes, *result = NULL;
    Py_ssize_t used;
    if (!PyArg_ParseTuple(arguments, "OnOO", &data, &used, &offsets, &bytes))
        return NULL;
    Array memory = {.held = false};
    Strings strings = {.count = 0};
    if (!array_hold(&memory, data, 1, true) || !strings_hold(&strings, offsets, bytes))
        goto done;
    ByteStore store = {memory.buffer.buf, memory.count};
    size_t end = (size_t)used, length;
    bool fits = used >= 0 && used % BYTE_STORE_UNIT == 0;
    for (size_t at = 0; at < strings.count && fits; at++) {
        const uint8_t *string = string_at(&strings, at, &length);
        const size_t start = end;
        end += BYTE_STORE_UNIT * byte_store_units(length);
        fits = end <= store.size;
        if (fits)
            byte_store_write(&store, start / BYTE_STORE_UNIT, string, length);
    }
    if (fits)
        result = PyLong_FromSize_t(end);
    else
        PyErr_SetString(PyExc_ValueError, "expected a store with room for these strings");
done:
    array_release(&memory);
    strings_release(&strings);
    return result;
}

/* The strings behind some handles, one after the other, and where each begins. */
static PyObject *gather(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *data, *handle_array, *offsets = NULL, *strings = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &data, &handle_array))
        return NULL;
    Array bytes = {.held = false}, handles = {.held = false};
    if (!array_hold(&bytes, data, 1, false) || !array_hold(&handles, handle_array, sizeof(int32_t), false))
        goto done;
    const ByteStore store = {bytes.buffer.buf, bytes.count};
    const int32_t *handle = handles.buffer.buf;
    offsets = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((handles.count + 1) * sizeof(int64_t)));
    if (offsets == NULL)
        goto done;
    int64_t *offset = (int64_t *)(void *)PyBytes_AS_STRING(offsets);
    size_t length = 0;
    offset[0] = 0;
    for (size_t at = 0; at < handles.count; at++) {
        if (byte_store_get(&store, handle[at], &length) == NULL) {
            PyErr_SetString(PyExc_ValueError, "expected handles of strings");
            goto done;
        }
        offset[at + 1] = offset[at] + (int64_t)length;
    }
    strings = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)offset[handles.count]);
    for (size_t at = 0; strings != NULL && at < handles.count; at++) {
        const uint8_t *string = byte_store_get(&store, handle[at], &length);
        memcpy(PyBytes_AS_STRING(strings) + offset[at], string, length);
    }
done:
    array_release(&bytes);
    array_release(&handles);
    if (strings == NULL) {
        Py_XDECREF(offsets);
        return NULL;
    }
    return Py_BuildValue("NN", offsets, strings);
}

/* ---- the selection's tree ------------------------------------------------------------------------------------------ */

static PyObject *tree_set(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *node_array, *leaf_array, *weight_array, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "OOO", &node_array, &leaf_array, &weight_array))
        return NULL;
    Array nodes = {.held = false}, leaves = {.held = false}, weights = {.held = false};
    int64_t *changed = NULL;
    if (!array_hold(&nodes, node_array, sizeof(double), true) || !array_hold(&leaves, leaf_array, sizeof(int64_t), false) ||
        !array_hold(&weights, weight_array, sizeof(double), false))
        goto done;
    const size_t half = nodes.count / 2;
    changed = PyMem_Malloc((leaves.count + 1) * sizeof *changed);
    if (changed == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    bool rising = nodes.count >= 2 && (nodes.count & (nodes.count - 1)) == 0 && leaves.count == weights.count;
    for (size_t at = 0; at < leaves.count && rising; at++) {
        const int64_t leaf = ((const int64_t *)leaves.buffer.buf)[at];
        changed[at] = leaf + (int64_t)half;
        rising = leaf >= 0 && leaf < (int64_t)half && (at == 0 || changed[at] > changed[at - 1]);
    }
    if (!rising) {
        PyErr_SetString(PyExc_ValueError, "expected leaves of this tree, each once, in rising order");
        goto done;
    }
    double *node = nodes.buffer.buf;
    for (size_t at = 0; at < leaves.count; at++)
        node[changed[at]] = ((const double *)weights.buffer.buf)[at];
    sum_tree_sum_up(node, changed, leaves.count);
    result = Py_NewRef(Py_None);
done:
    PyMem_Free(changed);
    array_release(&nodes);
    array_release(&leaves);
    array_release(&weights);
    return result;
}

static PyObject *tree_find(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *node_array, *position_array, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &node_array, &position_array))
        return NULL;
    Array nodes = {.held = false}, positions = {.held = false};
    if (array_hold(&nodes, node_array, sizeof(double), false) &&
        array_hold(&positions, position_array, sizeof(double), false)) {
        if (nodes.count < 2 || (nodes.count & (nodes.count - 1)))
            PyErr_SetString(PyExc_ValueError, "expected the nodes of a tree, a power of two");
        else
            result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(positions.count * sizeof(int64_t)));
    }
    for (size_t at = 0; result != NULL && at < positions.count; at++)
        ((int64_t *)(void *)PyBytes_AS_STRING(result))[at] =
            sum_tree_find(nodes.buffer.buf, nodes.count, ((const double *)positions.buffer.buf)[at]);
    array_release(&nodes);
    array_release(&positions);
    return result;
}

/* ---- the module ---------------------------------------------------------------------------------------------------- */

static PyMethodDef module_methods[] = {
    {"measure", measure, METH_VARARGS,
     "measure(records, offsets, entries, action_bytes)\n--\n\nCheck the records of a batch; return how many entries they add, "
     "and at most how many segments, bytes of cells and snapshots, and bytes of actions."},
    {"total", total, METH_VARARGS,
     "total(records, offsets, action_bytes, at_most)\n--\n\nReturn the training frames of a batch, how many explorations "
     "were lost after `at_most` training frames at most, how many stopped and at what the last one did, from 1, and the "
     "frames for revisions."},
    {"update", (PyCFunction)(void (*)(void))update, METH_VARARGS | METH_KEYWORDS,
     "update(*, columns, ...)\n--\n\nTake records into an archive's columns, which have room for what they can add; return "
     "the numbers of entries, segments and living segments, the best entry, the bytes in use of both stores, and the "
     "entries that were touched, those that "
     "were improved, and the locations that were reached, as arrays of 32 bits each, with repetitions."},
    {"fill_slots", fill_slots, METH_VARARGS,
     "fill_slots(slots, digests, first)\n--\n\nPut the entries with these digests, from a first one on, into the slots of "
     "a score index."},
    {"digests", digests, METH_VARARGS, "digests(offsets, cells)\n--\n\nReturn the digests of cells, two words each."},
    {"put", put, METH_VARARGS,
     "put(data, used, offsets, strings)\n--\n\nWrite strings to the end of a store; return where that is now."},
    {"gather", gather, METH_VARARGS,
     "gather(data, handles)\n--\n\nReturn where each string behind a handle begins, as 64-bit numbers, and the strings."},
    {"tree_set", tree_set, METH_VARARGS,
     "tree_set(nodes, leaves, weights)\n--\n\nSet the weights of leaves, in rising order, and all sums above them."},
    {"tree_find", tree_find, METH_VARARGS,
     "tree_find(nodes, positions)\n--\n\nReturn the leaves at these positions, as 64-bit numbers."},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module)
{
    return PyModule_AddStringConstant(module, "BUILD_VERSION", BUILD_VERSION);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_archive",
    .m_doc = "The archive's and the selection's part of the serial work, in C.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__archive(void)
{
    return PyModuleDef_Init(&module_definition);
}
