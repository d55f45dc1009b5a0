/* A rules engine for hexapawn: one C file with exactly the commands a foreign engine must answer, and no more.
 *
 *     cc -O2 -o hexapawn hexapawn.c
 *     ggp match --engine ./hexapawn hexapawn BOT BOT
 *
 * It knows the rules and chooses no move. The rules (M. Gardner, 1962): a board of size x size, black pawns on the
 * first row, white pawns on the last; black moves first. A pawn steps one point straight ahead on to an empty point,
 * or takes an enemy pawn one point diagonally ahead. Who reaches the far row wins; who cannot move has lost.
 * A move names the two points: A1A2. There is no pass and no draw.
 *
 * The numbers in brackets are the framing rules of the protocol (docs/reference).
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 3, LARGEST = 8, LINE_LIMIT = 65536, WORDS = 16, MOVES = 3 * LARGEST * LARGEST };

typedef struct { char text[5]; } Move;

static int size;                                 /* 0: no game yet */
static char board[LARGEST][LARGEST];             /* [row][column] from A1: 'b', 'w' or 0 */
static int ply;                                  /* black moves at the even ones; seat 1 holds black throughout */
static int winner;                               /* seat 1 or 2; 0: not over */
static Move history[MOVES];                      /* a pawn makes at most size - 1 steps, so this is plenty */

static const char *const commands[] = {
    "ggp-games", "ggp-history", "ggp-legal_moves", "ggp-new", "ggp-options", "ggp-play", "ggp-status",
    "ggp-version", "known_command", "list_commands", "name", "protocol_version", "quit", "version", NULL};

/* ---------------------------------------------------------------- the rules */

static char side(void) { return ply % 2 ? 'w' : 'b'; }

static int on_board(int row, int column) { return row >= 0 && row < size && column >= 0 && column < size; }

/* What the side to move may do from one point: 0 nothing, 1 yes; `aside` is -1, 0 or 1 column. */
static int may_step(int row, int column, int aside)
{
    int forward = side() == 'b' ? row + 1 : row - 1;
    if (board[row][column] != side() || !on_board(forward, column + aside)) return 0;
    char target = board[forward][column + aside];
    return aside ? target && target != side() : !target;
}

/* All legal moves of the side to move; columns, then rows, then targets ascend, so the texts are sorted bytewise. */
static int legal_moves(Move moves[MOVES])
{
    int count = 0;
    if (winner) return 0;
    for (int column = 0; column < size; column++)
        for (int row = 0; row < size; row++)
            for (int aside = -1; aside <= 1; aside++)
                if (may_step(row, column, aside)) {
                    char *text = moves[count++].text;
                    text[0] = (char)('A' + column);
                    text[1] = (char)('1' + row);
                    text[2] = (char)('A' + column + aside);
                    text[3] = (char)('1' + row + (side() == 'b' ? 1 : -1));
                    text[4] = 0;
                }
    return count;
}

static void new_game(int new_size)
{
    size = new_size;
    memset(board, 0, sizeof board);
    memset(board[0], 'b', (size_t)size);
    memset(board[size - 1], 'w', (size_t)size);
    ply = winner = 0;
}

static void make_move(const Move *move)
{
    int to_row = move->text[3] - '1';
    Move unused[MOVES];
    board[to_row][move->text[2] - 'A'] = side();
    board[move->text[1] - '1'][move->text[0] - 'A'] = 0;
    history[ply] = *move;
    int mover = 1 + ply % 2;
    ply++;
    if (to_row == 0 || to_row == size - 1 || legal_moves(unused) == 0) winner = mover;
}

/* ---------------------------------------------------------------- answers */

static long id;                                  /* of the command being answered; -1: it had none */

/* [3] Success `=[id]`, failure `?[id]`, one blank and the text if any, an empty line; flushed after each answer. */
static void answer(char sign, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    putchar(sign);
    if (id >= 0) printf("%ld", id);
    if (*text) printf(" %s", text);
    fputs("\n\n", stdout);
    fflush(stdout);
}

static void status(const char *before)
{
    if (winner)
        answer('=', "%sphase=over to_play=none seat=0 ply=%d result=%s winner=%d", before, ply,
               winner == 1 ? "B+" : "W+", winner);
    else
        answer('=', "%sphase=play to_play=%s seat=%d ply=%d", before, ply % 2 ? "white" : "black", 1 + ply % 2, ply);
}

static int same_word(const char *a, const char *b)     /* [6] colours and moves are read without regard to case */
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

/* [5] Everything is checked before anything is changed. */
static void ggp_new(int count, char **words)
{
    int wanted = SMALLEST;
    if (count < 2 || strcmp(words[1], "hexapawn")) { answer('?', "unknown game: this engine knows hexapawn"); return; }
    for (int i = 2; i < count; i++) {
        if (strncmp(words[i], "size=", 5)) { answer('?', "unknown option %.40s: hexapawn has size", words[i]); return; }
        if (i > 2) { answer('?', "option size is given twice"); return; }
        wanted = words[i][5] && !words[i][6] ? words[i][5] - '0' : -1;
        if (wanted < SMALLEST || wanted > LARGEST) {
            answer('?', "size must be in %d..%d, not %.40s", SMALLEST, LARGEST, words[i] + 5);
            return;
        }
    }
    new_game(wanted);
    status("");
}

static void ggp_play(int count, char **words)
{
    Move moves[MOVES];
    char before[16];
    if (count != 3) { answer('?', "usage: ggp-play COLOUR MOVE"); return; }
    int black = same_word(words[1], "black") || same_word(words[1], "b");
    if (!black && !same_word(words[1], "white") && !same_word(words[1], "w")) {
        answer('?', "%.40s is no colour", words[1]);
        return;
    }
    if (winner) { answer('?', "illegal move: the game is over"); return; }
    if (black != (side() == 'b')) { answer('?', "illegal move: it is %s's turn", ply % 2 ? "white" : "black"); return; }
    for (int n = legal_moves(moves), i = 0; i < n; i++)
        if (same_word(words[2], moves[i].text)) {
            make_move(&moves[i]);
            snprintf(before, sizeof before, "move=%.4s ", moves[i].text);
            status(before);
            return;
        }
    answer('?', "illegal move: %.40s is neither a step straight ahead nor a diagonal capture, such as A1A2", words[2]);
}

static void list_legal_moves(void)
{
    Move moves[MOVES];
    char text[5 * MOVES + 1] = "";
    for (int n = legal_moves(moves), i = 0; i < n; i++) {
        if (i) strcat(text, " ");
        strcat(text, moves[i].text);
    }
    answer('=', "%s", text);
}

static void list_history(void)
{
    char text[16 * MOVES + 1] = "", line[20];
    for (int i = 0; i < ply; i++) {
        snprintf(line, sizeof line, "%s%d %s %.4s", i ? "\n" : "", 1 + i % 2, i % 2 ? "white" : "black",
                 history[i].text);
        strcat(text, line);
    }
    answer('=', "%s", text);
}

static void list_commands(void)
{
    char text[512] = "";
    for (int i = 0; commands[i]; i++) {
        if (i) strcat(text, "\n");
        strcat(text, commands[i]);
    }
    answer('=', "%s", text);
}

static int known(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (!strcmp(name, commands[i])) return 1;
    return 0;
}

/* ---------------------------------------------------------------- one line in, one answer out */

/* [2] An id is digits up to 2^31-1 followed by a blank; a lone number, or digits glued to letters, is a name. */
static char *take_id(char *line)
{
    char *end = line;
    id = -1;
    while (isdigit((unsigned char)*end)) end++;
    if (end == line || end - line > 18 || *end != ' ' || end[strspn(end, " ")] == 0) return line;
    long long number = strtoll(line, NULL, 10);
    if (number > 2147483647) return line;
    id = (long)number;
    return end;
}

static void obey(char *line)
{
    char *words[WORDS + 1];
    int count = 0;
    line = take_id(line + strspn(line, " "));
    for (char *word = strtok(line, " "); word && count < WORDS; word = strtok(NULL, " ")) words[count++] = word;
    if (count == 0) return;                                                     /* [1] blank: no answer */
    if (!known(words[0])) answer('?', "unknown command");                      /* [4] */
    else if (!strcmp(words[0], "name")) answer('=', "Hexapawn in C");
    else if (!strcmp(words[0], "version")) answer('=', "1");
    else if (!strcmp(words[0], "protocol_version")) answer('=', "2");
    else if (!strcmp(words[0], "known_command")) answer('=', count > 1 && known(words[1]) ? "true" : "false");
    else if (!strcmp(words[0], "list_commands")) list_commands();
    else if (!strcmp(words[0], "quit")) { answer('=', ""); exit(0); }          /* [5] answered in full, then closed */
    else if (!strcmp(words[0], "ggp-version")) answer('=', "1");
    else if (!strcmp(words[0], "ggp-games")) answer('=', "hexapawn");
    else if (!strcmp(words[0], "ggp-options")) {
        if (count > 1 && strcmp(words[1], "hexapawn")) answer('?', "unknown game: this engine knows hexapawn");
        else answer('=', "size int %d %d..%d", SMALLEST, SMALLEST, LARGEST);
    }
    else if (!strcmp(words[0], "ggp-new")) ggp_new(count, words);
    else if (!size) answer('?', "no game: use ggp-new");
    else if (!strcmp(words[0], "ggp-play")) ggp_play(count, words);
    else if (!strcmp(words[0], "ggp-status")) status("");
    else if (!strcmp(words[0], "ggp-legal_moves")) list_legal_moves();
    else list_history();
}

int main(void)
{
    static char line[LINE_LIMIT + 1];
    int length = 0, raw = 0, comment = 0, c;
    while ((c = getchar()) != EOF) {                      /* [5] end of input: leave at once, silently, status 0 */
        if (c == '\n') {
            line[length] = 0;
            if (raw <= LINE_LIMIT) obey(line);
            length = raw = comment = 0;
            continue;
        }
        if (raw <= LINE_LIMIT && ++raw > LINE_LIMIT) {                          /* [8] one answer, the rest dropped */
            id = -1;
            answer('?', "line too long");
        }
        if (c == '#') comment = 1;                                              /* [1] */
        if (comment || raw > LINE_LIMIT || (c != '\t' && (c < 32 || c == 127))) continue;
        line[length++] = (char)(c == '\t' ? ' ' : c);
    }
    return 0;
}
