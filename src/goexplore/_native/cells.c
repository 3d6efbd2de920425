/* Cells from screens, in C: what runs once per training frame beside the emulator.
 *
 * Each function gives exactly what its reference in Python gives (goexplore/cells); tests compare them. The
 * emulator leaves all caches cold, so a dozen small NumPy calls cost twice what they cost in a benchmark of
 * their own; one call of plain integer arithmetic does not.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* ---- Downscaler: the frame, grey, area-averaged (paper section 2.1.1) ------------------------------------ */

/* What a bin covers, in units of 1/bins of a pixel (or row): `first` units of pixel `start`, all of the pixels
 * after it up to `stop`, and `last` units of pixel `stop`. */
typedef struct {
    uint16_t start, stop, first, last;
} Span;

typedef struct {
    PyObject_HEAD
    Py_ssize_t rows, columns, width, height;
    uint64_t levels;
    Span *column_spans, *row_spans;
    uint8_t *frame;      /* the last frame */
    uint8_t *known;      /* per row: whether its sums belong to `frame` */
    uint32_t *row_sums;  /* per row: grey levels summed over each bin, in units of 1/width of a pixel */
} Downscaler;

static Span *make_spans(Py_ssize_t pixels, Py_ssize_t bins)
{
    Span *spans = PyMem_Calloc((size_t)bins, sizeof(Span));
    if (spans == NULL)
        return NULL;
    for (Py_ssize_t bin = 0; bin < bins; bin++) {
        /* A pixel covers [pixel * bins, (pixel + 1) * bins), a bin [bin * pixels, (bin + 1) * pixels). */
        Py_ssize_t begin = bin * pixels, end = begin + pixels;
        Py_ssize_t start = begin / bins, stop = end / bins;
        spans[bin].start = (uint16_t)start;
        spans[bin].stop = (uint16_t)stop;
        spans[bin].first = (uint16_t)((start + 1) * bins - begin);
        spans[bin].last = (uint16_t)(end - stop * bins);
    }
    return spans;
}

static void downscaler_free(Downscaler *self)
{
    PyMem_Free(self->column_spans);
    PyMem_Free(self->row_spans);
    PyMem_Free(self->frame);
    PyMem_Free(self->known);
    PyMem_Free(self->row_sums);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *downscaler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rows", "columns", "width", "height", "levels", NULL};
    Py_ssize_t rows, columns, width, height, levels;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "nnnnn", names, &rows, &columns, &width, &height,
                                     &levels))
        return NULL;
    if (width < 1 || height < 1 || columns < width || rows < height || rows > 65535 || columns > 65535 ||
        levels < 1 || levels > 255) {
        PyErr_SetString(PyExc_ValueError, "expected 1 <= width <= columns <= 65535, 1 <= height <= rows <= "
                                          "65535 and 1 to 255 levels");
        return NULL;
    }
    Downscaler *self = (Downscaler *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->rows = rows;
    self->columns = columns;
    self->width = width;
    self->height = height;
    self->levels = (uint64_t)levels;
    self->column_spans = make_spans(columns, width);
    self->row_spans = make_spans(rows, height);
    self->frame = PyMem_Calloc((size_t)(rows * columns), 1);
    self->known = PyMem_Calloc((size_t)rows, 1);
    self->row_sums = PyMem_Calloc((size_t)(rows * width), sizeof(uint32_t));
    if (!self->column_spans || !self->row_spans || !self->frame || !self->known || !self->row_sums) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

/* Sum one row's grey levels over its bins; return 0 where a colour is not known. */
static int sum_row(const Downscaler *self, const uint8_t *pixels, const int16_t *grey, uint32_t *sums)
{
    int unknown = 0;
    for (Py_ssize_t bin = 0; bin < self->width; bin++) {
        const Span *span = &self->column_spans[bin];
        int first = grey[pixels[span->start]], last = span->last ? grey[pixels[span->stop]] : 0, between = 0;
        for (int column = span->start + 1; column < span->stop; column++) {
            int level = grey[pixels[column]];
            unknown |= level;
            between += level;
        }
        unknown |= first | last;
        sums[bin] = (uint32_t)(first * span->first + between * (int)self->width + last * span->last);
    }
    return unknown >= 0;
}

/* Sum the rows' sums over one bin of rows. */
static void sum_rows(const Downscaler *self, const Span *span, uint64_t *sums)
{
    const uint32_t *first = self->row_sums + span->start * self->width;
    const uint32_t *last = self->row_sums + span->stop * self->width;
    memset(sums, 0, (size_t)self->width * sizeof(uint64_t));
    for (const uint32_t *row = first + self->width; row < last; row += self->width)
        for (Py_ssize_t bin = 0; bin < self->width; bin++)
            sums[bin] += row[bin];
    for (Py_ssize_t bin = 0; bin < self->width; bin++) {
        sums[bin] = sums[bin] * (uint64_t)self->height + (uint64_t)first[bin] * span->first;
        if (span->last)
            sums[bin] += (uint64_t)last[bin] * span->last;
    }
}

static PyObject *downscaler_update(Downscaler *self, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "expected a frame and 256 grey levels");
        return NULL;
    }
    Py_buffer frame, grey;
    if (PyObject_GetBuffer(arguments[0], &frame, PyBUF_SIMPLE) < 0)
        return NULL;
    if (PyObject_GetBuffer(arguments[1], &grey, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&frame);
        return NULL;
    }
    PyObject *key = NULL;
    uint64_t *sums = NULL;
    if (frame.len != self->rows * self->columns || grey.len != 256 * (Py_ssize_t)sizeof(int16_t)) {
        PyErr_SetString(PyExc_ValueError, "expected a frame of rows x columns bytes and 256 16-bit grey levels");
        goto done;
    }
    const uint8_t *pixels = frame.buf;
    for (Py_ssize_t row = 0; row < self->rows; row++, pixels += self->columns) {
        uint8_t *before = self->frame + row * self->columns;
        if (self->known[row] && memcmp(before, pixels, (size_t)self->columns) == 0)
            continue;
        self->known[row] = 0;
        if (!sum_row(self, pixels, grey.buf, self->row_sums + row * self->width)) {
            key = Py_NewRef(Py_None);
            goto done;
        }
        memcpy(before, pixels, (size_t)self->columns);
        self->known[row] = 1;
    }
    sums = PyMem_Malloc((size_t)self->width * sizeof(uint64_t));
    if (sums == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    key = PyBytes_FromStringAndSize(NULL, self->width * self->height);
    if (key == NULL)
        goto done;
    uint8_t *values = (uint8_t *)PyBytes_AS_STRING(key);
    const uint64_t whole = 255 * (uint64_t)self->rows * (uint64_t)self->columns;
    for (Py_ssize_t bin = 0; bin < self->height; bin++, values += self->width) {
        sum_rows(self, &self->row_spans[bin], sums);
        for (Py_ssize_t cell = 0; cell < self->width; cell++)
            values[cell] = (uint8_t)(sums[cell] * self->levels / whole);
    }
done:
    PyMem_Free(sums);
    PyBuffer_Release(&grey);
    PyBuffer_Release(&frame);
    return key;
}

static PyMethodDef downscaler_methods[] = {
    {"update", (PyCFunction)(void (*)(void))downscaler_update, METH_FASTCALL,
     "update(frame, grey)\n--\n\nReturn the cell of a frame of palette indices, or None if a colour's grey level is "
     "below 0."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot downscaler_slots[] = {
    {Py_tp_doc, "Downscaler(rows, columns, width, height, levels)\n--\n\nAverages frames over areas."},
    {Py_tp_new, downscaler_new},
    {Py_tp_dealloc, downscaler_free},
    {Py_tp_methods, downscaler_methods},
    {0, NULL},
};

static PyType_Spec downscaler_spec = {
    .name = "goexplore._native._cells.Downscaler",
    .basicsize = sizeof(Downscaler),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = downscaler_slots,
};

/* ---- find_character: where the pixels of one colour are (paper appendix A.3) ----------------------------- */

static PyObject *find_character(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "expected a screen, the first row to look at, and a colour");
        return NULL;
    }
    Py_ssize_t top = PyLong_AsSsize_t(arguments[1]);
    long colour = PyLong_AsLong(arguments[2]);
    if (PyErr_Occurred())
        return NULL;
    Py_buffer screen;
    if (PyObject_GetBuffer(arguments[0], &screen, PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    if (screen.ndim != 2 || screen.itemsize != 1 || top < 0 || top > screen.shape[0]) {
        PyBuffer_Release(&screen);
        PyErr_SetString(PyExc_ValueError, "expected a screen of rows x columns bytes, with the first row in it");
        return NULL;
    }
    const Py_ssize_t width = screen.shape[1];
    const uint8_t *begin = (const uint8_t *)screen.buf + top * width;
    const uint8_t *end = (const uint8_t *)screen.buf + screen.len;
    Py_ssize_t pixels = 0, columns = 0, rows = 0;
    int touching = 0;
    for (const uint8_t *at = begin; at < end && (at = memchr(at, (int)colour, (size_t)(end - at))) != NULL; at++) {
        Py_ssize_t index = at - begin;
        pixels++;
        columns += index % width;
        rows += index / width;
        touching |= (at + 1 < end && at[1] == colour) || (end - at > width && at[width] == colour);
    }
    PyBuffer_Release(&screen);
    if (pixels == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("(nnO)", 2 * columns / pixels, rows / pixels, touching ? Py_False : Py_True);
}

static PyMethodDef module_methods[] = {
    {"find_character", (PyCFunction)(void (*)(void))find_character, METH_FASTCALL,
     "find_character(screen, top, colour)\n--\n\nReturn the mean position (x doubled, y from `top`) of all pixels of a "
     "colour and whether no two of them touch, or None where there is none."},
    {NULL, NULL, 0, NULL},
};

/* ---- the module ------------------------------------------------------------------------------------------ */

static int fill_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&downscaler_spec);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddObjectRef(module, "Downscaler", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_cells",
    .m_doc = "Cells from screens, in C.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__cells(void)
{
    return PyModuleDef_Init(&module_definition);
}
