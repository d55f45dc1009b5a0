/* One question to a process and its answer in one call: write, wait, read, and see whether the answer is the one that
   is expected almost always. Everything else is left to the reader in Python (pipe.py, connection.py), which is also
   used where this module is missing; tests run both. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024, /* bytes read at once, as pipe.CHUNK */
    SHORT = 4096,      /* bytes from which an answer goes the long way, as connection.SHORT */
    HEAD = 1024,
    LONGEST_LINE = 1000,
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

/* The command lines with their ids, as Connection.send writes them, in `data`; 0 if one of them is not plain enough, or
   there is no room: then Python looks at them. `head` is what their answers begin with. */
static Py_ssize_t write_lines(PyObject *lines, long number, char *data, char *head, Py_ssize_t *head_size) {
    Py_ssize_t size = 0, count = PyTuple_Size(lines);
    *head_size = 0;
    for (Py_ssize_t i = 0; i < count; i++, number++) {
        Py_ssize_t length;
        const char *line = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(lines, i), &length);
        if (line == NULL || length >= LONGEST_LINE || size + length + 16 > PIPE_BUF || *head_size + 16 > HEAD)
            return 0;
        if (!((line[0] >= 'a' && line[0] <= 'z') || (line[0] >= 'A' && line[0] <= 'Z')))
            return 0;
        for (Py_ssize_t k = 0; k < length; k++)
            if (line[k] < ' ' || line[k] > '~' || line[k] == '#')
                return 0;
        char digits[16] = "";
        int width = number > 0 ? PyOS_snprintf(digits, sizeof digits, "%ld", number) : 0;
        *head_size += PyOS_snprintf(head + *head_size, 16, "%s=%s", i ? "\n\n" : "", digits);
        memcpy(data + size, digits, (size_t)width);
        size += width;
        if (width)
            data[size++] = ' ';
        memcpy(data + size, line, (size_t)length);
        size += length;
        data[size++] = '\n';
        if (number == 0)
            number = -1; /* no ids */
    }
    return size;
}

PyDoc_STRVAR(exchange_doc,
             "exchange(stdin, stdout, stderr, lines, number, seconds) -> (asked, text, said, began, ended, noise)\n\n"
             "Write command lines with ids from `number` on, without ids if it is 0, to the non-blocking `stdin`, and\n"
             "read `stdout` once, as soon as it has something, after at most so many seconds. `stderr` is -1 for none.\n"
             "None: nothing was written, because the lines are long or not plain, or the pipe is full or closed.\n\n"
             "`asked`: the bytes that were written. `text`: that of the last answer, if all are successes, only the\n"
             "last has text, in one line, and nothing else was read; else None. `said`: the bytes that were read, b\"\"\n"
             "at the end; None if none were: no time, a signal, or only stderr has something. `began`: when the write\n"
             "was complete; `ended`: when the answer was read; both as time.monotonic(). `noise`: whether stderr has\n"
             "something.");

static PyObject *exchange(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 6 || !PyTuple_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "exchange takes three descriptors, a tuple of lines, a number and seconds");
        return NULL;
    }
    int in = (int)PyLong_AsLong(args[0]), out = (int)PyLong_AsLong(args[1]), err = (int)PyLong_AsLong(args[2]);
    long number = PyLong_AsLong(args[4]);
    double seconds = PyFloat_AsDouble(args[5]);
    if (PyErr_Occurred())
        return NULL;

    char data[PIPE_BUF], head[HEAD], said[CHUNK];
    Py_ssize_t head_size, size = write_lines(args[3], number, data, head, &head_size), got = -1;
    if (size == 0) {
        PyErr_Clear(); /* text that is no UTF-8 */
        Py_RETURN_NONE;
    }
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
    if (began < 0)
        Py_RETURN_NONE;

    PyObject *text = got > 0 ? expected_text(said, got, head, head_size) : NULL;
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("NNNddN", PyBytes_FromStringAndSize(data, size), text ? text : Py_NewRef(Py_None),
                         got >= 0 ? PyBytes_FromStringAndSize(said, got) : Py_NewRef(Py_None), began, ended,
                         PyBool_FromLong(noise));
}

static PyMethodDef methods[] = {{"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, exchange_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_exchange", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__exchange(void);
PyMODINIT_FUNC PyInit__exchange(void) { return PyModule_Create(&module); }
