/* A bot that answers at once: it plays a game from a file, a move a line, whichever seat it holds.
 * Native and plain; for measuring the referee, so it does nothing else.
 *     cc -O2 -o instant instant.c && ./instant game.moves [START_DELAY_MS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, LONGEST = 64 };
static char moves[MOST][LONGEST];

static void answer(const char *id, const char *text) {
    char out[256];
    int n = snprintf(out, sizeof out, "=%s%s%s\n\n", id, *text ? " " : "", text);
    for (int done = 0; done < n;) {
        ssize_t wrote = write(1, out + done, (size_t)(n - done));
        if (wrote < 0) exit(1);
        done += (int)wrote;
    }
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
        if (!strncmp(word, "play ", 5)) {
            ply++;
            answer(id, "");
        } else if (!strncmp(word, "genmove ", 8)) {
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
