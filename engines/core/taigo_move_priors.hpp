// Priors of moves of Taigo: by the lines that they complete, leave open and close. No turns.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>

#include "taigo_holes.hpp"
#include "taigo_lattice.hpp"

namespace ggp {

// A move's pieces on the lattice, for questions about lines, for as long as this lives.
class Painted {
  public:
    Painted(Lattice& lattice, const TaigoMove& move) : lattice_(lattice) {
        paint(move.dark, Colour::black);
        paint(move.light(), Colour::white);
        for (std::size_t i = 0; move.cones != 0 && i < 8; ++i)
            if (move.cone(i) != Colour::none) paint(move.cone_at(i), move.cone(i));
    }
    Painted(const Painted&) = delete;
    Painted& operator=(const Painted&) = delete;
    ~Painted() {
        for (const Lattice::Place p : *this) lattice_.paint(p, Colour::none);
    }

    const Lattice::Place* begin() const { return places_.data(); }
    const Lattice::Place* end() const { return begin() + count_; }

  private:
    void paint(Axial at, Colour colour) {
        places_[count_] = lattice_.place(at);
        lattice_.paint(places_[count_++], colour);
    }

    Lattice& lattice_;
    std::array<Lattice::Place, 2 + most_holes> places_;
    std::size_t count_ = 0;
};

// Judges the moves of one side in one position by all stretches of five cells through what they occupy: one that
// holds pieces of one colour alone is worth the more to that colour the more of them there are.
class TaigoMovePriors {
  public:
    // It paints on the lattice, and leaves it as it was.
    TaigoMovePriors(Lattice& lattice, Colour mover) : lattice_(lattice), mover_(mover) {
        for (const Lattice::Place p : lattice.frontier()) {
            if (lattice[p].beside == 63) continue;  // no tile fits
            lattice.paint(p, other(mover));
            if (lattice.line(p) >= row) threats_[count_++] = p;
            lattice.paint(p, Colour::none);
            if (count_ == threats_.size()) break;
        }
    }

    // Of `all` games after the move, how many the mover may expect to win: none if the opponent can complete a line.
    int wins(const TaigoMove& move, int all) {
        const Painted painted(lattice_, move);
        for (std::size_t i = 0; i < count_; ++i)
            if (lattice_[threats_[i]].colour != mover_) return 0;
        int worth = 0;
        for (const Lattice::Place p : painted) {
            const Colour own = lattice_[p].colour;
            const Piece piece = look(lattice_.axial(p), own);
            if (own != mover_ && piece.fours) return 0;
            worth += own == mover_ ? piece.worth : -piece.worth;
        }
        return std::clamp(all / 2 + worth * all / 80, 1, all);
    }

  private:
    static constexpr int row = 5;
    static constexpr std::array<int, row + 1> worths{0, 1, 4, 12, 30, 100};  // of so many pieces in a stretch

    struct Piece {
        int worth = 0;       // what it adds for its colour and takes from the other
        bool fours = false;  // with it a stretch lacks one piece
    };

    Piece look(Axial at, Colour own) const {
        Piece piece;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            std::array<Colour, 2 * row - 1> line;
            Axial next = at;
            for (std::size_t i = row; i < line.size(); ++i)
                line[i] = lattice_.at(next = next + axial_steps[axis]).colour;
            next = at;
            for (std::size_t i = row - 1; i-- > 0;) line[i] = lattice_.at(next = next + axial_steps[axis + 3]).colour;
            line[row - 1] = Colour::none;
            for (std::size_t from = 0; from < row; ++from) {
                const auto count = [&](Colour colour) {
                    return static_cast<std::size_t>(std::count(&line[from], &line[from] + row, colour));
                };
                const std::size_t mine = count(own), theirs = count(other(own));
                if (mine > 0 && theirs > 0) continue;
                piece.worth += theirs > 0 ? worths[theirs] : worths[mine + 1] - worths[mine];
                piece.fours |= mine == row - 2;
            }
        }
        return piece;
    }

    Lattice& lattice_;
    Colour mover_;
    std::array<Lattice::Place, 3 + most_holes> threats_;  // where the opponent completes a line; no move stops so many
    std::size_t count_ = 0;
};

}  // namespace ggp
