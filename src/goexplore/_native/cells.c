/* Cells from screens, in C: what runs once per training frame beside the emulator.
 *
 * Each function gives exactly what its reference in Python gives (goexplore/cells); tests compare them. The
 * emulator leaves all caches cold, so a dozen small NumPy calls cost twice what they cost in a benchmark of
 * their own; one call of plain integer arithmetic does not.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "cells/character.h"
#include "cells/downscale.h"

/* ---- Downscaler: the frame, grey, area-averaged (paper section 2.1.1) ------------------------------------ */

typedef struct {
    PyObject_HEAD
    Downscale downscale;
} Downscaler;

static void downscaler_free(Downscaler *self)
{
    downscale_free(&self->downscale);
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
    if (!downscale_begin(&self->downscale, (size_t)rows, (size_t)columns, (size_t)width, (size_t)height,
                         (size_t)levels)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
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
    Downscale *downscaler = &self->downscale;
    PyObject *key = NULL;
    if ((size_t)frame.len != downscaler->rows * downscaler->columns || grey.len != 256 * (Py_ssize_t)sizeof(int16_t))
        PyErr_SetString(PyExc_ValueError, "expected a frame of rows x columns bytes and 256 16-bit grey levels");
    else
        key = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(downscaler->width * downscaler->height));
    if (key != NULL && !downscale(downscaler, frame.buf, grey.buf, (uint8_t *)PyBytes_AS_STRING(key)))
        Py_SETREF(key, Py_NewRef(Py_None));
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
    const size_t skipped = (size_t)(top * screen.shape[1]);
    const Character found = find_colour((const uint8_t *)screen.buf + skipped, (size_t)screen.len - skipped,
                                        (size_t)screen.shape[1], (int)colour);
    PyBuffer_Release(&screen);
    if (!found.visible)
        Py_RETURN_NONE;
    return Py_BuildValue("(iiO)", found.x, found.y, found.scattered ? Py_True : Py_False);
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
    int failed = PyModule_AddStringConstant(module, "BUILD_VERSION", BUILD_VERSION) < 0 ||
                 PyModule_AddObjectRef(module, "Downscaler", type) < 0;
    Py_DECREF(type);
    return failed ? -1 : 0;
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
