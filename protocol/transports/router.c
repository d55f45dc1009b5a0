/* Reads many messages of a ZeroMQ ROUTER socket in one call, because pyzmq needs a call and a few objects for every
   frame. It uses the libzmq that pyzmq has loaded and looks up its functions at run time. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

enum { /* from zmq.h */
    NOBLOCK = 1,
    SNDMORE = 2,
    EVENTS = 15,
    POLLIN = 1,
    SRCFD = 2,
};

typedef struct {
    void *align[8]; /* zmq_msg_t: "64 bytes" */
} Message;

static struct {
    int (*msg_init)(Message *);
    int (*msg_recv)(Message *, void *, int);
    int (*msg_close)(Message *);
    int (*msg_more)(const Message *);
    int (*msg_get)(const Message *, int);
    const char *(*msg_gets)(const Message *, const char *);
    void *(*msg_data)(Message *);
    size_t (*msg_size)(const Message *);
    int (*send)(void *, const void *, size_t, int);
    int (*getsockopt)(void *, int, void *, size_t *);
    int (*zmq_errno)(void);
} zmq;

static const struct {
    const char *name;
    void *at;
} FUNCTIONS[] = {
    {"zmq_msg_init", &zmq.msg_init}, {"zmq_msg_recv", &zmq.msg_recv}, {"zmq_msg_close", &zmq.msg_close},
    {"zmq_msg_more", &zmq.msg_more}, {"zmq_msg_get", &zmq.msg_get},   {"zmq_msg_gets", &zmq.msg_gets},
    {"zmq_msg_data", &zmq.msg_data}, {"zmq_msg_size", &zmq.msg_size}, {"zmq_send", &zmq.send},
    {"zmq_getsockopt", &zmq.getsockopt}, {"zmq_errno", &zmq.zmq_errno},
};

PyDoc_STRVAR(attach_doc, "attach(file) -> bool\n\n"
                         "Find libzmq's functions behind a shared library that is loaded already, pyzmq's. False: they "
                         "cannot be found.");

static PyObject *attach(PyObject *module, PyObject *file) {
    (void)module;
    PyObject *path = PyUnicode_AsUTF8String(file);
    if (path == NULL)
        return NULL;
    void *library = dlopen(PyBytes_AsString(path), RTLD_LAZY | RTLD_NOLOAD);
    Py_DECREF(path);
    if (library == NULL)
        Py_RETURN_FALSE;
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        void *found = dlsym(library, FUNCTIONS[i].name);
        if (found == NULL) {
            dlclose(library);
            Py_RETURN_FALSE;
        }
        memcpy(FUNCTIONS[i].at, &found, sizeof found);
    }
    Py_RETURN_TRUE; /* the library stays referenced */
}

static void *handle_of(PyObject *number) { return PyLong_AsVoidPtr(number); }

/* Read the next frame into `message`. Return -1 if there is none now, -2 for another error, which is set. */
static int next_frame(void *socket, Message *message) {
    int number = EINTR;
    zmq.msg_init(message);
    while (number == EINTR) {
        if (zmq.msg_recv(message, socket, NOBLOCK) >= 0)
            return 0;
        number = zmq.zmq_errno();
    }
    zmq.msg_close(message);
    if (number == EAGAIN)
        return -1;
    errno = number;
    PyErr_SetFromErrno(PyExc_OSError);
    return -2;
}

static PyObject *bytes_of(Message *message) {
    return PyBytes_FromStringAndSize(zmq.msg_data(message), (Py_ssize_t)zmq.msg_size(message));
}

static PyObject *text_of(const Message *message, const char *name) {
    const char *text = zmq.msg_gets(message, name);
    return PyUnicode_FromString(text ? text : "");
}

/* Return the descriptor, user and address of this message's connection. */
static PyObject *source_of(const Message *message) {
    PyObject *user = text_of(message, "User-Id"), *address = text_of(message, "Peer-Address"), *source = NULL;
    if (user != NULL && address != NULL)
        source = Py_BuildValue("iOO", zmq.msg_get(message, SRCFD), user, address);
    Py_XDECREF(user);
    Py_XDECREF(address);
    return source;
}

/* Return one message, or NULL, with no error set if there is none. `last`: process it before reading another one. */
static PyObject *next_message(void *socket, PyObject *known, long most, int *last) {
    Message message;
    if (next_frame(socket, &message) != 0)
        return NULL;
    PyObject *route = bytes_of(&message), *frames = PyList_New(0), *source = NULL, *whole = NULL;
    int more = zmq.msg_more(&message), is_known = route ? PyDict_Contains(known, route) : -1;
    zmq.msg_close(&message);
    while (more && frames != NULL && is_known >= 0 && PyList_Size(frames) < most) {
        int got = next_frame(socket, &message);
        if (got == -1) /* libzmq delivers only complete messages */
            PyErr_SetString(PyExc_OSError, "half a message");
        if (got != 0)
            goto done;
        PyObject *frame = bytes_of(&message);
        more = zmq.msg_more(&message);
        if (!is_known && source == NULL && (!more || PyList_Size(frames) + 1 == most))
            source = source_of(&message);
        zmq.msg_close(&message);
        int added = frame ? PyList_Append(frames, frame) : -1;
        Py_XDECREF(frame);
        if (added < 0)
            goto done;
    }
    if (frames == NULL || is_known < 0 || PyErr_Occurred())
        goto done;
    *last = more || !is_known;
    whole = Py_BuildValue("OOOO", route, frames, more ? Py_True : Py_False, source ? source : Py_None);
done:
    Py_XDECREF(route);
    Py_XDECREF(frames);
    Py_XDECREF(source);
    return whole;
}

PyDoc_STRVAR(receive_doc,
             "receive(socket, known, messages, frames) -> [(route, frames, more, source)]\n\n"
             "What has come at a ROUTER, whose handle is `socket`, without waiting: so many messages, and so many\n"
             "frames of each, at most. `more`: other frames of it follow, which are to be read by other means; no\n"
             "other message is read then. Nor is one behind a message of a route that is not in the dict `known`,\n"
             "which comes with its `source`: descriptor (-1 without one), user and address; of others that is None.");

static PyObject *receive(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 4 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "receive takes a socket, a dict and two numbers");
        return NULL;
    }
    void *socket = handle_of(args[0]);
    long messages = PyLong_AsLong(args[2]), frames = PyLong_AsLong(args[3]);
    PyObject *found = PyErr_Occurred() ? NULL : PyList_New(0);
    for (int last = 0; found != NULL && !last && messages > 0; messages--) {
        PyObject *message = next_message(socket, args[1], frames, &last);
        if (message == NULL && !PyErr_Occurred())
            break;
        if (message == NULL || PyList_Append(found, message) < 0)
            Py_CLEAR(found);
        Py_XDECREF(message);
    }
    return found;
}

static int send_frame(void *socket, PyObject *frame, int flags) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(frame, &data, &size) < 0)
        return -1;
    return zmq.send(socket, data, (size_t)size, NOBLOCK | flags) < 0 ? 0 : 1;
}

PyDoc_STRVAR(send_doc, "send(socket, route, kind, payloads) -> bool\n\n"
                       "Send messages of three frames, without waiting. False: not all could leave.");

static PyObject *send_all(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "send takes a socket, a route, a kind and payloads");
        return NULL;
    }
    void *socket = handle_of(args[0]);
    Py_ssize_t payloads = PySequence_Size(args[3]);
    if (PyErr_Occurred())
        return NULL;
    int sent = 1;
    for (Py_ssize_t i = 0; i < payloads && sent == 1; i++) {
        PyObject *payload = PySequence_GetItem(args[3], i);
        if (payload == NULL)
            return NULL;
        if (!PyBytes_Check(payload)) { /* checked before half of a message is sent */
            PyErr_SetString(PyExc_TypeError, "a payload is bytes");
            sent = -1;
        }
        if (sent == 1 && (sent = send_frame(socket, args[1], SNDMORE)) == 1 &&
            (sent = send_frame(socket, args[2], SNDMORE)) == 1)
            sent = send_frame(socket, payload, 0);
        Py_DECREF(payload);
    }
    return sent < 0 ? NULL : PyBool_FromLong(sent);
}

PyDoc_STRVAR(readable_doc, "readable(socket) -> bool\n\nWhether a message has come.");

static PyObject *readable(PyObject *module, PyObject *number) {
    (void)module;
    void *socket = handle_of(number);
    int events = 0;
    size_t size = sizeof events;
    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(zmq.getsockopt(socket, EVENTS, &events, &size) == 0 && (events & POLLIN));
}

PyDoc_STRVAR(received_doc, "received(descriptor) -> int\n\nBytes that a TCP connection has received, by the kernel's "
                           "count; 0 if it is none, or has ended.");

static PyObject *received(PyObject *module, PyObject *number) {
    (void)module;
    struct tcp_info told;
    socklen_t size = sizeof told;
    long descriptor = PyLong_AsLong(number);
    if (PyErr_Occurred())
        return NULL;
    memset(&told, 0, sizeof told);
    if (getsockopt((int)descriptor, IPPROTO_TCP, TCP_INFO, &told, &size) != 0)
        return PyLong_FromLong(0);
    return PyLong_FromUnsignedLongLong(told.tcpi_bytes_received);
}

static PyMethodDef methods[] = {{"attach", attach, METH_O, attach_doc},
                                {"receive", (PyCFunction)(void (*)(void))receive, METH_FASTCALL, receive_doc},
                                {"send", (PyCFunction)(void (*)(void))send_all, METH_FASTCALL, send_doc},
                                {"received", received, METH_O, received_doc},
                                {"readable", readable, METH_O, readable_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_router", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__router(void);
PyMODINIT_FUNC PyInit__router(void) { return PyModule_Create(&module); }
