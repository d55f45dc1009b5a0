// What a game is to the rest of the core: the concept GameState and its few words. Knows no game and no Python.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rng.hpp"

namespace ggp {

enum class Phase : std::uint8_t { bid, choose, play, agree, over };
enum class Colour : std::uint8_t { none, black, white };
// uniform: every legal move equally likely, passes and tokens too. rollout: the policy of the built-in search.
enum class Policy : std::uint8_t { uniform, rollout };

constexpr Colour other(Colour colour) { return static_cast<Colour>(3 - static_cast<int>(colour)); }

constexpr const char* name(Colour colour) {
    constexpr const char* names[] = {"none", "black", "white"};
    return names[static_cast<int>(colour)];
}

constexpr const char* name(Phase phase) {
    constexpr const char* names[] = {"bid", "choose", "play", "agree", "over"};
    return names[static_cast<int>(phase)];
}

// A move that the rules forbid or that cannot be read; what() is the reason, written for the bot's author.
// Thrown before anything has changed.
class IllegalMove : public std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// The points of one colour: their sum, if the game has such a number, and name by name what it is made of.
struct ScoreParts {
    std::optional<double> total;
    std::vector<std::pair<const char*, double>> parts;
    std::vector<std::pair<const char*, std::vector<int>>> lists;  // such as the values of its groups

    // The total is the sum of the parts.
    void add_up() {
        total = 0;
        for (const auto& [what, points] : parts) *total += points;
    }
};

struct Score {
    ScoreParts black, white;
};

// A position of a game, with what its rules need to know of the past. A value: copies are independent.
// Move is the game's own cheap representation of a legal move; outside the core a move is its canonical text.
template <class S>
concept GameState =
    std::copyable<S> && requires(S s, const S c, typename S::Move move, std::vector<typename S::Move> moves,
                                 std::string_view text, Rng rng) {
    { c.phase() } -> std::same_as<Phase>;
    { c.to_play() } -> std::same_as<Colour>;  // none when over
    { c.seat() } -> std::same_as<int>;        // who acts: 1 or 2, 0 when over
    { c.leader() } -> std::same_as<Colour>;   // the winner if the game ended now; none: a draw
    { c.winner() } -> std::same_as<int>;      // the winning seat, 0 for a draw or while the game goes on
    { c.result() } -> std::same_as<std::string>;  // "" while the game goes on
    { c.ply() } -> std::same_as<int>;
    { c.size() } -> std::same_as<int>;        // the option `size`; of a board without one, its width
    { c.cells() } -> std::same_as<int>;       // cells of the board, the measure of a long game
    { c.hash() } -> std::same_as<std::uint64_t>;
    { c.board() } -> std::same_as<std::string>;
    { c.last_move() } -> std::same_as<std::vector<std::string>>;
    { c.captured() } -> std::same_as<std::pair<int, int>>;
    { c.score() } -> std::same_as<Score>;
    // Text: both read without regard to case; play answers the canonical form. Both throw IllegalMove.
    { s.play(text) } -> std::same_as<std::string>;
    { c.check(text) };
    { c.text(move) } -> std::convertible_to<std::string_view>;  // canonical
    // Every legal move once (of dead: lists only the empty one), in the bytewise order of their texts, added to what
    // the vector holds; none when over.
    { c.list_moves(moves) };
    { c.legal_moves() } -> std::same_as<std::vector<typename S::Move>>;  // the same, by themselves
    // What a search knows a move by wherever it is possible: equal for moves that do about the same, 0 for one that is
    // no cell (a pass, a token), below S::keys.
    { c.key(move) } -> std::same_as<std::uint16_t>;
    // Playing one of them, without a check.
    { s.apply(move) };
    { s.play_random(rng, Policy::uniform) } -> std::same_as<typename S::Move>;  // one ply; not when over
    { s.ready_for_playouts() };               // what a long run of plies need not do again: reserve, stop logging
};

// What games have alike. A Game has read(), which makes a move of a text or throws IllegalMove.
template <class Game, class GameMove>
class GameBase {
  public:
    using Move = GameMove;

    std::string play(std::string_view text) {
        const Move move = static_cast<const Game&>(*this).read(text);
        static_cast<Game&>(*this).apply(move);
        return std::string(std::string_view(static_cast<const Game&>(*this).text(move)));
    }
    void check(std::string_view text) const { static_cast<const Game&>(*this).read(text); }
    std::vector<Move> legal_moves() const {
        std::vector<Move> moves;
        static_cast<const Game&>(*this).list_moves(moves);
        return moves;
    }
    void ready_for_playouts() {}
};

}  // namespace ggp
