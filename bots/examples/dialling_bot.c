/* Dials out to a lobby without a line of the project: one C file that needs POSIX and libzmq (4.2 or newer).
 *
 *     cc -O2 -o dialling_bot bots/examples/dialling_bot.c -lzmq
 *     ./dialling_bot tcp://127.0.0.1:7711 mybot ggp engine
 *
 * With keys: GGP_PUBLIC, GGP_SECRET and GGP_SERVER in the environment, 40 characters each (ggp keys new). It starts the
 * engine of the command line, passes on what it receives, and plays one of the moves that the engine lists: replace
 * choose() by something better. A message is two frames, a kind and a payload: we say H (hello, a map of msgpack),
 * R (an answer), E (a line for the author and the record) and B (bye); the lobby says C (a command) and B. When the
 * connection is lost we say hello again on a new socket, and the lobby sends the position again.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { LONGEST = 65537, WORDS = LONGEST / 2 + 1 };                     /* bytes of a line with its end; its words */
enum { NAME = 64, GAMES = 64 };                                        /* characters of a name, names in a hello */

static const char commands[] =
    "genmove\nggp-games\nggp-new\nknown_command\nlist_commands\nname\nplay\nprotocol_version\nquit\nversion";

/* One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that. */
static char *choose(char **moves, int count)
{
    return moves[rand() % count];
}

static void die(const char *what)
{
    fprintf(stderr, "dialling_bot: %s\n", what);
    exit(1);
}

static int split(char *line, char **words)
{
    int count = 0;
    for (char *word = strtok(line, " \t\n"); word && count < WORDS; word = strtok(NULL, " \t\n")) words[count++] = word;
    return count;
}

/* ---------------------------------------------------------------- the engine */

static FILE *to, *from;
static char *text;                       /* of its last answer, without the mark; the lines of it in one */
static size_t room;

/* It ends when its input does, so it never outlives the bot. */
static void start(char **command)
{
    int in[2], out[2];
    pid_t engine;
    if (pipe(in) || pipe(out) || (engine = fork()) < 0) die(strerror(errno));
    if (engine == 0) {
        setpgid(0, 0);                   /* Ctrl-C is for the bot, which says goodbye first */
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    signal(SIGPIPE, SIG_IGN);            /* an engine that is gone is noticed when we read */
    to = fdopen(in[1], "w"), from = fdopen(out[0], "r");
}

/* Whether the engine could obey what was written to `to`; `text` becomes its answer, which an empty line ends. */
static int heard(void)
{
    static char *line;
    static size_t line_room;
    size_t length = 0;
    ssize_t more;
    fputc('\n', to), fflush(to);
    for (;;) {
        if ((more = getline(&line, &line_room, from)) <= 0) die("the engine ended");
        if (!strcmp(line, "\n")) break;
        size_t now = length + (size_t)more;
        if (now >= room && !(text = realloc(text, room = 2 * now))) die("no memory");
        memcpy(text + length, line, (size_t)more);
        length = now;
    }
    if (!length) die("the engine answered nothing");
    text[length - 1] = 0;
    int done = text[0] == '=', from_here = 1 + (text[1] == ' ');
    memmove(text, text + from_here, length - (size_t)from_here);
    return done;
}

static int ask(const char *name, int count, char **words)
{
    fputs(name, to);
    for (int i = 0; i < count; i++) fprintf(to, " %s", words[i]);
    return heard();
}

/* ---------------------------------------------------------------- the connection */

static void *context, *lobby, *news;     /* `news`: what happens to the connection */
static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void say(const char *kind, const void *payload, size_t length)
{
    if (zmq_send(lobby, kind, 1, ZMQ_SNDMORE | ZMQ_DONTWAIT) > 0)       /* else the connection is lost: the      */
        zmq_send(lobby, payload, length, ZMQ_DONTWAIT);                 /* payload has no receiver                */
}

/* A log line: here, and at the lobby, which keeps the last ones with a fault's record. */
static void log_line(const char *line)
{
    fprintf(stderr, "%s\n", line);
    say("E", line, strlen(line));
}

static unsigned char *put_text(unsigned char *at, const char *word)
{
    size_t length = strlen(word);
    *at++ = 0xd9;                        /* msgpack: a text of up to 255 bytes */
    *at++ = (unsigned char)length;
    memcpy(at, word, length);
    return at + length;
}

/* The map {"ggp": 1, "name": NAME, "games": [...], "session": what no other process says}. */
static void say_hello(const char *name, char **games, int count, const char *session)
{
    static unsigned char hello[GAMES * (NAME + 2) + 512];
    unsigned char *at = hello;
    *at++ = 0x84;                        /* a map of four */
    at = put_text(at, "ggp");
    *at++ = 1;
    at = put_text(put_text(at, "name"), name);
    at = put_text(at, "games");
    *at++ = 0xdc, *at++ = 0, *at++ = (unsigned char)count;                       /* a list of up to 65535 */
    for (int i = 0; i < count; i++) at = put_text(at, games[i]);
    at = put_text(put_text(at, "session"), session);
    say("H", hello, (size_t)(at - hello));
}

static void set(int option, int value)
{
    zmq_setsockopt(lobby, option, &value, sizeof value);
}

/* A new socket; what was said on the last one is forgotten. */
static void dial(const char *url)
{
    const char *server = getenv("GGP_SERVER"), *public = getenv("GGP_PUBLIC"), *secret = getenv("GGP_SECRET");
    lobby = zmq_socket(context, ZMQ_DEALER);
    set(ZMQ_LINGER, 500);
    set(ZMQ_RECONNECT_IVL, -1);          /* a connection that is lost is not another one */
    set(ZMQ_HEARTBEAT_IVL, 5000);        /* so that both sides notice one that is dead */
    set(ZMQ_HEARTBEAT_TIMEOUT, 15000);
    if (server && (zmq_setsockopt(lobby, ZMQ_CURVE_SERVERKEY, server, 41)
                   || zmq_setsockopt(lobby, ZMQ_CURVE_PUBLICKEY, public ? public : "", 41)
                   || zmq_setsockopt(lobby, ZMQ_CURVE_SECRETKEY, secret ? secret : "", 41)))
        die("GGP_SERVER, GGP_PUBLIC and GGP_SECRET are 40 characters each");
    zmq_socket_monitor(lobby, "inproc://news", ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED
                       | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
                       | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    news = zmq_socket(context, ZMQ_PAIR);
    zmq_connect(news, "inproc://news");
    if (zmq_connect(lobby, url)) die("write tcp://HOST:PORT");
}

static void hang_up(void)
{
    zmq_socket_monitor(lobby, NULL, 0);
    zmq_close(news);
    zmq_close(lobby);
}

/* ---------------------------------------------------------------- the conversation */

static const char *id;                   /* of the command being answered, "" if it had none */

static void answer(int done, const char *said)
{
    static char *whole;
    size_t length = strlen(said) + strlen(id) + 5;
    if (!(whole = realloc(whole, length))) die("no memory");
    snprintf(whole, length, "%c%s%s%s\n\n", done ? '=' : '?', id, *said ? " " : "", said);
    say("R", whole, strlen(whole));
}

static void genmove(int count, char **words)
{
    if (!ask("ggp-legal_moves", 0, NULL)) { answer(0, text); return; }
    char *list = strdup(text), **moves = malloc((strlen(text) / 2 + 1) * sizeof *moves);
    int found = list && moves ? split(list, moves) : 0;
    if (!found) answer(1, "pass");       /* the game is over */
    else {
        char *move = choose(moves, found);
        fputs("ggp-play", to);
        for (int i = 0; i < count; i++) fprintf(to, " %s", words[i]);
        fprintf(to, " %s", move);
        int done = heard();              /* our own move is not sent to us, so the engine gets it here */
        answer(done, done ? move : text);
    }
    free(list), free(moves);
}

static int is_command(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = commands; at && length; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == '\n' || !at[length])) return 1;
    return 0;
}

static int is_id(const char *word)
{
    size_t length = strlen(word);
    return length <= 10 && strspn(word, "0123456789") == length && atoll(word) <= 2147483647;
}

/* One line: `[id] name [arguments]`. Returns 0 after `quit`. */
static int obey(char *line)
{
    static char *all[WORDS];
    char **words = all;
    int count = split(line, words);
    id = "";
    if (count > 1 && is_id(*words)) id = *words++, count--;
    if (!count) return 1;
    const char *name = *words++;
    count--;
    if (!is_command(name)) answer(0, "unknown command");
    else if (!strcmp(name, "name")) answer(1, "Dialling bot in C");
    else if (!strcmp(name, "version")) answer(1, "1");
    else if (!strcmp(name, "protocol_version")) answer(1, "2");
    else if (!strcmp(name, "list_commands")) answer(1, commands);
    else if (!strcmp(name, "known_command")) answer(1, count && is_command(*words) ? "true" : "false");
    else if (!strcmp(name, "genmove")) genmove(count, words);
    else if (!strcmp(name, "ggp-games")) { int done = ask(name, 0, NULL); answer(done, text); }
    else if (!strcmp(name, "ggp-new")) { int done = ask(name, count, words); answer(done, done ? "" : text); }
    else if (!strcmp(name, "play")) { int done = ask("ggp-play", count, words); answer(done, done ? "" : text); }
    else answer(1, "");
    return strcmp(name, "quit") != 0;
}

/* Answer until the connection is lost, or the lobby says goodbye (1), or we are to end (0). */
static int serve(void)
{
    static char line[LONGEST + 1];
    zmq_pollitem_t items[] = {{lobby, 0, ZMQ_POLLIN, 0}, {news, 0, ZMQ_POLLIN, 0}};
    for (;;) {
        int ready = zmq_poll(items, 2, 1000);
        if (stopped) { say("B", "its author ended it", 19); return 0; }
        if (ready <= 0) continue;        /* nothing yet, or a signal */
        if (items[0].revents & ZMQ_POLLIN) {
            char kind = 0;
            zmq_recv(lobby, &kind, 1, 0);
            int length = zmq_recv(lobby, line, LONGEST, 0);
            if (length < 0) continue;
            line[length < LONGEST ? length : LONGEST] = 0;
            if (kind == 'C' && !obey(line)) { say("B", "it received quit", 16); return 0; }
            if (kind == 'B') {
                fprintf(stderr, "the lobby said goodbye: %s\n", line);
                return strncmp(line, "replaced", 8) != 0;      /* another connection of this bot has its place */
            }
        } else if (items[1].revents & ZMQ_POLLIN) {
            fprintf(stderr, "the connection was lost, or not made: is the lobby up, and are the keys right?\n");
            return 1;
        }
    }
}

int main(int argc, char **argv)
{
    static char *games[WORDS];
    char *usual[] = {"ggp", "engine", NULL}, session[32];
    struct sigaction action = {.sa_handler = stop};
    if (argc < 3 || strlen(argv[2]) > NAME) die("usage: dialling_bot tcp://HOST:PORT NAME [ENGINE …]");
    srand((unsigned)time(NULL) ^ (unsigned)getpid() << 16);
    start(argc > 3 ? argv + 3 : usual);
    snprintf(session, sizeof session, "%08x%08x", (unsigned)rand(), (unsigned)getpid());
    if (!ask("ggp-games", 0, NULL)) die("the engine knows no ggp-games");
    int count = split(strdup(text), games);
    sigaction(SIGTERM, &action, NULL), sigaction(SIGINT, &action, NULL);
    context = zmq_ctx_new();
    for (unsigned wait = 1, again = 1; again; wait = wait < 32 ? 2 * wait : 60) {
        time_t began = time(NULL);
        dial(argv[1]);
        say_hello(argv[2], games, count < GAMES ? count : GAMES, session);
        log_line("I play at random");
        again = (unsigned)serve();
        hang_up();
        if (time(NULL) - began > 60) wait = 1;
        if (again && !stopped) sleep(wait);
        again = again && !stopped;
    }
    zmq_ctx_term(context);
    fclose(to);
    return 0;
}
