// The pie opening and the end by two passes, where seats may change colours. Shared by taugo and laido; no scoring.
#pragma once
#include <cstdint>
#include <string_view>

#include "game_state.hpp"
#include "square.hpp"
#include "zobrist.hpp"

namespace ggp {

// Which colour each seat holds. Seat 1 starts as black; `swap-sides` exchanges the colours and leaves the board alone.
class Seats {
  public:
    int of(Colour colour) const {  // 0 for none
        return colour == Colour::none ? 0 : swapped_ ? 3 - static_cast<int>(colour) : static_cast<int>(colour);
    }
    void swap() { swapped_ = !swapped_; }
    bool swapped() const { return swapped_; }

  private:
    bool swapped_ = false;
};

// Whose turn it is. With the pie, ply 0 is a black stone and no pass; at ply 1 seat 2 may swap instead of playing for
// White.
class PieTurns {
  public:
    explicit PieTurns(bool pie) : pie_(pie), opening_(pie ? Opening::first_stone : Opening::done) {}

    Phase phase() const { return over_ ? Phase::over : Phase::play; }
    Colour to_play() const { return over_ ? Colour::none : side_; }
    int seat() const { return seats_.of(to_play()); }
    int seat_of(Colour colour) const { return seats_.of(colour); }
    bool may_pass() const { return !over_ && opening_ != Opening::first_stone; }
    bool may_swap() const { return !over_ && opening_ == Opening::swap_open; }
    bool first_stone() const { return opening_ == Opening::first_stone; }  // the one that may be swapped
    int passes() const { return passes_; }  // that the last plies were; 2 when over

    // The colour that made the first of the passes that the last plies were; none without a pass.
    Colour first_passer() const { return passes_ == 0 ? Colour::none : first_passer_; }

    // Reads the words of a turn. Throws IllegalMove if the word may not be played now, or if nothing may.
    enum class Word : std::uint8_t { none, pass, swap };  // none: the text is no such word
    Word read(std::string_view text) const;

    void moved() {
        opening_ = opening_ == Opening::first_stone ? Opening::swap_open : Opening::done;
        passes_ = 0;
        side_ = other(side_);
    }
    void passed() {
        opening_ = Opening::done;
        if (++passes_ == 1) first_passer_ = side_;
        over_ = passes_ == 2;
        side_ = other(side_);
    }
    void swapped() {  // White is still to move, now held by seat 1
        opening_ = Opening::done;
        seats_.swap();
    }

    // Goes on after the opening with that side to move: for positions that are set up, before the first ply.
    void set_up(Colour side) {
        opening_ = Opening::done;
        side_ = side;
    }

    // The option, side, phase, seats, passes, whether the pie is still being cut; not who passed first, which few ask.
    void digest(Digest& digest) const {
        digest.add(static_cast<std::uint64_t>(over_) | static_cast<std::uint64_t>(to_play()) << 8 |
                   static_cast<std::uint64_t>(passes_) << 16 | std::uint64_t{seats_.swapped()} << 24 |
                   static_cast<std::uint64_t>(opening_) << 32 | std::uint64_t{pie_} << 40);
    }

  private:
    enum class Opening : std::uint8_t { first_stone, swap_open, done };

    bool pie_;
    Opening opening_;
    bool over_ = false;
    Colour side_ = Colour::black, first_passer_ = Colour::none;
    std::uint8_t passes_ = 0;
    Seats seats_;
};

inline PieTurns::Word PieTurns::read(std::string_view text) const {
    if (over_) throw IllegalMove("the game is over");
    if (is_word(text, "pass")) {
        if (first_stone()) throw IllegalMove("the first ply is a black stone: it may be swapped and cannot be passed");
        return Word::pass;
    }
    if (is_word(text, "swap-sides")) {
        if (!pie_) throw IllegalMove("sides cannot be swapped: the game is played with pie=off");
        if (first_stone()) throw IllegalMove("sides are swapped by seat 2, after the first stone");
        if (!may_swap()) throw IllegalMove("sides could be swapped only right after the first stone");
        return Word::swap;
    }
    if (is_word(text, "keep-sides")) throw IllegalMove("keep-sides answers a bid; who keeps a side here plays on");
    if (is_word(text.substr(0, 4), "bid:")) throw IllegalMove("this game has no komi to bid for");
    if (is_word(text.substr(0, 5), "dead:")) throw IllegalMove("no stone is dead in this game: there is no agreement");
    if (is_word(text, "button")) throw IllegalMove("this game has no button");
    if (is_word(text, "resign")) throw IllegalMove("resign is an answer to genmove, not a move");
    return Word::none;
}

}  // namespace ggp
