/* A bot that answers at once: it plays a game from a file, a move a line, whichever seat it holds. It speaks our protocol,
 * GTP and UCI.
 * Native and plain; for measuring the referee and other match runners, so it does nothing else. With INSTANT_TIMES in its
 * environment it adds a line to that file at its end: when it was asked for its first and last move, and how many.
 *     cc -O2 -o instant instant.c && ./instant game.moves [START_DELAY_MS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, LONGEST = 64 };
static char moves[MOST][LONGEST];
static double first, last;
static long asked;

static void count_question(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    last = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (!asked++) first = last;
}

static void tell_times(void) {
    const char *path = getenv("INSTANT_TIMES");
    FILE *file = path && asked ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%.9f %.9f %ld\n", first, last, asked);
    fclose(file);
}

static void answer(const char *id, const char *text) {
    char out[256];
    int n = snprintf(out, sizeof out, "=%s%s%s\n\n", id, *text ? " " : "", text);
    for (int done = 0; done < n;) {
        ssize_t wrote = write(1, out + done, (size_t)(n - done));
        if (wrote < 0) exit(1);
        done += (int)wrote;
    }
}

static void say(const char *line) {
    printf("%s\n", line);
    fflush(stdout);
}

/* A command of UCI, after which there is no answer by our protocol. */
static int is_uci(char *word, const char *move) {
    char line[LONGEST + 16];
    if (!strcmp(word, "uci"))
        say("id name instant\nuciok");
    else if (!strcmp(word, "isready"))
        say("readyok");
    else if (!strncmp(word, "go ", 3) || !strcmp(word, "go")) {
        count_question();
        snprintf(line, sizeof line, "bestmove %s", move);
        say(line);
    } else
        return !strcmp(word, "ucinewgame") || !strncmp(word, "setoption ", 10) || !strcmp(word, "stop");
    return 1;
}

/* Which ply is next after `position startpos moves …`. */
static int count_moves(char *word) {
    char *at = strstr(word, " moves ");
    int count = 0;
    for (at = at ? at + 6 : NULL; at; at = strchr(at + 1, ' ')) count++;
    return count;
}

int main(int argc, char **argv) {
    char line[70000], id[16];
    int count = 0, ply = 0;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: instant GAME.MOVES [START_DELAY_MS]\n");
        return 2;
    }
    while (count < MOST && fgets(moves[count], LONGEST, file)) {
        moves[count][strcspn(moves[count], "\n")] = '\0';
        count++;
    }
    fclose(file);
    if (argc > 2) usleep((useconds_t)atoi(argv[2]) * 1000);
    atexit(tell_times);
    while (fgets(line, sizeof line, stdin)) {
        char *word = line;
        size_t digits = strspn(word, "0123456789");
        id[0] = '\0';
        if (digits && digits < sizeof id && word[digits] == ' ') {
            memcpy(id, word, digits);
            id[digits] = '\0';
            word += digits + 1;
        }
        word[strcspn(word, "\n")] = '\0';
        if (!strncmp(word, "position ", 9)) {
            ply = count_moves(word);
        } else if (is_uci(word, ply < count ? moves[ply] : "0000")) {
            continue;
        } else if (!strncmp(word, "play ", 5)) {
            ply++;
            answer(id, "");
        } else if (!strncmp(word, "genmove ", 8)) {
            count_question();
            answer(id, ply < count ? moves[ply] : "pass");
            ply++;
        } else if (!strncmp(word, "ggp-new", 7) || !strcmp(word, "clear_board")) {
            ply = 0;
            answer(id, "");
        } else if (!strcmp(word, "protocol_version")) {
            answer(id, "2");
        } else if (!strcmp(word, "name")) {
            answer(id, "instant");
        } else if (!strcmp(word, "version")) {
            answer(id, "1");
        } else if (!strcmp(word, "list_commands")) {
            answer(id, "name version protocol_version list_commands known_command quit ggp-new play genmove");
        } else if (!strcmp(word, "known_command ggp-new")) {
            answer(id, "true");
        } else if (!strncmp(word, "boardsize ", 10) || !strncmp(word, "komi ", 5)) {
            answer(id, "");
        } else if (!strcmp(word, "quit")) {
            answer(id, "");
            return 0;
        } else {
            printf("?%s unknown command\n\n", id);
            fflush(stdout);
        }
    }
    return 0;
}
