/* Bots that dial in to a lobby, a thousand in one thread; for measuring the lobby, so it does nothing else.
 *     cc -O2 -o dialled dialled.c -lsodium && ./dialled PORT[,PORT…] BOTS MOVES_A_SECOND SECONDS [KEYS]
 *
 * Several ports are the fronts of one lobby: the bots begin at all of them in turn, and one that loses its connection
 * dials the next. With one port a lost connection ends the program.
 *
 * They speak ZMTP 3.0 (NULL or CURVE, DEALER) over plain sockets and one epoll: no library's thread is in what is
 * measured. The file KEYS holds 32 bytes of the server's public key, then each bot's public and secret key; without it
 * the bots use no keys. -DNO_KEYS builds them without libsodium.
 * They play `yugo` at random on points of one colour of the chessboard, where every pawn has liberties, so that each
 * move is legal; after about 50 plies a bot takes the button and both pass. All think so long that together they make
 * as many moves a second as were asked for.
 *
 * A move's way is from right before the write of a bot's answer to right after the read that brought its opponent's
 * `genmove`. Opponents are known by the game's plies so far; where two games are alike nothing is measured. The first
 * SETTLE seconds after all bots play are not counted. Prints a line when it begins to count, then one JSON object; ways
 * in ms, `busy` is the share of its time in which this program ran, `lost` the number of connections that were lost,
 * and `back` how many seconds after the first of these all bots played again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#ifndef NO_KEYS
#include <sodium.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 16, ROOM = 16384, POINTS = 26 * 26, BUTTON = POINTS - 1, ALIKE = 1 << 16, KNOCKING = 64 };
static const double SETTLE = 5, PLIES = 50;

typedef struct {
    int socket, greeted, told, size, bytes, playing, thinking, port;
    double again;              /* when it dials again, 0 while it has a connection */
    uint64_t plies;            /* a hash of the game so far */
    uint8_t taken[POINTS];     /* points and the button */
    double due;
    char genmove[32];          /* the id of the genmove that it thinks about */
    char colour[8];
    uint8_t in[ROOM];
    int unsent;                /* answers of one read leave in one write, as libzmq has it */
    uint8_t out[4096];
    uint8_t own_public[32], own_secret[32], shared[32]; /* of this connection, and what both ends computed of them */
    uint64_t sealed;           /* boxes so far, the number of the next nonce */
} Bot;

static Bot *bots;
static int count, joined, paired, active, epoll;
static int *heap, heaped;      /* bots that think, the first due on top */
static struct { uint64_t plies; double when; } sent[ALIKE];
static double *ways, began, counted_from = 1e18;
static long moves, measured, room_for, byes, lost;
static int ports[PORTS], places, away; /* `away`: bots without a connection */
static double first_lost, back;
static uint64_t state = 88172645463325252u;
static uint8_t *keys;          /* the content of KEYS */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double chance(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void die(const char *what) {
    fprintf(stderr, "dialled: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void transmit(Bot *bot, const void *data, size_t size) {
    if (send(bot->socket, data, size, MSG_NOSIGNAL) != (ssize_t)size && places == 1) die("send");
}

/* The head of a ZMTP frame; its size. */
static size_t head_of(uint8_t *out, int flags, size_t size) {
    if (size < 256) return out[0] = (uint8_t)flags, out[1] = (uint8_t)size, 2;
    out[0] = (uint8_t)(flags | 2);
    for (int byte = 0; byte < 8; byte++) out[8 - byte] = (uint8_t)(size >> 8 * byte);
    return 9;
}

#ifndef NO_KEYS
/* CurveZMQ: http://rfc.zeromq.org/spec:26. A box is 16 bytes longer than what is in it. */
static void nonce_of(uint8_t nonce[24], const char *prefix, uint64_t number) {
    memcpy(nonce, prefix, 16);
    for (int byte = 0; byte < 8; byte++) nonce[23 - byte] = (uint8_t)(number >> 8 * byte);
}

static size_t seal(Bot *bot, uint8_t *out, int flags, const void *data, size_t size) {
    uint8_t plain[600], nonce[24], body[700] = "\7MESSAGE";
    if (size + 1 > sizeof plain) die("an answer is too long");
    plain[0] = (uint8_t)(flags & 4 ? 2 : flags); /* a command has another flag here */
    memcpy(plain + 1, data, size);
    nonce_of(nonce, "CurveZMQMESSAGEC", bot->sealed++);
    memcpy(body + 8, nonce + 16, 8);
    crypto_box_easy_afternm(body + 16, plain, size + 1, nonce, bot->shared);
    size_t whole = 16 + 16 + size + 1, head = head_of(out, 0, whole);
    memcpy(out + head, body, whole);
    return head + whole;
}

/* What is in a message: flags, then the data; 0: it is none. */
static size_t opened(Bot *bot, uint8_t *plain, const uint8_t *body, size_t size) {
    uint8_t nonce[24];
    if (size < 33 || memcmp(body, "\7MESSAGE", 8)) return 0;
    memcpy(nonce, "CurveZMQMESSAGES", 16);
    memcpy(nonce + 16, body + 8, 8);
    return crypto_box_open_easy_afternm(plain, body + 16, size - 16, nonce, bot->shared) ? 0 : size - 32;
}

static void curve_hello(Bot *bot) {
    uint8_t out[202] = {4, 200}, nonce[24], nothing[64] = {0};
    memcpy(out + 2, "\5HELLO\1\0", 8);
    crypto_box_keypair(bot->own_public, bot->own_secret);
    memcpy(out + 82, bot->own_public, 32);
    nonce_of(nonce, "CurveZMQHELLO---", ++bot->sealed);
    memcpy(out + 114, nonce + 16, 8);
    if (crypto_box_easy(out + 122, nothing, 64, nonce, keys, bot->own_secret)) die("hello");
    bot->sealed++;
    transmit(bot, out, sizeof out);
}

static const char METADATA[] = "\xbSocket-Type\0\0\0\6DEALER";

static void curve_initiate(Bot *bot, const uint8_t *welcome, size_t size) {
    uint8_t nonce[24] = "WELCOME-", plain[128], vouch[64], inside[16 + 112 + sizeof METADATA], out[600];
    const uint8_t *mine = keys + 32 + 64 * (bot - bots);
    if (size != 168 || memcmp(welcome, "\7WELCOME", 8)) die("no welcome: is the key admitted?");
    memcpy(nonce + 8, welcome + 8, 16);
    if (crypto_box_open_easy(plain, welcome + 24, 144, nonce, keys, bot->own_secret)) die("welcome");
    if (crypto_box_beforenm(bot->shared, plain, bot->own_secret)) die("keys");
    memcpy(vouch, bot->own_public, 32);
    memcpy(vouch + 32, keys, 32);
    memcpy(inside, mine, 32);
    memcpy(nonce, "VOUCH---", 8);
    randombytes_buf(nonce + 8, 16);
    memcpy(inside + 32, nonce + 8, 16);
    if (crypto_box_easy(inside + 48, vouch, 64, nonce, plain, mine + 32)) die("vouch");
    memcpy(inside + 128, METADATA, sizeof METADATA - 1);
    size_t whole = 128 + sizeof METADATA - 1, head = head_of(out, 4, 9 + 96 + 8 + 16 + whole);
    memcpy(out + head, "\10INITIATE", 9);
    memcpy(out + head + 9, plain + 32, 96);
    nonce_of(nonce, "CurveZMQINITIATE", bot->sealed++);
    memcpy(out + head + 105, nonce + 16, 8);
    crypto_box_easy_afternm(out + head + 113, inside, whole, nonce, bot->shared);
    transmit(bot, out, head + 113 + 16 + whole);
}
#endif

static size_t frame_of(Bot *bot, uint8_t *out, int flags, const void *data, size_t size) {
#ifndef NO_KEYS
    if (keys) return seal(bot, out, flags, data, size);
#endif
    size_t head = head_of(out, flags, size);
    memcpy(out + head, data, size);
    return head + size + 0 * sizeof *bot;
}

static void flush(Bot *bot) {
    if (bot->unsent) transmit(bot, bot->out, (size_t)bot->unsent);
    bot->unsent = 0;
}

/* One message of two frames. */
static void say(Bot *bot, char kind, const char *payload, size_t size) {
    if (bot->unsent + size + 200 > sizeof bot->out) flush(bot);
    bot->unsent += (int)frame_of(bot, bot->out + bot->unsent, 1, &kind, 1);
    bot->unsent += (int)frame_of(bot, bot->out + bot->unsent, 0, payload, size);
}

static void answer(Bot *bot, const char *id, const char *text) {
    char out[250];
    int size = snprintf(out, sizeof out, "=%s%s%s\n\n", id, *text ? " " : "", text);
    say(bot, 'R', out, (size_t)size);
}

static int point(const char *move) {
    if (!strncmp(move, "button", 6)) return BUTTON;
    if (!strncmp(move, "pass", 4)) return -1;
    return (move[0] - 'A' - (move[0] > 'I')) * 26 + atoi(move + 1) - 1;
}

static void played(Bot *bot, const char *move) {
    int at = point(move);
    if (at >= 0) bot->taken[at] = 1;
    bot->plies = (bot->plies ^ (uint64_t)(at + 2)) * 1099511628211u;
}

static int later(int one, int other) { return bots[heap[one]].due > bots[heap[other]].due; }

static void swap(int one, int other) {
    int was = heap[one];
    heap[one] = heap[other], heap[other] = was;
}

static void think(Bot *bot, double due) {
    bot->due = due;
    bot->thinking = 1;
    heap[heaped] = (int)(bot - bots);
    for (int at = heaped++; at && later((at - 1) / 2, at); at = (at - 1) / 2) swap((at - 1) / 2, at);
}

static Bot *first_due(void) {
    Bot *bot = &bots[heap[0]];
    heap[0] = heap[--heaped];
    for (int at = 0, child; (child = 2 * at + 1) < heaped; at = child) {
        if (child + 1 < heaped && later(child, child + 1)) child++;
        if (!later(at, child)) break;
        swap(at, child);
    }
    return bot;
}

static void move(Bot *bot) {
    char text[16] = "pass";
    if (!bot->thinking) return; /* it has lost the connection that asked */
    bot->thinking = 0;
    if (!bot->taken[BUTTON]) {
        strcpy(text, "button");
        for (int tries = chance() < 1 / PLIES ? 0 : 200; tries; tries--) {
            int column = (int)(chance() * bot->size), row = (int)(chance() * bot->size);
            if ((column + row) % 2 == 0 && !bot->taken[column * 26 + row]) {
                snprintf(text, sizeof text, "%c%d", 'A' + column + (column >= 8), row + 1);
                break;
            }
        }
    }
    played(bot, text);
    size_t at = bot->plies % ALIKE;
    double when = now();
    sent[at].when = sent[at].when && when - sent[at].when < 1 ? -when : when; /* two at a time: not to be told apart */
    sent[at].plies = bot->plies;
    moves += when > counted_from;
    answer(bot, bot->genmove, text);
    flush(bot);
}

static void asked(Bot *bot, char *line, double came, double rate) {
    char id[16] = "";
    size_t digits = strspn(line, "0123456789");
    if (digits && digits < sizeof id && line[digits] == ' ') {
        memcpy(id, line, digits);
        line += digits + 1;
    }
    if (!strncmp(line, "play ", 5)) {
        played(bot, strchr(line + 5, ' ') + 1);
        answer(bot, id, "");
    } else if (!strncmp(line, "genmove ", 8)) {
        size_t at = bot->plies % ALIKE;
        if (sent[at].when > 0 && sent[at].plies == bot->plies && came > counted_from && measured < room_for)
            ways[measured++] = came - sent[at].when;
        sent[at].when = 0;
        strcpy(bot->genmove, id);
        think(bot, came + (0.5 + chance()) * active / 2 / rate);
    } else if (!strncmp(line, "ggp-new ", 8)) {
        const char *size = strstr(line, "size=");
        bot->size = size ? atoi(size + 5) : 9;
        bot->plies = 14695981039346656037u;
        memset(bot->taken, 0, sizeof bot->taken);
        active += !bot->playing;
        paired += !bot->told++;
        bot->playing = 1;
        answer(bot, id, "");
    } else if (!strncmp(line, "ggp-result", 10)) {
        active -= bot->playing;
        bot->playing = 0;
        answer(bot, id, "");
    } else if (!strcmp(line, "list_commands")) {
        joined++;
        answer(bot, id, "name version protocol_version list_commands known_command quit ggp-new ggp-clock ggp-result "
                        "play genmove");
    } else if (!strcmp(line, "protocol_version")) {
        answer(bot, id, "2");
    } else {
        answer(bot, id, !strcmp(line, "name") ? "dialled" : !strcmp(line, "version") ? "1" : "");
    }
}

static void hello(Bot *bot) {
    uint8_t out[64] = "\x83\xa3ggp\x01\xa5games\x90\xa4name\xa8";
    char name[16];
    snprintf(name, sizeof name, "bot-%04d", (int)(bot - bots));
    memcpy(out + 19, name, 8);
    say(bot, 'H', (char *)out, 27);
}

/* One frame, as it was sent. */
static void frame(Bot *bot, const uint8_t *body, size_t size, int flags, double came, double rate) {
    static char kind, line[ROOM];
    if (flags & 4) {
        if (size > 6 && !memcmp(body, "\4PING", 5)) {
            uint8_t pong[64] = "\4PONG", out[200];
            memcpy(pong + 5, body + 7, size - 7);
            flush(bot);
            transmit(bot, out, frame_of(bot, out, 4, pong, size - 2));
        }
    } else if (flags & 1) {
        kind = (char)body[0];
    } else if (kind == 'C') {
        memcpy(line, body, size);
        line[size - 1] = '\0';
        asked(bot, line, came, rate);
    } else if (byes++ == 0) {
        fprintf(stderr, "dialled: let go: %.*s\n", (int)size, body);
    }
}

/* A frame as it came: of the handshake, or with one in it. `greeted`: 1 greeting, 2 handshake, 3 all. */
static void came_frame(Bot *bot, const uint8_t *body, size_t size, int flags, double came, double rate) {
#ifndef NO_KEYS
    static uint8_t plain[ROOM];
    if (keys && bot->greeted < 3) {
        if (bot->greeted++ == 1) curve_initiate(bot, body, size);
        else if (size > 6 && !memcmp(body, "\5READY", 6)) hello(bot);
        else die("not let in");
        return;
    }
    if (keys) {
        if (!(size = opened(bot, plain, body, size))) die("a box does not open");
        flags = plain[0] & 2 ? 4 : plain[0];
        body = plain + 1;
        size--;
    }
#endif
    frame(bot, body, size, flags, came, rate);
}

/* "The greeting shall be 64 octets"; without keys both sides follow it with READY. */
static void greet(Bot *bot) {
    static const uint8_t ready[] = "\4\x1c\5READY\xbSocket-Type\0\0\0\6DEALER";
    bot->greeted = 1;
#ifndef NO_KEYS
    if (keys) {
        curve_hello(bot);
        return;
    }
#endif
    transmit(bot, ready, sizeof ready - 1);
    hello(bot);
}

/* It dials the next port in a moment. */
static void lose(Bot *bot) {
    if (places == 1) die("a connection was lost");
    if (!lost++) first_lost = now();
    close(bot->socket);
    active -= bot->playing, paired -= bot->told > 0, away++;
    bot->greeted = bot->told = bot->bytes = bot->unsent = bot->playing = bot->thinking = 0;
    bot->sealed = 0;
    bot->port = (bot->port + 1) % places;
    bot->again = now() + 0.2 + 0.3 * chance();
}

/* Everything that has come for a bot. */
static void hear(Bot *bot, double rate) {
    if (bot->again) return;
    ssize_t got = read(bot->socket, bot->in + bot->bytes, (size_t)(ROOM - bot->bytes));
    double came = now();
    if (got <= 0) {
        lose(bot);
        return;
    }
    bot->bytes += (int)got;
    size_t at = 0, left = (size_t)bot->bytes;
    if (!bot->greeted) {
        if (left < 64) return;
        greet(bot);
        at = 64;
    }
    while ((left = (size_t)bot->bytes - at) >= 2) {
        const uint8_t *head = bot->in + at;
        size_t big = head[0] & 2 ? 9 : 2, size = 0;
        if (left < big) break;
        for (size_t byte = 1; byte < big; byte++) size = size << 8 | head[byte];
        if (size + big > ROOM) die("a frame is too long");
        if (left < size + big) break;
        came_frame(bot, head + big, size, head[0], came, rate);
        at += size + big;
    }
    flush(bot);
    memmove(bot->in, bot->in + at, (size_t)bot->bytes - at);
    bot->bytes -= (int)at;
}

static void dial(Bot *bot) {
    uint8_t greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL";
    if (keys) memcpy(greeting + 12, "CURVE", 5);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)ports[bot->port])};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bot->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(bot->socket, (struct sockaddr *)&there, sizeof there)) {
        if (places == 1) die("connect");
        close(bot->socket);
        away += !bot->again;
        bot->port = (bot->port + 1) % places;
        bot->again = now() + 0.2 + 0.3 * chance();
        return;
    }
    away -= bot->again > 0;
    bot->again = 0;
    setsockopt(bot->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = bot};
    epoll_ctl(epoll, EPOLL_CTL_ADD, bot->socket, &event);
    transmit(bot, greeting, sizeof greeting);
}

static int by_size(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static double quantile(double share) {
    long at = (long)(share * (double)measured);
    return measured ? ways[at < measured ? at : measured - 1] * 1000 : 0;
}

static double used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv) {
    if (argc < 5 || argc > 6)
        return fprintf(stderr, "usage: dialled PORT[,PORT…] BOTS MOVES_A_SECOND SECONDS [KEYS]\n"), 2;
    double rate = atof(argv[3]), seconds = atof(argv[4]), all_joined = 0, all_paired = 0, used_before = 0, end = 1e18;
    double next_look = 0;
    int dialled = 0;
    count = atoi(argv[2]);
    bots = calloc((size_t)count, sizeof *bots);
    heap = calloc((size_t)count * 8 + 1, sizeof *heap);
    for (char *port = strtok(argv[1], ","); port && places < PORTS; port = strtok(NULL, ",")) ports[places++] = atoi(port);
    room_for = (long)(rate * seconds * 2) + 1000;
    ways = calloc((size_t)room_for, sizeof *ways);
    if (argc > 5) {
        size_t size = 32 + 64 * (size_t)count;
        FILE *file = fopen(argv[5], "rb");
        keys = malloc(size);
        if (!file || fread(keys, 1, size, file) != size) die(argv[5]);
        fclose(file);
    }
    epoll = epoll_create1(0);
    began = now();
    for (double at = began; at < end; at = now()) {
        for (; dialled < count && dialled - joined < KNOCKING * 4; dialled++) {
            bots[dialled].port = dialled % places;
            dial(&bots[dialled]);
        }
        if (away && at > next_look) {
            int knocks = 0;
            for (int each = 0; each < dialled && knocks < KNOCKING; each++)
                if (bots[each].again && bots[each].again <= at) dial(&bots[each]), knocks++;
            next_look = at + 0.05;
        }
        struct epoll_event events[64];
        struct timespec wait = {0, 100000000};
        if (heaped) {
            double until = bots[heap[0]].due - at;
            wait.tv_nsec = until <= 0 ? 0 : until >= 0.1 ? 100000000 : (long)(until * 1e9);
        }
        int some = epoll_pwait2(epoll, events, 64, &wait, NULL);
        for (int each = 0; each < some; each++) hear(events[each].data.ptr, rate);
        while (heaped && bots[heap[0]].due <= now()) move(first_due());
        if (!all_joined && joined == count) all_joined = now() - began;
        if (!all_paired && paired == count) {
            all_paired = now() - began;
            counted_from = now() + SETTLE;
            end = counted_from + seconds;
        }
        if (lost && !back && !away && paired == count) back = now() - first_lost;
        if (!used_before && now() > counted_from) {
            used_before = used();
            puts("counting");
            fflush(stdout);
        }
        if (now() - began > 300 + seconds) die("not all bots play after five minutes");
    }
    double busy = (used() - used_before) / seconds;
    qsort(ways, (size_t)measured, sizeof *ways, by_size);
    printf("{\"joined\": %.3f, \"paired\": %.3f, \"moves\": %.1f, \"measured\": %ld, \"p50\": %.4f, \"p90\": %.4f, "
           "\"p99\": %.4f, \"most\": %.4f, \"byes\": %ld, \"busy\": %.3f, \"lost\": %ld, \"back\": %.3f}\n",
           all_joined, all_paired, (double)moves / seconds, measured, quantile(0.5), quantile(0.9), quantile(0.99),
           quantile(1), byes, busy, lost, back);
    return 0;
}
