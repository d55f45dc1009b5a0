/* A whole bot in one C file: it plays yugo at random, but does not fill its own one-point territory.
 *
 *     cc -O2 -o first_bot first_bot.c
 *     ggp match yugo ./first_bot random
 *
 * It answers the native commands (it lists `ggp-new`) and keeps its own board. Replace choose() by something
 * better: that is all there is to writing a bot. The rules in short: a pawn may go where no group becomes
 * surrounded and none is freed; a king goes where an enemy group becomes surrounded, and then the pawns of
 * surrounded groups leave the board, the enemy's first. The button must be taken before anybody may pass.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST = 25, WIDTH = LARGEST + 2, AREA = WIDTH * WIDTH, MOVE = 16, LINE = 65536 };
enum { EMPTY, BLACK = 1, WHITE = 2, COLOUR = 3, KING = 4, EDGE = 8 };      /* a piece is colour, or colour | KING */

static const int steps[4] = {1, -1, WIDTH, -WIDTH};
static const char letters[] = "ABCDEFGHJKLMNOPQRSTUVWXYZ";                 /* no I */

static int size = 9, handicap, agreement, ply, button_taken, passes, dead_lists, dead_named;
static unsigned char board[AREA];                                          /* framed by EDGE, so neighbours exist */

/* ---------------------------------------------------------------- the rules */

static void mark_group(int point, int marks[AREA], int mark)
{
    marks[point] = mark;
    for (int i = 0; i < 4; i++) {
        int next = point + steps[i];
        if ((board[next] & COLOUR) == (board[point] & COLOUR) && !marks[next])
            mark_group(next, marks, mark);
    }
}

/* The number of surrounded groups of a colour; marks[point] tells the group of each piece (1..), liberty[group] if
 * it has one. */
static int surrounded(int colour, int marks[AREA], char liberty[AREA])
{
    int groups = 0, count = 0;
    memset(marks, 0, AREA * sizeof *marks);
    for (int point = 0; point < AREA; point++)
        if ((board[point] & COLOUR) == colour && !marks[point]) {
            liberty[++groups] = 0;
            mark_group(point, marks, groups);
        }
    for (int point = 0; point < AREA; point++)
        for (int i = 0; marks[point] && i < 4; i++)
            if (board[point + steps[i]] == EMPTY) liberty[marks[point]] = 1;
    for (int group = 1; group <= groups; group++) count += !liberty[group];
    return count;
}

static int count_surrounded(int colour)
{
    static int marks[AREA];
    static char liberty[AREA];
    return surrounded(colour, marks, liberty);
}

static void remove_pawns(int colour)
{
    static int marks[AREA];
    static char liberty[AREA];
    surrounded(colour, marks, liberty);
    for (int point = 0; point < AREA; point++)
        if (marks[point] && !liberty[marks[point]] && !(board[point] & KING)) board[point] = EMPTY;
}

/* Put a piece of `colour` on an empty point if that is legal, else leave the board alone and return 0. */
static int put(int colour, int point)
{
    int own = count_surrounded(colour), enemy = count_surrounded(COLOUR - colour);
    board[point] = (unsigned char)colour;
    int enemy_now = count_surrounded(COLOUR - colour);
    if (enemy_now > enemy && ply >= handicap) {
        board[point] |= KING;
        remove_pawns(COLOUR - colour);
        remove_pawns(colour);
        return 1;
    }
    if (own + enemy == count_surrounded(colour) + enemy_now) return 1;
    board[point] = EMPTY;
    return 0;
}

static void new_game(void)
{
    memset(board, EDGE, sizeof board);
    for (int row = 1; row <= size; row++) memset(board + row * WIDTH + 1, EMPTY, (size_t)size);
    ply = button_taken = passes = dead_lists = dead_named = 0;
}

/* ---------------------------------------------------------------- the bot */

static int is_own_eye(int colour, int point)
{
    for (int i = 0; i < 4; i++)
        if (board[point + steps[i]] != EDGE && (board[point + steps[i]] & COLOUR) != colour) return 0;
    return 1;
}

/* A random legal point that is no own eye; then the button, then passes. When dead groups are asked for, none. */
static void choose(int colour, char move[MOVE])
{
    int points[AREA], count = 0;
    if (passes >= 2) { strcpy(move, agreement ? "dead:" : "pass"); return; }
    for (int point = 0; point < AREA; point++)
        if (board[point] == EMPTY) points[count++] = point;
    while (count) {
        int i = rand() % count, point = points[i];
        points[i] = points[--count];
        if ((!is_own_eye(colour, point) || ply < handicap) && put(colour, point)) {
            snprintf(move, MOVE, "%c%d", letters[point % WIDTH - 1], point / WIDTH);
            return;
        }
    }
    strcpy(move, button_taken ? "pass" : "button");
}

/* Count a ply that was played, as far as it is more than a piece on the board. */
static void note(const char *move)
{
    ply++;
    if (!strcmp(move, "button")) button_taken = 1;
    if (!strncmp(move, "dead:", 5)) {                 /* one of the two lists is ours, which names nothing: */
        dead_named |= move[5] != 0;                   /* are they equal, the game is over, else it goes on     */
        if (++dead_lists == 2) { agreement = 0; if (dead_named) passes = 0; }
    } else passes = strcmp(move, "pass") ? 0 : passes + 1;
}

/* "D4" in lower case -> a point of the board, or 0. */
static int parse_point(const char *move)
{
    const char *letter = *move ? strchr(letters, toupper((unsigned char)*move)) : NULL;
    int column = letter ? (int)(letter - letters) + 1 : 0, row = atoi(move + (*move != 0));
    return column >= 1 && column <= size && row >= 1 && row <= size ? row * WIDTH + column : 0;
}

/* ---------------------------------------------------------------- the conversation */

static const char commands[] =
    "genmove\nggp-games\nggp-new\nknown_command\nlist_commands\nname\nplay\nprotocol_version\nquit\nversion";

static char id[16];                                    /* of the command being answered, "" if it had none */

static void answer(char sign, const char *text)
{
    printf("%c%s%s%s\n\n", sign, id, *text ? " " : "", text);
    fflush(stdout);
}

static int is_command(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = commands; at && length; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, name, length) && (at[length] == '\n' || !at[length])) return 1;
    return 0;
}

static void ggp_new(int count, char **words)
{
    int new_size = 9, new_handicap = 0, new_agreement = 0;
    if (count < 2 || strcmp(words[1], "yugo")) { answer('?', "this bot plays yugo"); return; }
    for (int i = 2; i < count; i++) {
        if (!strncmp(words[i], "size=", 5)) new_size = atoi(words[i] + 5);
        else if (!strncmp(words[i], "handicap=", 9)) new_handicap = atoi(words[i] + 9);
        else if (!strncmp(words[i], "agreement=", 10)) new_agreement = !strcmp(words[i] + 10, "on");
        else if (strncmp(words[i], "komi=", 5)) { answer('?', "unknown option"); return; }
    }
    if (new_size < 2 || new_size > LARGEST) { answer('?', "unacceptable size"); return; }
    size = new_size, handicap = new_handicap, agreement = new_agreement;
    new_game();
    answer('=', "");
}

static void play(int count, char **words)
{
    if (count < 3) { answer('?', "usage: play COLOUR MOVE"); return; }
    char *move = words[2], *name = words[1];
    for (char *c = move; *c; c++) *c = (char)tolower((unsigned char)*c);
    for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
    int colour = !strcmp(name, "b") || !strcmp(name, "black") ? BLACK : WHITE;
    if (colour == WHITE && strcmp(name, "w") && strcmp(name, "white")) { answer('?', "no such colour"); return; }
    if (strcmp(move, "pass") && strcmp(move, "button") && strncmp(move, "dead:", 5)) {
        int point = parse_point(move);
        if (!point || board[point] != EMPTY || !put(colour, point)) { answer('?', "illegal move"); return; }
    }
    note(move);
    answer('=', "");
}

static void genmove(int count, char **words)
{
    char move[MOVE];
    if (count < 2) { answer('?', "usage: genmove COLOUR"); return; }
    choose(tolower((unsigned char)*words[1]) == 'b' ? BLACK : WHITE, move);
    note(move);
    answer('=', move);
}

/* One line: `[id] name [arguments]`. Returns 0 after `quit`. */
static int obey(char *line)
{
    char *words[32];
    int count = 0;
    line[strcspn(line, "#")] = 0;
    for (char *word = strtok(line, " \t"); word && count < 32; word = strtok(NULL, " \t")) words[count++] = word;
    *id = 0;
    if (count > 1 && strspn(words[0], "0123456789") == strlen(words[0]) && strlen(words[0]) < sizeof id
        && atoll(words[0]) <= 2147483647) {
        strcpy(id, words[0]);
        memmove(words, words + 1, (size_t)--count * sizeof *words);
    }
    if (count == 0) return 1;
    if (!is_command(words[0])) answer('?', "unknown command");
    else if (!strcmp(words[0], "name")) answer('=', "First bot in C");
    else if (!strcmp(words[0], "version")) answer('=', "1");
    else if (!strcmp(words[0], "protocol_version")) answer('=', "2");
    else if (!strcmp(words[0], "list_commands")) answer('=', commands);
    else if (!strcmp(words[0], "known_command")) answer('=', count > 1 && is_command(words[1]) ? "true" : "false");
    else if (!strcmp(words[0], "ggp-games")) answer('=', "yugo");
    else if (!strcmp(words[0], "ggp-new")) ggp_new(count, words);
    else if (!strcmp(words[0], "play")) play(count, words);
    else if (!strcmp(words[0], "genmove")) genmove(count, words);
    else answer('=', "");
    return strcmp(words[0], "quit") != 0;
}

int main(int argc, char **argv)
{
    static char line[LINE + 1];
    int length = 0, going = 1, c;
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL));                  /* an argument is a seed */
    new_game();
    while (going && (c = getchar()) != EOF) {
        if (c == '\n') {
            line[length < LINE ? length : LINE] = 0;
            if (length > LINE) { *id = 0; answer('?', "line too long"); }
            else going = obey(line);
            length = 0;
        } else if (length <= LINE && (c == '\t' || (c >= 32 && c != 127))) {              /* no control characters */
            if (length < LINE) line[length] = (char)c;
            length++;
        }
    }
    return 0;
}
