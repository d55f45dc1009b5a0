/* One question to a process and its answer in one call: write, wait, read, and see whether the answer is the one that
   is expected almost always. Everything else is left to the reader in Python (pipe.py, connection.py), which is also
   used where this module is missing; tests run both. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024, /* bytes read at once, as pipe.CHUNK */
    SHORT = 4096,      /* bytes from which an answer goes the long way, as connection.SHORT */
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The text of the last answer, or NULL if `said` is anything but `head`, a blank, printable ASCII and an empty line.
   As Connection._take_expected, which is the contract. */
static PyObject *expected_text(const char *said, Py_ssize_t size, const char *head, Py_ssize_t head_size) {
    if (size < head_size + 2 || size >= SHORT || memcmp(said, head, (size_t)head_size) != 0 || said[size - 1] != '\n' ||
        said[size - 2] != '\n')
        return NULL;
    Py_ssize_t begin = head_size, end = size - 2;
    if (begin < end && said[begin] != ' ')
        return NULL;
    for (Py_ssize_t i = begin; i < end; i++)
        if (said[i] < ' ' || said[i] > '~')
            return NULL;
    while (begin < end && said[begin] == ' ')
        begin++;
    while (begin < end && said[end - 1] == ' ')
        end--;
    return PyUnicode_FromStringAndSize(said + begin, end - begin);
}

PyDoc_STRVAR(exchange_doc,
             "exchange(stdin, stdout, stderr, data, head, seconds) -> (text, said, began, ended, noise)\n\n"
             "Write `data` (at most PIPE_BUF bytes) to the non-blocking `stdin`, and read `stdout` once, as soon as it\n"
             "has something, after at most so many seconds. `stderr` is -1 for none.\n\n"
             "`text`: that of the last answer, if `said` is what was expected (see Connection.head); else None.\n"
             "`said`: the bytes that were read, b\"\" at the end; None if nothing was read: no time, a signal, or only\n"
             "stderr has something. `began`: when the write was complete, -1.0 if nothing could be written (then the\n"
             "caller writes `data`, and learns why); `ended`: when the answer was read; both as time.monotonic().\n"
             "`noise`: whether stderr has something.");

static PyObject *exchange(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "exchange takes 6 arguments");
        return NULL;
    }
    int in = (int)PyLong_AsLong(args[0]), out = (int)PyLong_AsLong(args[1]), err = (int)PyLong_AsLong(args[2]);
    char *data, *head;
    Py_ssize_t size, head_size;
    double seconds = PyFloat_AsDouble(args[5]);
    if (PyErr_Occurred() || PyBytes_AsStringAndSize(args[3], &data, &size) < 0 ||
        PyBytes_AsStringAndSize(args[4], &head, &head_size) < 0)
        return NULL;

    char said[CHUNK];
    Py_ssize_t got = -1;
    double began = -1.0, ended = -1.0;
    int noise = 0;
    Py_BEGIN_ALLOW_THREADS;
    if (write(in, data, (size_t)size) == size) { /* up to PIPE_BUF bytes a pipe takes all or nothing */
        began = ended = now();
        struct pollfd waiting[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
        int ms = seconds >= 100000.0 ? 100000000 : seconds > 0 ? (int)(seconds * 1000) + 1 : 0;
        if (poll(waiting, 2, ms) > 0) {
            noise = waiting[1].revents != 0;
            if (waiting[0].revents != 0)
                got = read(out, said, CHUNK);
            ended = now();
        }
    }
    Py_END_ALLOW_THREADS;

    PyObject *text = got > 0 ? expected_text(said, got, head, head_size) : NULL;
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("NNddN", text ? text : Py_NewRef(Py_None),
                         got >= 0 ? PyBytes_FromStringAndSize(said, got) : Py_NewRef(Py_None), began, ended,
                         PyBool_FromLong(noise));
}

static PyMethodDef methods[] = {{"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, exchange_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_exchange", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__exchange(void);
PyMODINIT_FUNC PyInit__exchange(void) { return PyModule_Create(&module); }
