/* Sends a command to a process and reads its answer in one call: write, wait, read, and check for the common form of
   an answer. All other answers are left to the reader in Python (pipe.py, connection.py). */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024, /* bytes read at once; same as pipe.CHUNK */
    SHORT = 4096,      /* bytes from which an answer is left to Python; same as connection.SHORT */
    HEAD = 1024,
    LONGEST_LINE = 1000,
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Compare `said` with the expected answers: `head`, perhaps a blank and printable ASCII, and an empty line. The rules
   are those of Connection._take_expected. */
enum progress { OTHER, BEGUN, WHOLE };

static enum progress compare(const char *said, Py_ssize_t size, const char *head, Py_ssize_t head_size) {
    if (size >= SHORT || memcmp(said, head, (size_t)(size < head_size ? size : head_size)) != 0)
        return OTHER;
    if (size > head_size && said[head_size] != ' ' && said[head_size] != '\n')
        return OTHER;
    for (Py_ssize_t i = head_size; i < size; i++) {
        if (said[i] == '\n')
            return i + 1 == size ? BEGUN : i + 2 == size && said[i + 1] == '\n' ? WHOLE : OTHER;
        if (said[i] < ' ' || said[i] > '~')
            return OTHER;
    }
    return BEGUN;
}

/* Return the text of the last of the complete expected answers. */
static PyObject *last_text(const char *said, Py_ssize_t size, Py_ssize_t head_size) {
    Py_ssize_t begin = head_size, end = size - 2;
    while (begin < end && said[begin] == ' ')
        begin++;
    while (begin < end && said[end - 1] == ' ')
        end--;
    return PyUnicode_FromStringAndSize(said + begin, end - begin);
}

static Py_ssize_t write_number(long number, char *to) {
    char digits[24];
    Py_ssize_t size = 0;
    for (; number > 0; number /= 10)
        digits[size++] = (char)('0' + number % 10);
    for (Py_ssize_t i = 0; i < size; i++)
        to[i] = digits[size - 1 - i];
    return size;
}

/* Write the command lines with their ids into `data`, as Connection.send does, and the beginning of the expected
   answers into `head`. Return 0 if a line needs the checks in Python, or does not fit. */
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
        if (i) {
            head[(*head_size)++] = '\n';
            head[(*head_size)++] = '\n';
        }
        head[(*head_size)++] = '=';
        if (number > 0) {
            Py_ssize_t width = write_number(number, data + size);
            memcpy(head + *head_size, data + size, (size_t)width);
            *head_size += width;
            size += width;
            data[size++] = ' ';
        } else {
            number = -1; /* no ids */
        }
        memcpy(data + size, line, (size_t)length);
        size += length;
        data[size++] = '\n';
    }
    return size;
}

/* Read `out` until the expected answers are complete or something else has come. Return the number of bytes read, -1 for
   none, 0 at the end of the stream. `noise` is set if stderr has data, which must be drained before waiting again. */
static Py_ssize_t read_answers(int out, int err, char *said, const char *head, Py_ssize_t head_size, double began,
                               double seconds, double *ended, int *noise) {
    Py_ssize_t size = -1;
    double left = seconds;
    do {
        struct pollfd waiting[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
        int ms = left >= 100000.0 ? 100000000 : left > 0 ? (int)(left * 1000) + 1 : 0;
        if (poll(waiting, 2, ms) <= 0)
            break;
        *noise = waiting[1].revents != 0;
        if (waiting[0].revents == 0)
            break;
        Py_ssize_t begun = size < 0 ? 0 : size, got = read(out, said + begun, (size_t)(CHUNK - begun));
        if (got >= 0)
            size = begun + got;
        *ended = now();
        left = seconds - (*ended - began);
        if (got <= 0)
            break;
    } while (left > 0 && !*noise && compare(said, size, head, head_size) == BEGUN);
    return size;
}

PyDoc_STRVAR(exchange_doc,
             "exchange(stdin, stdout, stderr, lines, number, seconds) ->\n"
             "    (asked, text, said, began, ended, noise, wrote)\n\n"
             "Write command lines with ids from `number` on, without ids if it is 0, to the non-blocking `stdin`, and\n"
             "read `stdout` until their answers are whole, something unexpected has come, or after at most so many\n"
             "seconds. `stderr` is -1 for none. None: nothing was written, because the lines are long or not plain, or\n"
             "the pipe is full or closed.\n\n"
             "`asked`: the bytes that were written. `text`: that of the last answer, if all are successes, only the\n"
             "last has text, in one line, and nothing else was read; else None. `said`: the bytes that were read, b\"\"\n"
             "at the end; None if none were: no time, a signal, or only stderr has something. `began`: when the write\n"
             "was complete; `ended`: when the last of the answer was read; both as time.monotonic(). `noise`: whether\n"
             "stderr has something. `wrote`: the seconds that the write took.");

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
        PyErr_Clear(); /* the text is not UTF-8 */
        Py_RETURN_NONE;
    }
    double began = -1.0, ended = -1.0, asked;
    int noise = 0;
    Py_BEGIN_ALLOW_THREADS;
    asked = now();
    if (write(in, data, (size_t)size) == size) { /* a pipe takes up to PIPE_BUF bytes entirely or not at all */
        began = ended = now();
        got = read_answers(out, err, said, head, head_size, began, seconds, &ended, &noise);
    }
    Py_END_ALLOW_THREADS;
    if (began < 0)
        Py_RETURN_NONE;

    int whole = got > 0 && compare(said, got, head, head_size) == WHOLE;
    PyObject *found[] = {
        PyBytes_FromStringAndSize(data, size),
        whole ? last_text(said, got, head_size) : Py_NewRef(Py_None),
        got >= 0 ? PyBytes_FromStringAndSize(said, got) : Py_NewRef(Py_None),
        PyFloat_FromDouble(began),
        PyFloat_FromDouble(ended),
        Py_NewRef(noise ? Py_True : Py_False),
        PyFloat_FromDouble(began - asked),
    };
    PyObject *exchanged = PyTuple_New(sizeof found / sizeof *found);
    for (Py_ssize_t i = 0; i < (Py_ssize_t)(sizeof found / sizeof *found); i++) {
        if (exchanged == NULL || found[i] == NULL || PyTuple_SetItem(exchanged, i, found[i]) < 0) {
            Py_XDECREF(exchanged);
            return NULL; /* out of memory; the bytes read are lost */
        }
    }
    return exchanged;
}

static PyMethodDef methods[] = {{"exchange", (PyCFunction)(void (*)(void))exchange, METH_FASTCALL, exchange_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_exchange", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__exchange(void);
PyMODINIT_FUNC PyInit__exchange(void) { return PyModule_Create(&module); }
