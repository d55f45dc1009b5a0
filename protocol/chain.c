/* Checks in one call that each line of a record is the canonical JSON of a ply and continues the hash chain; and makes
   the next line of a record. It handles the plain form that nearly all lines have. At any other line it stops, and
   records.py, which defines the format, continues from there. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum {
    LINK = 32,                   /* bytes of a link */
    LONGEST_TEXT = 4096,         /* same as records.Text */
    LONGEST_LINE = 1024 * 1024,  /* same as records.MAX_RECORD_LINE */
    LONGEST_ANALYSIS = 256 * 1024, /* same as records.Long */
};
#define MOST_COUNT (INT64_C(1) << 53) /* larger than every records.Count */

/* -- SHA-256 (FIPS 180-4), with the processor's SHA instructions if it has them. */

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t INITIAL[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void plain_blocks(uint32_t state[8], const uint8_t *data, size_t count) {
    for (; count > 0; count--, data += 64) {
        uint32_t w[64], v[8];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)data[4 * i] << 24 | (uint32_t)data[4 * i + 1] << 16 | (uint32_t)data[4 * i + 2] << 8 |
                   (uint32_t)data[4 * i + 3];
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + w[i - 7] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) +
                   (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
        memcpy(v, state, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t one = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) +
                           ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
            uint32_t two = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) +
                           ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += one;
            v[0] = one + two;
        }
        for (int i = 0; i < 8; i++)
            state[i] += v[i];
    }
}

static void (*blocks)(uint32_t state[8], const uint8_t *data, size_t count) = plain_blocks;

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1"))) static void quick_blocks(uint32_t state[8], const uint8_t *data, size_t count) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; count > 0; count--, data += 64) {
        const __m128i first = abef, second = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * i)), order);
        for (int i = 0; i < 16; i++) {
            const __m128i now = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(K + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, now);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(now, 0x0E));
            const __m128i more = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
            const __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), more);
            w[i & 3] = _mm_sha256msg2_epu32(next, w[(i + 3) & 3]);
        }
        abef = _mm_add_epi32(abef, first);
        cdgh = _mm_add_epi32(cdgh, second);
    }
    low = _mm_shuffle_epi32(abef, 0x1B), high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static int is_quick(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}
#endif

/* Compute the link of a line from the previous link, `size` bytes and a closing brace. */
static void next_link(uint8_t link[LINK], const char *line, size_t size) {
    uint32_t state[8];
    uint8_t block[128];
    memcpy(state, INITIAL, sizeof state);
    memcpy(block, link, LINK);
    const uint64_t bits = 8 * (uint64_t)(LINK + size + 1);
    size_t taken = size < 32 ? size : 32;
    memcpy(block + LINK, line, taken);
    size_t filled = LINK + taken;
    if (filled == 64) {
        blocks(state, block, 1);
        const size_t whole = (size - taken) / 64;
        blocks(state, (const uint8_t *)line + taken, whole);
        taken += 64 * whole;
        filled = size - taken;
        memcpy(block, line + taken, filled);
    }
    block[filled++] = '}';
    block[filled++] = 0x80;
    const size_t end = filled <= 56 ? 64 : 128;
    memset(block + filled, 0, end - filled);
    for (int i = 0; i < 8; i++)
        block[end - 1 - (size_t)i] = (uint8_t)(bits >> 8 * i);
    blocks(state, block, end / 64);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++)
            link[4 * i + k] = (uint8_t)(state[i] >> (24 - 8 * k));
}

/* -- The line of a ply. Each function takes a position and returns the position after it, NULL if it is not plain. */

typedef struct {
    const char *end; /* end of the line */
    int64_t ms, seat, seq;
    const char *links; /* where its `,"link":` begins */
} Ply;

#define LINK_KEY ",\"link\":\""
#define WORD(text) text, sizeof(text) - 1

static const char *word(const char *at, const char *end, const char *text, size_t size) {
    return at != NULL && (size_t)(end - at) >= size && memcmp(at, text, size) == 0 ? at + size : NULL;
}

/* Skip a text of printable ASCII as the encoder writes it, after its first quote. */
static const char *text_end(const char *at, const char *end, long most) {
    if (at == NULL)
        return NULL;
    for (const char *begin = at; at < end && at - begin <= most; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            if (++at == end || strchr("\"\\bfnrt", *at) == NULL || *at == 0)
                return NULL;
        } else if (*at < ' ' || *at > '~')
            return NULL;
    }
    return NULL;
}

static const char *number_end(const char *at, const char *end, int64_t *number) {
    if (at == NULL)
        return NULL;
    const char *begin = at;
    for (*number = 0; at < end && *at >= '0' && *at <= '9' && at - begin < 16; at++)
        *number = 10 * *number + (*at - '0');
    return at == begin || (*begin == '0' && at - begin > 1) || *number >= MOST_COUNT ? NULL : at;
}

static int is_ply(const char *at, const char *end, const char *match, size_t size, Ply *ply) {
    const char *begin = at;
    int64_t number;
    if ((at = word(at, end, WORD("{\""))) == NULL)
        return 0;
    if (*at == 'a' && (at = text_end(word(at, end, WORD("analysis\":\"")), end, LONGEST_ANALYSIS)) != NULL)
        at = at[-2] == '"' && at[-3] == ':' ? NULL : word(at, end, WORD(",\"")); /* an empty analysis is left out */
    at = text_end(word(at, end, WORD("colour\":\"")), end, LONGEST_TEXT);
    at = word(at, end, WORD(",\"event\":\"ply\",\""));
    if (at != NULL && at < end && *at == 'l') {
        at = word(at, end, WORD("left\":"));
        if (at != NULL && at < end && *at == '-' && (++at == end || *at == '0'))
            return 0;
        at = word(number_end(at, end, &number), end, WORD(",\""));
    }
    at = word(word(at, end, WORD("match\":")), end, match, size);
    at = text_end(word(at, end, WORD(",\"move\":\"")), end, LONGEST_TEXT);
    at = number_end(word(at, end, WORD(",\"ms\":")), end, &ply->ms);
    at = number_end(word(at, end, WORD(",\"ply\":")), end, &number);
    at = number_end(word(at, end, WORD(",\"seat\":")), end, &ply->seat);
    at = number_end(word(at, end, WORD(",\"seq\":")), end, &ply->seq);
    ply->links = at;
    at = word(at, end, WORD(LINK_KEY));
    if (at == NULL || end - at < 2 * LINK + 3 || memcmp(at + 2 * LINK, "\"}\n", 3) != 0 || ply->seat > 2)
        return 0;
    ply->end = at + 2 * LINK + 3;
    return ply->end - begin <= LONGEST_LINE;
}

static const char DIGITS[] = "0123456789abcdef";

static int is_hex_of(const char *hex, const uint8_t link[LINK]) {
    for (int i = 0; i < LINK; i++)
        if (hex[2 * i] != DIGITS[link[i] >> 4] || hex[2 * i + 1] != DIGITS[link[i] & 15])
            return 0;
    return 1;
}

PyDoc_STRVAR(check_plies_doc,
             "check_plies(lines, begin, match, link) -> (end, plies, ms1, ms2, link)\n\n"
             "Of whole lines of a record from the byte `begin` on: where the plies end that are plain and true, how many\n"
             "there are, the ms that seats 1 and 2 used in them, and the last link. `match` is the JSON of its name,\n"
             "`link` that of the line before, which is the start. The line at the end is another or is not plain.");

static PyObject *check_plies(PyObject *module, PyObject *args) {
    (void)module;
    const char *lines, *match, *before;
    Py_ssize_t size, begin, match_size, link_size;
    if (!PyArg_ParseTuple(args, "y#ny#y#", &lines, &size, &begin, &match, &match_size, &before, &link_size))
        return NULL;
    if (begin < 0 || begin > size || link_size != LINK) {
        PyErr_SetString(PyExc_ValueError, "check_plies takes a place in the lines and a link of 32 bytes");
        return NULL;
    }
    uint8_t link[LINK], next[LINK];
    memcpy(link, before, LINK);
    const char *at = lines + begin, *end = lines + size;
    int64_t used[3] = {0, 0, 0}, plies = 0;
    for (Ply ply; is_ply(at, end, match, (size_t)match_size, &ply) && ply.seq == plies + 1; at = ply.end) {
        memcpy(next, link, LINK);
        next_link(next, at, (size_t)(ply.links - at));
        if (!is_hex_of(ply.links + sizeof(LINK_KEY) - 1, next) || used[ply.seat] >= MOST_COUNT)
            break;
        memcpy(link, next, LINK);
        used[ply.seat] += ply.ms;
        plies++;
    }
    return Py_BuildValue("nLLLy#", (Py_ssize_t)(at - lines), (long long)plies, (long long)used[1], (long long)used[2],
                         (const char *)link, (Py_ssize_t)LINK);
}

PyDoc_STRVAR(make_line_doc,
             "make_line(canonical, link) -> (line, link) or None\n\n"
             "The line of an event of which `canonical` is the JSON, after a line with that link, and its own link. None:\n"
             "it is not printable ASCII, or the line would be too long.");

static PyObject *make_line(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    char *canonical, *before, *at;
    Py_ssize_t size, link_size;
    if (count != 2 || PyBytes_AsStringAndSize(args[0], &canonical, &size) < 0
        || PyBytes_AsStringAndSize(args[1], &before, &link_size) < 0 || size < 2 || link_size != LINK) {
        PyErr_SetString(PyExc_ValueError, "make_line takes the bytes of a JSON object and a link of 32 bytes");
        return NULL;
    }
    size--; /* without the closing brace */
    int plain = size + (Py_ssize_t)sizeof(LINK_KEY) - 1 + 2 * LINK + 2 <= LONGEST_LINE;
    for (Py_ssize_t i = 0; plain && i < size; i++)
        plain = canonical[i] >= ' ' && canonical[i] <= '~';
    if (!plain)
        Py_RETURN_NONE;
    uint8_t link[LINK];
    memcpy(link, before, LINK);
    next_link(link, canonical, (size_t)size);
    PyObject *line = PyBytes_FromStringAndSize(NULL, size + (Py_ssize_t)sizeof(LINK_KEY) - 1 + 2 * LINK + 3);
    if (line == NULL)
        return NULL;
    at = PyBytes_AsString(line);
    memcpy(at, canonical, (size_t)size);
    memcpy(at + size, LINK_KEY, sizeof(LINK_KEY) - 1);
    at += size + (Py_ssize_t)sizeof(LINK_KEY) - 1;
    for (int i = 0; i < LINK; i++) {
        *at++ = DIGITS[link[i] >> 4];
        *at++ = DIGITS[link[i] & 15];
    }
    memcpy(at, "\"}\n", 3);
    return Py_BuildValue("Ny#", line, (const char *)link, (Py_ssize_t)LINK);
}

PyDoc_STRVAR(use_instructions_doc,
             "use_instructions(wanted) -> whether SHA-256 is computed by the processor's instructions from now on.");

static PyObject *use_instructions(PyObject *module, PyObject *wanted) {
    (void)module;
    blocks = plain_blocks;
#if defined(__x86_64__)
    if (PyObject_IsTrue(wanted) == 1 && is_quick())
        blocks = quick_blocks;
#else
    (void)wanted;
#endif
    return PyBool_FromLong(blocks != plain_blocks);
}

static PyMethodDef methods[] = {{"check_plies", check_plies, METH_VARARGS, check_plies_doc},
                                {"make_line", (PyCFunction)(void (*)(void))make_line, METH_FASTCALL, make_line_doc},
                                {"use_instructions", use_instructions, METH_O, use_instructions_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_chain", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__chain(void);
PyMODINIT_FUNC PyInit__chain(void) {
    PyObject *made = PyModule_Create(&module);
    if (made != NULL)
        Py_DECREF(use_instructions(made, Py_True));
    return made;
}
