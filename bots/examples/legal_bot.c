/* A whole bot in one C file: it plays any legal move, in every game that an engine knows. It needs POSIX, no library.
 *
 *     build    cc -O2 -o legal_bot bots/examples/legal_bot.c
 *     run      ./legal_bot ggp engine
 *     match    ggp match yugo ./legal_bot random
 *
 * It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
 * passes on what it receives, and draws one of the moves that the engine lists. Replace choose() by something better.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 65536, WORDS = LONGEST / 2 + 1 };                 /* bytes of a line without its end; its words */

static const char *commands[] = {"genmove", "ggp-games", "ggp-new", "known_command", "list_commands", "name", "play",
                                 "protocol_version", "quit", "version"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that. */
static char *choose(char **moves, int count)
{
    return moves[rand() % count];
}

/* ---------------------------------------------------------------- the engine */

static FILE *to, *from;
static pid_t engine;
static char *text;                       /* of its last answer, without the mark; the lines of it in one */
static size_t room;

/* It ends when its input does, so it never outlives the bot. */
static void start(char **command)
{
    int in[2], out[2];
    if (pipe(in) || pipe(out) || (engine = fork()) < 0) { perror("legal_bot"); exit(1); }
    if (engine == 0) {
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
    while ((more = getline(&line, &line_room, from)) > 0 && strcmp(line, "\n")) {
        if (length + (size_t)more >= room && !(text = realloc(text, room = 2 * (length + (size_t)more)))) exit(1);
        memcpy(text + length, line, (size_t)more);
        length += (size_t)more;
    }
    if (more <= 0 || !length) { fprintf(stderr, "the engine ended\n"); exit(1); }
    text[length - 1] = 0;
    int done = text[0] == '=';
    memmove(text, text + 1 + (text[1] == ' '), length - 1 - (text[1] == ' '));
    return done;
}

/* Ask it `name` and the words. */
static int ask(const char *name, int count, char **words)
{
    fputs(name, to);
    for (int i = 0; i < count; i++) fprintf(to, " %s", words[i]);
    return heard();
}

/* ---------------------------------------------------------------- the conversation */

static const char *id;                   /* of the command being answered, "" if it had none */

static void answer(int done, const char *said)
{
    printf("%c%s%s%s\n\n", done ? '=' : '?', id, *said ? " " : "", said);
    fflush(stdout);
}

/* Cut the text into words: how many; `words` point into it. */
static int split(char *line, char **words)
{
    int count = 0;
    for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n")) words[count++] = word;
    return count;
}

static void genmove(int count, char **words)
{
    if (!ask("ggp-legal_moves", 0, NULL)) { answer(0, text); return; }
    size_t most = strlen(text) / 2 + 1;
    char *list = strdup(text), **moves = malloc(most * sizeof *moves);
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
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i], name)) return 1;
    return 0;
}

static const char *list_of_commands(void)
{
    static char list[256];
    *list = 0;
    for (int i = 0; i < COMMANDS; i++) strcat(strcat(list, i ? "\n" : ""), commands[i]);
    return list;
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
    line[strcspn(line, "#")] = 0;
    int count = split(line, words);
    id = "";
    if (count > 1 && is_id(*words)) id = *words++, count--;
    if (!count) return 1;
    const char *name = *words++;
    count--;
    if (!is_command(name)) answer(0, "unknown command");
    else if (!strcmp(name, "name")) answer(1, "Legal bot in C");
    else if (!strcmp(name, "version")) answer(1, "1");
    else if (!strcmp(name, "protocol_version")) answer(1, "2");
    else if (!strcmp(name, "list_commands")) answer(1, list_of_commands());
    else if (!strcmp(name, "known_command")) answer(1, count && is_command(*words) ? "true" : "false");
    else if (!strcmp(name, "genmove")) genmove(count, words);
    else if (!strcmp(name, "ggp-games")) { int done = ask(name, 0, NULL); answer(done, text); }
    else if (!strcmp(name, "ggp-new")) { int done = ask(name, count, words); answer(done, done ? "" : text); }
    else if (!strcmp(name, "play")) { int done = ask("ggp-play", count, words); answer(done, done ? "" : text); }
    else answer(1, "");
    return strcmp(name, "quit") != 0;
}

int main(int argc, char **argv)
{
    static char line[LONGEST + 1];
    char *usual[] = {"ggp", "engine", NULL};
    int length = 0, going = 1, c;
    srand((unsigned)time(NULL) ^ (unsigned)getpid() << 16);
    start(argc > 1 ? argv + 1 : usual);
    while (going && (c = getchar()) != EOF) {
        if (c == '\n') {
            line[length <= LONGEST ? length : 0] = 0;
            if (length > LONGEST) { id = ""; answer(0, "line too long"); }
            else going = obey(line);
            length = 0;
        } else if (length <= LONGEST && (c == '\t' || (c >= 32 && c != 127))) {        /* no control characters */
            if (length < LONGEST) line[length] = (char)c;
            length++;
        }
    }
    fclose(to);
    waitpid(engine, NULL, 0);
    return 0;
}
