// The three ko rules of go: what a stone may not recreate, and when repetition ends the game. Boards are hashes here.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "game_state.hpp"
#include "history.hpp"
#include "rng.hpp"

namespace ggp {

// positional: a stone may not recreate a board that stood earlier.
// situational: nor a (board, side to move) that stood earlier, positions after passes included.
// simple: a stone may not recreate the board before the opponent's last move, and when a stone makes a
// (board, side to move) stand for the third time the game is over.
enum class Ko : std::uint8_t { simple, positional, situational };

class KoRule {
  public:
    explicit KoRule(Ko kind) : kind_(kind) {}

    Ko kind() const { return kind_; }

    // The game begins with this board and side to move; nothing stood before.
    void begin(std::uint64_t board, Colour side) {
        *this = KoRule(kind_);
        history_.add(key(board, side), 0);
    }

    // A stone of `mover` that makes `board` is forbidden.
    bool forbids(std::uint64_t board, Colour mover) const {
        if (kind_ == Ko::simple) return board == before_[static_cast<std::size_t>(other(mover))];
        return history_.count(key(board, other(mover))) != 0;
    }

    std::string why(std::uint64_t board, Colour mover) const {
        if (kind_ == Ko::simple) return "ko: this would recreate the board before the opponent's last move";
        const int ply = history_.first_ply(key(board, other(mover)));
        const char* const rule = kind_ == Ko::positional
                                     ? "positional superko: the board stood like this"
                                     : "situational superko: the board stood with the same side to move";
        return rule + (ply == 0 ? std::string(" at the start") : " after ply " + std::to_string(ply));
    }

    // `mover` has made `board` out of `before`, by a stone or by a pass (then they are the same), which was ply `ply`.
    // True if a stone that did this has ended the game.
    bool moved(std::uint64_t before, std::uint64_t board, Colour mover, int ply) {
        before_[static_cast<std::size_t>(mover)] = before;
        return history_.add(key(board, other(mover)), ply) >= 3 && kind_ == Ko::simple;
    }

    // Out of turn: the board stands with `side` to move, as after a pass.
    void turned(std::uint64_t board, Colour side, int ply) { history_.add(key(board, side), ply); }

    void ready_for_playouts(int cells) { history_.ready_for_playouts(static_cast<std::size_t>(cells) * 4); }

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};          // the hash of no board
    static constexpr std::uint64_t white_moves = mix64(0x7768697465);  // makes (board, side to move) of a board

    std::uint64_t key(std::uint64_t board, Colour next) const {
        return kind_ != Ko::positional && next == Colour::white ? board ^ white_moves : board;
    }

    Ko kind_;
    std::array<std::uint64_t, 3> before_{never, never, never};  // by colour: the board before its last move
    History history_;
};

}  // namespace ggp
