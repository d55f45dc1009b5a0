/* A whole bot in one C file that knows one game, Laido, and searches: Monte Carlo tree search, by the clock.
 *
 *     build    cc -O2 -o laido_bot bots/examples/laido_bot.c -lm
 *     run      ./laido_bot
 *     match    ggp match laido,size=5 ./laido_bot greedy
 *
 * The rules in short: stones are put on a hexagon and never leave it. A group of g stones is worth 2p - g, where p is
 * the number of stones on the shortest chain inside it that joins two different edge stones, 0 without one. The sides'
 * values are compared from the highest down, and the first difference decides; if there is none, the side that passed
 * first. Two passes end the game. With the pie, the first black stone may be answered with `swap-sides`.
 *
 * `./laido_bot 1000` looks at 1000 games for each move, however long that takes; a second number is a seed.
 */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { SIDE = 13, STRIDE = 2 * SIDE + 1, AREA = STRIDE * STRIDE, CELLS = 3 * SIDE * (SIDE - 1) + 1 };
enum { NODES = 1 << 21, DEPTH = 2 * CELLS, LINE = 65536 };
enum { EMPTY, BLACK, WHITE, WALL, PASS = 0, SWAP = -1, NONE = -2 };        /* what is on a point; moves that are none */

/* ---------------------------------------------------------------- the rules */

static int on_edge[AREA];                                                  /* of the board that is being played on */
static const int steps[6] = {1, -1, STRIDE, -STRIDE, 1 - STRIDE, STRIDE - 1};

typedef struct {
    unsigned char at[AREA];                                                /* by row, column + 1; walls around */
    short empty[CELLS], place[AREA];                                       /* empty points; where a point is in there */
    int empties, side, ply, pie, swapped, first_rule;
    int passes, passer, first_passer;                                      /* in a row; who began them; of the game */
} Position;

static int may_pass(const Position *b) { return !b->pie || b->ply > 0; }
static int may_swap(const Position *b) { return b->pie && b->ply == 1; }
static int is_over(const Position *b) { return b->passes == 2; }
static int seat_of(const Position *b, int colour) { return b->swapped ? 3 - colour : colour; }

static void new_game(Position *b, int size, int pie, int first_rule)
{
    memset(b, 0, sizeof *b);
    memset(b->at, WALL, sizeof b->at);
    for (int r = 1 - size; r < size; r++)
        for (int q = 1 - size; q < size; q++)
            if (abs(q + r) < size) {
                int point = (r + size) * STRIDE + q + size;
                b->at[point] = EMPTY;
                on_edge[point] = abs(q) == size - 1 || abs(r) == size - 1 || abs(q + r) == size - 1;
                b->empty[b->place[point] = (short)b->empties] = (short)point, b->empties++;
            }
    b->side = BLACK, b->pie = pie, b->first_rule = first_rule;
}

static void apply(Position *b, int move)
{
    b->ply++;
    if (move == SWAP) { b->swapped = 1; return; }                          /* White is still to move */
    if (move == PASS) {
        if (b->passes++ == 0) b->passer = b->side;
        if (!b->first_passer) b->first_passer = b->side;
    } else {
        short last = b->empty[--b->empties];
        b->empty[b->place[move]] = last, b->place[last] = b->place[move];
        b->at[move] = (unsigned char)b->side, b->passes = 0;
    }
    b->side = 3 - b->side;
}

/* The value of the group at `point`, whose stones are marked. A search in width from all its edge stones at once:
 * where the regions of two of them meet is the shortest chain. */
static int value_of_group(const Position *b, int point, char marked[AREA])
{
    static int stones[CELLS], queue[CELLS], source[AREA], depth[AREA];
    int count = 0, head = 0, tail = 0, best = 2 * CELLS;
    stones[count++] = point, marked[point] = 1;
    for (int i = 0; i < count; i++) {
        source[stones[i]] = 0;
        if (on_edge[stones[i]]) queue[tail++] = stones[i];
        for (int k = 0; k < 6; k++) {
            int next = stones[i] + steps[k];
            if (b->at[next] == b->at[point] && !marked[next]) stones[count++] = next, marked[next] = 1;
        }
    }
    if (tail < 2) return -count;
    for (int i = 0; i < tail; i++) source[queue[i]] = queue[i], depth[queue[i]] = 1;
    while (head < tail && 2 * depth[queue[head]] < best) {
        int here = queue[head++];
        for (int k = 0; k < 6; k++) {
            int next = here + steps[k];
            if (b->at[next] != b->at[point]) continue;
            if (!source[next]) source[next] = source[here], depth[next] = depth[here] + 1, queue[tail++] = next;
            else if (source[next] != source[here] && depth[here] + depth[next] < best) best = depth[here] + depth[next];
        }
    }
    return 2 * best - count;
}

static int descending(const void *one, const void *two) { return *(const int *)two - *(const int *)one; }

/* The first difference of the values in descending order, Black's less White's; 0 if there is none. */
static int margin(const Position *b)
{
    static char marked[AREA];
    static int values[3][CELLS];
    int count[3] = {0, 0, 0};
    memset(marked, 0, sizeof marked);
    for (int point = STRIDE; point < AREA - STRIDE; point++)
        if ((b->at[point] == BLACK || b->at[point] == WHITE) && !marked[point])
            values[b->at[point]][count[b->at[point]]++] = value_of_group(b, point, marked);
    for (int colour = BLACK; colour <= WHITE; colour++)
        qsort(values[colour], (size_t)count[colour], sizeof(int), descending);
    for (int i = 0; i < count[BLACK] || i < count[WHITE]; i++) {
        int difference = (i < count[BLACK] ? values[BLACK][i] : 0) - (i < count[WHITE] ? values[WHITE][i] : 0);
        if (difference) return difference;
    }
    return 0;
}

/* The colour that gets the half point where all values are equal; 0 before the first pass. */
static int half_point(const Position *b) { return b->first_rule ? b->first_passer : b->passes ? b->passer : 0; }

static int winner(const Position *b) { int m = margin(b); return m > 0 ? BLACK : m < 0 ? WHITE : half_point(b); }

/* ---------------------------------------------------------------- the search */

typedef struct {
    float wins, visits, amaf_wins, amaf_visits;      /* of the seat that makes the move; amaf: whenever it was made */
    int child;                                       /* the first of its children in the pool, 0: none yet */
    short children, move;
} Node;

static Node pool[NODES];                                                   /* the first one is the root */
static int nodes, games_wanted;
static uint64_t chance = 88172645463325252u;

static int below(int bound)                                                /* a random number, 0 to bound - 1 */
{
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return (int)((chance >> 33) % (uint64_t)bound);
}

/* A stone there would be surplus at best: inside own stones, or an edge stone beside another, which makes p two. */
static int wasteful(const Position *b, int point)
{
    int friends = 0, beside = 0;
    for (int k = 0; k < 6; k++)
        if (b->at[point + steps[k]] == b->side) friends++, beside |= on_edge[point + steps[k]];
    return friends >= 3 || (on_edge[point] && beside);
}

/* To the end at random, but for wasteful stones: a side that finds nothing better in four draws passes. */
static void play_out(Position *b)
{
    while (!is_over(b)) {
        int move = PASS;
        for (int draws = 4; draws && b->empties && move == PASS; draws--) {
            int point = b->empty[below(b->empties)];
            if (!wasteful(b, point) || !may_pass(b)) move = point;
        }
        apply(b, move);
    }
}

/* Give the node its children; wasteful ones begin with a bad name. */
static void expand(Node *node, const Position *b)
{
    int count = b->empties + may_pass(b) + may_swap(b);
    if (is_over(b) || nodes + count > NODES) return;
    node->child = nodes, node->children = (short)count;
    for (int i = 0; i < count; i++) {
        int move = i < b->empties ? b->empty[i] : i == b->empties ? PASS : SWAP;
        float wins = move > 0 && wasteful(b, move) ? 1 : 5 + 0.01f * (float)below(10);   /* in no order */
        pool[nodes++] = (Node){.move = (short)move, .amaf_wins = wins, .amaf_visits = 10};
    }
}

/* The child with the most worth: how often the games with the move, now or (less and less) later, were won, and a
 * little more for those that were tried less often. */
static Node *select_child(const Node *node)
{
    const float equal = 300, exploration = 0.15f;
    float log_visits = logf(node->visits + 1), most = -1;
    Node *best = NULL;
    for (Node *child = pool + node->child; child < pool + node->child + node->children; child++) {
        float n = child->visits, trust = sqrtf(equal / (3 * n + equal)), won = n > 0 ? child->wins / n : 0.5f;
        float later = child->amaf_wins / child->amaf_visits, untried = sqrtf(log_visits / (n + 1));
        float worth = (1 - trust) * won + trust * later + exploration * untried;
        if (worth > most) most = worth, best = child;
    }
    return best;
}

/* One game from the root: down the tree, one level deeper, to the end at random; every node on the way learns of it. */
static void simulate(const Position *root)
{
    static Position b;
    Node *path[DEPTH];
    int seats[DEPTH], sides[DEPTH], swaps[DEPTH], depth = 0;
    for (b = *root, path[0] = pool;;) {
        Node *node = path[depth];
        if (!node->child && (node->visits >= 2 || depth == 0)) expand(node, &b);
        if (!node->child || depth == DEPTH - 1) break;
        seats[depth] = seat_of(&b, b.side), sides[depth] = b.side, swaps[depth] = b.swapped;
        path[++depth] = select_child(node);
        apply(&b, path[depth]->move);
    }
    play_out(&b);
    int seat = seat_of(&b, winner(&b));
    path[0]->visits++;
    for (int i = 0; i < depth; i++) {
        int won = seats[i] == seat;
        path[i + 1]->visits++, path[i + 1]->wins += (float)won;
        if (swaps[i] != b.swapped) continue;                               /* these stones became the other seat's */
        for (Node *child = pool + path[i]->child; child < pool + path[i]->child + path[i]->children; child++)
            if (child->move > 0 && b.at[child->move] == sides[i])          /* stones stay: played now or later */
                child->amaf_visits++, child->amaf_wins += (float)won;
    }
}

/* ---------------------------------------------------------------- the clock */

static struct { long left[3], increment, moves, period; } said;            /* milliseconds, by colour; 0: not said */

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Milliseconds for this move: a share of what is left, more where it is renewed, seven tenths of all at most. */
static long budget(const Position *b)
{
    long left = said.left[b->side], most = left + said.period;
    long share = left / (said.moves ? said.moves : 30) + said.increment;
    if (!most) return 1000;                                                /* no time control */   
    if (share < said.period) share = said.period;
    return (share < most ? share : most) * 7 / 10;
}

static int choose(const Position *b)
{
    long end = now() + budget(b);
    pool[0] = (Node){.move = NONE}, nodes = 1;
    for (int n = 0; !n || (games_wanted ? n < games_wanted : n % 4 || now() < end); n++) simulate(b); /* at least 1 */
    Node *best = pool + pool->child;
    for (Node *child = best; child < pool + pool->child + pool->children; child++)
        if (child->visits > best->visits) best = child;
    return best->move;
}

/* ---------------------------------------------------------------- the conversation */

static const char commands[] = "final_score\ngenmove\nggp-clock\nggp-games\nggp-new\nknown_command\n"
                               "list_commands\nname\nplay\nprotocol_version\nquit\nversion";
static const char letters[] = "ABCDEFGHJKLMNOPQRSTUVWXYZ", digits[] = "0123456789";        /* no I */
static Position game;
static const char *id = "";                            /* of the command being answered, "" if it had none */

static void answer(char sign, const char *text)
{
    printf("%c%s%s%s\n\n", sign, id, *text ? " " : "", text);
    fflush(stdout);
}

/* The move, if it is legal, or NONE. */
static int read_move(const Position *b, const char *text)
{
    const char *letter = strchr(letters, toupper((unsigned char)*text));
    if (is_over(b)) return NONE;
    if (!strcasecmp(text, "pass")) return may_pass(b) ? PASS : NONE;
    if (!strcasecmp(text, "swap-sides")) return may_swap(b) ? SWAP : NONE;
    if (!letter || !*letter || strspn(text + 1, digits) != strlen(text + 1) || strlen(text) > 3) return NONE;
    int row = atoi(text + 1), point = row * STRIDE + (int)(letter - letters) + 1;
    return row > 0 && row < 2 * SIDE && b->at[point] == EMPTY ? point : NONE;
}

static int read_colour(const char *word)
{
    return !strcasecmp(word, "b") || !strcasecmp(word, "black")   ? BLACK
           : !strcasecmp(word, "w") || !strcasecmp(word, "white") ? WHITE : NONE;
}

static void final_score(const Position *b)
{
    char text[16] = "0";
    int difference = margin(b), holder = half_point(b);
    if (difference) snprintf(text, sizeof text, "%c+%d", difference > 0 ? 'B' : 'W', abs(difference));
    else if (holder) snprintf(text, sizeof text, "%c+0.5", holder == BLACK ? 'B' : 'W');
    answer('=', text);
}

static void ggp_new(int count, char **words)
{
    int new_size = 9, pie = 1, first_rule = 0;
    if (count < 2 || strcmp(words[1], "laido")) { answer('?', "this bot plays laido"); return; }
    for (int i = 2; i < count; i++) {
        if (!strncmp(words[i], "size=", 5)) new_size = atoi(words[i] + 5);
        else if (!strcmp(words[i], "pie=on") || !strcmp(words[i], "pie=off")) pie = words[i][5] == 'n';
        else if (!strcmp(words[i], "half_point=first") || !strcmp(words[i], "half_point=final"))
            first_rule = words[i][13] == 'r';
        else { answer('?', "unknown option"); return; }
    }
    if (new_size < 2 || new_size > SIDE) { answer('?', "unacceptable size"); return; }
    new_game(&game, new_size, pie, first_rule), memset(&said, 0, sizeof said);
    answer('=', "");
}

static void ggp_clock(int count, char **words)
{
    memset(&said, 0, sizeof said);
    for (int i = 1; i < count; i++) {
        sscanf(words[i], "black=%9ld", &said.left[BLACK]), sscanf(words[i], "white=%9ld", &said.left[WHITE]);
        sscanf(words[i], "increment=%9ld", &said.increment), sscanf(words[i], "moves=%9ld", &said.moves);
        sscanf(words[i], "period=%9ld", &said.period);
    }
    answer('=', "");
}

static void play(int count, char **words)
{
    int move = count == 3 && read_colour(words[1]) == game.side ? read_move(&game, words[2]) : NONE;
    if (move == NONE) { answer('?', "illegal move"); return; }
    apply(&game, move);
    answer('=', "");
}

static void genmove(int count, char **words)
{
    char text[12] = "pass";
    if (!is_over(&game)) {
        if (count != 2 || read_colour(words[1]) != game.side) { answer('?', "it is the other side's turn"); return; }
        int move = choose(&game);
        if (move > 0) snprintf(text, sizeof text, "%c%d", letters[move % STRIDE - 1], move / STRIDE);
        else if (move == SWAP) strcpy(text, "swap-sides");
        apply(&game, move);
    }
    answer('=', text);
}

static int is_command(const char *name)
{
    char one[32], all[sizeof commands + 2];
    sprintf(all, "\n%s\n", commands);
    return *name && snprintf(one, sizeof one, "\n%s\n", name) < 32 && strstr(all, one);
}

/* One line: `[id] name [arguments]`. Returns 0 after `quit`. */
static int obey(char *line)
{
    char *all[32], **words = all;
    int count = 0;
    line[strcspn(line, "#")] = 0, id = "";
    for (char *word = strtok(line, " \t"); word && count < 32; word = strtok(NULL, " \t")) words[count++] = word;
    if (count > 1 && strspn(*words, digits) == strlen(*words) && strlen(*words) <= 10 && atoll(*words) <= 2147483647)
        id = *words++, count--;
    if (count == 0) return 1;
    const char *name = words[0];
    if (!is_command(name)) answer('?', "unknown command");
    else if (!strcmp(name, "name")) answer('=', "Laido bot");
    else if (!strcmp(name, "version")) answer('=', "1");
    else if (!strcmp(name, "protocol_version")) answer('=', "2");
    else if (!strcmp(name, "list_commands")) answer('=', commands);
    else if (!strcmp(name, "known_command")) answer('=', count > 1 && is_command(words[1]) ? "true" : "false");
    else if (!strcmp(name, "ggp-games")) answer('=', "laido");
    else if (!strcmp(name, "ggp-new")) ggp_new(count, words);
    else if (!strcmp(name, "ggp-clock")) ggp_clock(count, words);
    else if (!strcmp(name, "play")) play(count, words);
    else if (!strcmp(name, "genmove")) genmove(count, words);
    else if (!strcmp(name, "final_score")) final_score(&game);
    else answer('=', "");
    return strcmp(name, "quit") != 0;
}

int main(int argc, char **argv)
{
    static char line[LINE + 1];
    int length = 0, going = 1, c;
    games_wanted = argc > 1 ? atoi(argv[1]) : 0;
    chance += argc > 2 ? (uint64_t)atoi(argv[2]) : (uint64_t)now() ^ (uint64_t)(uintptr_t)&argc;
    new_game(&game, 9, 1, 0);
    while (going && (c = getchar()) != EOF) {
        if (c == '\n') {
            line[length < LINE ? length : LINE] = 0;
            if (length > LINE) { id = ""; answer('?', "line too long"); }
            else going = obey(line);
            length = 0;
        } else if (length <= LINE && (c == '\t' || (c >= 32 && c != 127))) {              /* no control characters */
            if (length < LINE) line[length] = (char)c;
            length++;
        }
    }
    return 0;
}
