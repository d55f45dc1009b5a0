// Go: Tromp-Taylor area scoring, suicide forbidden, three ko rules, handicap. The rules: docs/reference/games/go.md.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agreement.hpp"
#include "chains.hpp"
#include "decimal.hpp"
#include "game_state.hpp"
#include "go_playouts.hpp"
#include "handicap.hpp"
#include "ko.hpp"
#include "setup.hpp"
#include "territory.hpp"
#include "zobrist.hpp"

namespace ggp {

// A move is a Point, `pass` or `dead_none`.
class Go : public GameBase<Go, std::int16_t> {
  public:
    static constexpr Move pass = 0, dead_none = -1;
    static constexpr std::size_t keys = max_area;

    // Throws std::invalid_argument if an option is out of its domain.
    Go(int size, double komi, int handicap, Ko ko, bool agreement);

    Phase phase() const { return turns_.phase(); }
    Colour to_play() const { return turns_.to_play(); }
    int seat() const { return static_cast<int>(to_play()); }  // seat 1 is black throughout
    int ply() const { return ply_; }
    int size() const { return square_.edge(); }
    int cells() const { return size() * size(); }
    Colour leader() const;
    int winner() const { return phase() == Phase::over ? static_cast<int>(leader()) : 0; }
    std::string result() const;
    std::uint64_t hash() const;
    std::string board() const;
    std::vector<std::string> last_move() const;
    std::pair<int, int> captured() const { return {captured_[1], captured_[2]}; }  // black stones, white stones
    Score score() const;

    struct Read {
        Move move;
        bool list = false;
        DeadList dead;
    };
    Read read(std::string_view text) const;  // throws IllegalMove
    std::string play(std::string_view text);
    void list_moves(std::vector<Move>& moves) const;
    std::string_view text(Move move) const;
    void apply(Move move);
    std::uint16_t key(Move move) const { return static_cast<std::uint16_t>(std::max<Move>(move, 0)); }
    Colour decides(Move move) const { return move == pass && turns_.ends_by_pass() ? leader() : Colour::none; }
    GoPlayouts move_priors() const { return {chains_, around_, stone_of(to_play()), last_}; }
    Move play_random(Rng& rng, Policy policy);
    void ready_for_playouts() { ko_.ready_for_playouts(cells()); }

    // Plain GTP, where moves may come out of turn. Throws IllegalMove if the phase is not play.
    void set_to_play(Colour side);
    void set_komi(double komi);
    // Begins with that board (as board() writes it) and side. Before ply 0, on an empty board; std::invalid_argument.
    void set_up(std::string_view cells, Colour side);
    // Free handicap: black stones on an empty board before ply 0, then White moves. All or none; throws IllegalMove.
    void place_handicap(const std::vector<std::string>& vertices);

  private:
    static constexpr std::uint64_t seed = 0x476f;  // sets the hashes of this game apart
    static constexpr auto zobrist = zobrist_keys<3, max_area>(seed);

    void answer(DeadList list);
    std::uint64_t board_after(Point p, Colour side) const;
    bool ko_allows(Point p, Colour side) const {
        return (stood_[p] & stone_of(side)) == 0 || !ko_.forbids(board_after(p, side), side);
    }
    // A stone comes to p, or goes from there: all but the chains.
    void change(Point p, Stone stone) {
        board_ ^= zobrist[stone][p];
        around_.change(p, stone);
        stood_[p] = static_cast<std::uint8_t>(stood_[p] | stone);
    }
    void put(Point p, Stone stone) {
        change(p, stone);
        chains_.put(p, stone);
    }
    // Takes the chain of p off the board; returns its size.
    int lift(Point p) {
        chains_.each_stone(p, [&](Point s) { change(s, chains_.at(s)); });
        return chains_.lift(p);
    }
    void begin(Colour side);
    void stand_handicap(const std::vector<Point>& points);
    int margin_of_area() const;

    Square square_;
    Chains chains_;
    Surroundings around_;
    Turns turns_;
    double komi_;
    int komi_decimals_, handicap_;
    KoRule ko_;
    bool third_time_ = false;  // the game was drawn by repetition
    std::array<std::uint8_t, max_area> stood_{};  // by point: of which colours a stone stood there, as bits; no board
                                                  // can come back by one that never did
    Point last_ = 0;
    int ply_ = 0;
    std::array<int, 3> captured_{};
    std::uint64_t board_ = 0;  // Zobrist hash of the stones
};

inline Go::Go(int size, double komi, int handicap, Ko ko, bool agreement)
    : square_(checked_edge(size)), chains_(size), around_(size), turns_(Colour::black, agreement),
      handicap_(handicap), ko_(ko) {
    set_komi(komi);
    begin(Colour::black);
    if (handicap != 0) stand_handicap(fixed_handicap(square_, handicap));
}

inline void Go::stand_handicap(const std::vector<Point>& points) {
    for (const Point p : points) put(p, black_stone);
    begin(Colour::white);
}

inline void Go::place_handicap(const std::vector<std::string>& vertices) {
    if (ply_ != 0 || board_ != 0)
        throw IllegalMove("handicap stones are placed on an empty board, before the first move");
    if (vertices.size() < 2) throw IllegalMove("a handicap is two stones or more");
    if (vertices.size() >= static_cast<std::size_t>(cells())) throw IllegalMove("a handicap must leave a point empty");
    std::vector<Point> points;
    for (const std::string& vertex : vertices) {
        const Point p = square_.parse(vertex);
        if (std::find(points.begin(), points.end(), p) != points.end())
            throw IllegalMove(square_.name(p) + " is named twice");
        points.push_back(p);
    }
    handicap_ = static_cast<int>(points.size());
    stand_handicap(points);
}

inline void Go::set_up(std::string_view cells, Colour side) {
    if (ply_ != 0 || board_ != 0)
        throw std::invalid_argument("a position is set up on an empty board, before the first move");
    const Chains chains = read_board(square_, ".XO", cells, [](Point, std::size_t) {});
    for (const Point p : square_.by_name())
        if (chains.at(p) != no_stone && !chains.breathes(p))
            throw std::invalid_argument(square_.name(p) + " has no liberty");
    chains_ = chains;
    for (const Point p : square_.by_name())
        if (chains.at(p) != no_stone) change(p, chains.at(p));
    begin(side);
}

inline void Go::begin(Colour side) {
    turns_.set_to_play(side);
    ko_.begin(board_, side);
}

inline void Go::set_to_play(Colour side) {
    if (phase() == Phase::over) throw IllegalMove("the game is over");
    if (phase() != Phase::play) throw IllegalMove("the sides answer in turn in the agreement phase");
    if (side == to_play()) return;
    turns_.set_to_play(side);
    ko_.turned(board_, side, ply_);
}

inline void Go::set_komi(double komi) {
    if (!std::isfinite(komi)) throw std::invalid_argument("komi must be a number");
    komi_ = komi + 0.0;  // no negative zero
    komi_decimals_ = decimals(komi);
}

// The board that a stone of `side` on the empty point p makes, captures taken.
inline std::uint64_t Go::board_after(Point p, Colour side) const {
    const Stone enemy = enemy_of(stone_of(side));
    std::uint64_t board = board_ ^ zobrist[stone_of(side)][p];
    std::array<Point, 4> taken{};
    std::size_t takes = 0;
    for (const Point q : chains_.beside(p)) {
        if (!chains_.dies(q, enemy, p)) continue;
        const Point head = chains_.head(q);
        if (std::find(taken.begin(), taken.begin() + takes, head) != taken.begin() + takes) continue;
        taken[takes++] = head;
        chains_.each_stone(head, [&](Point s) { board ^= zobrist[enemy][s]; });
    }
    return board;
}

inline Go::Read Go::read(std::string_view text) const {
    if (turns_.is_dead_list(text)) return {dead_none, true, parse_dead(text, square_, chains_)};
    if (is_word(text, "pass")) return {pass, false, {}};
    if (is_word(text, "resign")) throw IllegalMove("resign is an answer to genmove, not a move");
    const Point p = square_.parse(text);
    const Stone stone = stone_of(to_play());
    if (chains_.at(p) != no_stone) throw IllegalMove(square_.name(p) + " is occupied");
    if (!chains_.playable(p, stone)) throw IllegalMove("suicide: the group would have no liberty");
    if (!ko_allows(p, to_play())) throw IllegalMove(ko_.why(board_after(p, to_play()), to_play()));
    return {static_cast<Move>(p), false, {}};
}

inline std::string Go::play(std::string_view text) {
    Read move = read(text);
    if (move.list) {
        std::string canonical = dead_text(move.dead, square_);
        answer(std::move(move.dead));
        return canonical;
    }
    apply(move.move);
    return std::string(this->text(move.move));
}

inline void Go::answer(DeadList list) {
    ++ply_;
    last_ = 0;
    if (!turns_.answered(list)) return;
    for (const Point p : list) {
        if (chains_.at(p) == no_stone) continue;  // its group is gone already
        lift(p);
    }
}

inline void Go::apply(Move move) {
    if (move == dead_none) return answer({});
    ++ply_;
    last_ = 0;
    const Colour side = to_play();
    const std::uint64_t before = board_;
    if (move == pass) {
        ko_.moved(before, board_, side, ply_);
        return turns_.passed();
    }
    const auto p = static_cast<Point>(move);
    const Stone stone = stone_of(side), enemy = enemy_of(stone);
    last_ = p;
    put(p, stone);
    for (const Point q : chains_.beside(p)) {
        if (chains_.dead(q, enemy)) captured_[enemy] += lift(q);
    }
    turns_.moved(other(side));
    if (ko_.moved(before, board_, side, ply_)) {
        third_time_ = true;
        turns_.end();
    }
}

inline Go::Move Go::play_random(Rng& rng, Policy policy) {
    if (phase() == Phase::agree) return answer({}), dead_none;
    const Colour side = to_play();
    const Stone stone = stone_of(side);
    const GoPlayouts playouts = move_priors();
    const auto legal = [&](Point p) { return chains_.playable(p, stone) && ko_allows(p, side); };
    // Rollouts fill no eye of their own, and of ten moves that throw stones away they make one.
    const auto sound = [&](Point p) {
        return !playouts.is_eye(p) && legal(p) && (!playouts.gives_away(p) || rng.below(10) == 0);
    };
    int drawn = policy == Policy::rollout ? playouts.answer(rng, legal) : 0;
    // draw answers 0, which is `pass`, if there is nothing, and -1 for its only token.
    if (drawn == 0) drawn = policy == Policy::uniform ? chains_.draw(rng, 1, legal) : chains_.draw(rng, 0, sound);
    const auto move = static_cast<Move>(std::max(drawn, 0));
    apply(move);
    return move;
}

inline void Go::list_moves(std::vector<Move>& moves) const {
    if (phase() == Phase::over) return;
    if (phase() == Phase::agree) return moves.push_back(dead_none);
    for (const Point p : square_.by_name())
        if (chains_.at(p) == no_stone && chains_.playable(p, stone_of(to_play())) && ko_allows(p, to_play()))
            moves.push_back(static_cast<Move>(p));
    moves.push_back(pass);
}

inline std::string_view Go::text(Move move) const {
    return move > 0 ? std::string_view(square_.name(static_cast<Point>(move))) : move == pass ? "pass" : "dead:";
}

// Black's stones and territory less White's.
inline int Go::margin_of_area() const {
    const Territory land = territory(chains_);
    int margin = land.of(Colour::black) - land.of(Colour::white);
    for (const Point p : square_.by_name())
        margin += (chains_.at(p) == black_stone) - (chains_.at(p) == white_stone);
    return margin;
}

inline Colour Go::leader() const {
    if (third_time_) return Colour::none;
    const int margin = margin_of_area();
    return margin > komi_ ? Colour::black : margin < komi_ ? Colour::white : Colour::none;
}

inline std::string Go::result() const {
    if (phase() != Phase::over) return "";
    const Colour best = leader();
    if (best == Colour::none) return "0";
    return (best == Colour::black ? "B+" : "W+") + decimal(std::abs(margin_of_area() - komi_), komi_decimals_);
}

inline Score Go::score() const {
    const Territory land = territory(chains_);
    std::array<int, 4> stones{};
    for (const Point p : square_.by_name()) ++stones[chains_.at(p)];
    Score score;
    score.black.parts = {{"stones", stones[1]}, {"territory", land.of(Colour::black)}};
    score.white.parts = {{"stones", stones[2]}, {"territory", land.of(Colour::white)}, {"komi", komi_}};
    score.black.total = stones[1] + land.of(Colour::black);
    score.white.total = tidy(stones[2] + land.of(Colour::white) + komi_, komi_decimals_);
    return score;
}

inline std::uint64_t Go::hash() const {
    Digest digest(board_ ^ seed);
    digest.add(static_cast<std::uint64_t>(size())).add(std::bit_cast<std::uint64_t>(komi_));
    digest.add(static_cast<std::uint64_t>(handicap_)).add(static_cast<std::uint64_t>(ko_.kind()) << 1 | third_time_);
    turns_.digest(digest);
    return digest.value();
}

inline std::string Go::board() const {
    return write_board(square_, ".XO", [this](Point p) { return chains_.at(p); });
}

inline std::vector<std::string> Go::last_move() const {
    return last_ == 0 ? std::vector<std::string>{} : std::vector<std::string>{square_.name(last_)};
}

static_assert(GameState<Go>);

}  // namespace ggp
