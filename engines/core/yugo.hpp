// Yugo (Luis Bolaños Mures, 2017): go with kings that capture and stay, and a button.
// The rules: docs/reference/games/yugo.md.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agreement.hpp"
#include "chains.hpp"
#include "decimal.hpp"
#include "game_state.hpp"
#include "setup.hpp"
#include "territory.hpp"
#include "zobrist.hpp"

namespace ggp {

// Between turns every group without liberties consists of kings only. A piece put on an empty point p takes p from its
// neighbours and nothing else, so it surrounds an enemy group iff p is that group's only liberty, and its own group iff
// that has no other. Hence: a king iff p is the only liberty of some enemy group, else a pawn iff its group breathes.
// A move is a Point or one of the constants.
class Yugo : public GameBase<Yugo, std::int16_t> {
  public:
    static constexpr Move pass = 0, button_move = -1, dead_none = -2;
    static constexpr std::size_t keys = max_area;

    // Throws std::invalid_argument if an option is out of its domain.
    Yugo(int size, std::int64_t komi, int handicap, bool agreement);

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
    std::string board() const;  // X O pawns, # @ kings
    std::vector<std::string> last_move() const;
    std::pair<int, int> captured() const { return {captured_[1], captured_[2]}; }  // black pawns, white pawns
    Score score() const;
    Colour button() const { return button_; }

    struct Read {
        Move move;
        DeadList dead;
    };
    Read read(std::string_view text) const;  // throws IllegalMove
    std::string play(std::string_view text);
    void list_moves(std::vector<Move>& moves) const;
    std::string_view text(Move move) const;
    void apply(Move move);
    std::uint16_t key(Move move) const { return static_cast<std::uint16_t>(std::max<Move>(move, 0)); }
    // It fills an eye of its own: seldom good, and never played by rollouts.
    bool unlikely(Move move) const {
        return move > 0 && chains_.is_eye(static_cast<Point>(move), stone_of(to_play()));
    }
    Move play_random(Rng& rng, Policy policy);

    // Begins with that board (as board() writes it) and side. Before ply 0, no handicap; std::invalid_argument.
    void set_up(std::string_view cells, Colour side);
    // Before ply 0 only; throws IllegalMove later, std::invalid_argument for an absurd number.
    void set_komi(std::int64_t komi);

  private:
    static constexpr std::uint64_t seed = 0x5975676f;  // sets the hashes of this game apart
    static constexpr auto zobrist = zobrist_keys<5, max_area>(seed);

    // Points by colour.
    struct Count {
        std::array<int, 3> territory{}, pieces{}, surrounded_kings{};
    };
    bool legal(Point p) const { return chains_.playable(p, stone_of(to_play())); }
    std::string why_not(Point p) const;
    void answer(DeadList list);
    void place(Point p, Colour side);
    Count count() const;
    std::int64_t twice_margin() const;

    Square square_;
    Chains chains_;
    Turns turns_;
    std::int64_t komi_;
    int handicap_, handicap_left_;  // the option; pawns still to place
    Colour button_ = Colour::none;
    Point last_ = 0;
    int ply_ = 0;
    std::array<int, 3> captured_{};
    std::array<bool, max_area> king_{};
};

inline Yugo::Yugo(int size, std::int64_t komi, int handicap, bool agreement)
    : square_(checked_edge(size)), chains_(size), turns_(Colour::black, agreement), handicap_(handicap),
      handicap_left_(handicap) {
    set_komi(komi);
    if (handicap != 0 && (handicap < 2 || handicap > 9)) throw std::invalid_argument("handicap must be 0 or 2..9");
    if (handicap >= size * size) throw std::invalid_argument("handicap must be less than the number of points");
}

inline void Yugo::set_komi(std::int64_t komi) {
    constexpr std::int64_t most = 1'000'000'000'000'000;  // half points are exact in a double
    if (ply_ != 0) throw IllegalMove("komi is settled before the first move");
    if (komi <= -most || komi >= most) throw std::invalid_argument("komi must be an integer of at most 15 digits");
    komi_ = komi;
}

inline void Yugo::set_up(std::string_view cells, Colour side) {
    if (ply_ != 0 || handicap_ != 0)
        throw std::invalid_argument("a position is set up before the first move, without handicap");
    std::array<bool, max_area> king{};
    const Chains chains = read_board(square_, ".XO#@", cells, [&](Point p, std::size_t kind) { king[p] = kind > 2; });
    for (const Point p : square_.by_name())
        if (chains.at(p) != no_stone && !chains.breathes(p) && !king[p])
            throw std::invalid_argument(square_.name(p) + " is a pawn without a liberty");
    chains_ = chains, king_ = king;
    turns_.set_to_play(side);
}

inline std::string Yugo::why_not(Point p) const {
    if (chains_.at(p) != no_stone) return square_.name(p) + " is occupied";
    return "neither a pawn (the number of surrounded groups would change) "
           "nor a king (no enemy group would be surrounded)";
}

inline Yugo::Read Yugo::read(std::string_view text) const {
    if (turns_.is_dead_list(text)) return {dead_none, parse_dead(text, square_, chains_)};
    const bool takes_button = is_word(text, "button"), passes = is_word(text, "pass");
    if (handicap_left_ > 0 && (takes_button || passes))
        throw IllegalMove("handicap pawns come first: " + std::to_string(handicap_left_) + " left");
    if (takes_button) {
        if (button_ != Colour::none) throw IllegalMove("the button is taken");
        return {button_move, {}};
    }
    if (passes) {
        if (button_ == Colour::none) throw IllegalMove("the button must be taken before a pass");
        return {pass, {}};
    }
    if (is_word(text, "resign")) throw IllegalMove("resign is an answer to genmove, not a move");
    const Point p = square_.parse(text);
    if (chains_.at(p) != no_stone || !legal(p)) throw IllegalMove(why_not(p));
    return {static_cast<Move>(p), {}};
}

inline std::string Yugo::play(std::string_view text) {
    Read move = read(text);
    if (move.move != dead_none) {
        apply(move.move);
        return std::string(this->text(move.move));
    }
    std::string canonical = dead_text(move.dead, square_);
    answer(std::move(move.dead));
    return canonical;
}

inline void Yugo::answer(DeadList list) {
    ++ply_;
    last_ = 0;
    if (!turns_.answered(list)) return;
    for (const Point p : list)
        if (chains_.at(p) != no_stone) chains_.lift(p);
    for (const Point p : list) king_[p] = false;
}

inline void Yugo::apply(Move move) {
    if (move == dead_none) return answer({});
    ++ply_;
    last_ = 0;
    const Colour side = to_play();
    if (move == pass) return turns_.passed();
    if (move == button_move) button_ = side;
    else place(static_cast<Point>(move), side);
    if (handicap_left_ > 0) --handicap_left_;
    turns_.moved(handicap_left_ > 0 ? side : other(side));
}

inline void Yugo::place(Point p, Colour side) {
    const Stone own = stone_of(side), enemy = enemy_of(own);
    last_ = p;
    chains_.put(p, own);
    const auto is_king = [this](Point s) { return king_[s]; };
    // Walls and empty points do not count; a chain of the enemy without liberties beside p has just lost its last one.
    for (const Point q : chains_.beside(p))
        if (chains_.dead(q, enemy)) king_[p] = true;
    if (!king_[p]) return;
    for (const Point q : chains_.beside(p))
        if (chains_.dead(q, enemy)) captured_[enemy] += chains_.thin(q, is_king);
    if (!chains_.breathes(p)) captured_[own] += chains_.thin(p, is_king);
}

inline Yugo::Move Yugo::play_random(Rng& rng, Policy policy) {
    if (phase() == Phase::agree) return answer({}), dead_none;
    const Stone stone = stone_of(to_play());
    const Move token = button_ == Colour::none ? button_move : pass;  // the one of the two that is legal
    const auto legal = [&](Point p) { return chains_.playable(p, stone); };
    const int drawn = policy == Policy::uniform || handicap_left_ > 0  // there is always a place for a handicap pawn
                          ? chains_.draw(rng, handicap_left_ > 0 ? 0 : 1, legal)
                          : chains_.draw(rng, 0, [&](Point p) { return !chains_.is_eye(p, stone) && legal(p); });
    const Move move = drawn > 0 ? static_cast<Move>(drawn) : token;
    apply(move);
    return move;
}

inline void Yugo::list_moves(std::vector<Move>& moves) const {
    if (phase() == Phase::over) return;
    if (phase() == Phase::agree) return moves.push_back(dead_none);
    for (const Point p : square_.by_name())
        if (chains_.at(p) == no_stone && legal(p)) moves.push_back(static_cast<Move>(p));
    if (handicap_left_ == 0) moves.push_back(button_ == Colour::none ? button_move : pass);
}

inline std::string_view Yugo::text(Move move) const {
    if (move > 0) return square_.name(static_cast<Point>(move));
    return move == pass ? "pass" : move == button_move ? "button" : "dead:";
}

inline Yugo::Count Yugo::count() const {
    Count count;
    count.territory = territory(chains_).points;
    for (const Point p : square_.by_name()) {
        const Stone stone = chains_.at(p);
        if (stone == no_stone) continue;
        if (chains_.breathes(p)) ++count.pieces[stone];
        else count.surrounded_kings[enemy_of(stone)] += king_[p];
    }
    return count;
}

// Twice Black's score less White's, everything counted. Odd, and so never 0, once the button is taken.
inline std::int64_t Yugo::twice_margin() const {
    const Count c = count();
    const auto points = [&](std::size_t i) { return c.territory[i] + c.pieces[i] + c.surrounded_kings[i]; };
    return 2 * (points(1) - points(2) - komi_ - std::max(handicap_ - 1, 0)) + (button_ == Colour::black) -
           (button_ == Colour::white);
}

inline Colour Yugo::leader() const {
    const std::int64_t margin = twice_margin();
    return margin > 0 ? Colour::black : margin < 0 ? Colour::white : Colour::none;
}

inline std::string Yugo::result() const {
    if (phase() != Phase::over) return "";
    const std::int64_t margin = twice_margin();
    return (margin > 0 ? "B+" : "W+") + decimal(static_cast<double>(std::abs(margin)) / 2, 1);
}

inline Score Yugo::score() const {
    const Count c = count();
    const auto parts = [&](Colour colour) {
        const auto i = static_cast<std::size_t>(colour);
        return ScoreParts{{}, {{"territory", c.territory[i]}, {"pieces", c.pieces[i]},
                               {"surrounded_kings", c.surrounded_kings[i]}, {"button", button_ == colour ? 0.5 : 0}}, {}};
    };
    Score score{parts(Colour::black), parts(Colour::white)};
    score.black.parts.emplace_back("handicap", handicap_ > 1 ? 1 - handicap_ : 0);
    score.white.parts.emplace_back("komi", static_cast<double>(komi_));
    score.black.add_up(), score.white.add_up();
    return score;
}

inline std::uint64_t Yugo::hash() const {
    std::uint64_t board = 0;
    for (const Point p : square_.by_name())
        board ^= chains_.at(p) == no_stone ? 0 : zobrist[static_cast<std::size_t>(chains_.at(p) + 2 * king_[p])][p];
    Digest digest(board ^ seed);
    digest.add(static_cast<std::uint64_t>(size())).add(static_cast<std::uint64_t>(komi_));
    digest.add(static_cast<std::uint64_t>(handicap_) << 8 | static_cast<std::uint64_t>(handicap_left_));
    digest.add(static_cast<std::uint64_t>(button_));
    turns_.digest(digest);
    return digest.value();
}

inline std::string Yugo::board() const {
    return write_board(square_, ".XO#@", [this](Point p) { return chains_.at(p) + (king_[p] ? 2 : 0); });
}

inline std::vector<std::string> Yugo::last_move() const {
    return last_ == 0 ? std::vector<std::string>{} : std::vector<std::string>{square_.name(last_)};
}

static_assert(GameState<Yugo>);

}  // namespace ggp
