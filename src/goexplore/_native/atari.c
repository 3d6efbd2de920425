/* The Python module of the Atari engine: cartridges, machines, and what plays on them without Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/cartridge.h"
#include "python/explorer.h"
#include "python/machine.h"
#include "python/planner.h"
#include "python/pool.h"

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
