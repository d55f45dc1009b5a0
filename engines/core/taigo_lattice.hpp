// The unbounded hex lattice of Taigo: who stands where, the empty cells beside, lines. Knows no turns, tiles or supply.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "game_state.hpp"

namespace ggp {

struct Axial {
    std::int16_t q, r;
    auto operator<=>(const Axial&) const = default;  // ascending (q, r)
    constexpr Axial operator+(Axial b) const {
        return {static_cast<std::int16_t>(q + b.q), static_cast<std::int16_t>(r + b.r)};
    }
    constexpr Axial operator-() const { return {static_cast<std::int16_t>(-q), static_cast<std::int16_t>(-r)}; }
};

// The six neighbours in a circle: opposite ones are three apart, the first three are the axes.
inline constexpr std::array<Axial, 6> axial_steps{{{1, 0}, {0, 1}, {-1, 1}, {-1, 0}, {0, -1}, {1, -1}}};

// The cells in use lie in a window of the lattice, as wide as a power of two, centred on 0,0. It doubles when a cell
// comes near its border: so a usual game and its copies need 4 kB, and no game runs out of lattice. A Place is an index
// into the window: it holds until the next put(). Cells are coordinates within far_off of 0,0.
class Lattice {
  public:
    using Place = std::int32_t;
    static constexpr int far_off = 508;  // within the widest window, its margin taken off

    struct Cell {
        Colour colour = Colour::none;
        std::uint8_t beside = 0;  // bit d: the neighbour in direction d is occupied
        std::uint8_t gaps = 0;    // of how many closable cells this is a neighbour that is not occupied
        std::uint16_t rank = 0;   // of a cell of the frontier: its index there
    };
    struct Piece {
        Axial at;
        Colour colour;
        bool cone;
    };

    Lattice() { widen(5); }

    Place place(Axial a) const { return ((a.q + half()) << bits_) + a.r + half(); }
    Axial axial(Place p) const {
        const int column = p >> bits_, row = p & (2 * half() - 1);
        return {static_cast<std::int16_t>(column - half()), static_cast<std::int16_t>(row - half())};
    }
    Place step(int direction) const { return steps_[static_cast<std::size_t>(direction)]; }
    const Cell& operator[](Place p) const { return cells_[static_cast<std::size_t>(p)]; }
    // Any cell, also one outside of the window.
    Cell at(Axial a) const { return near(a, half() - 1) ? (*this)[place(a)] : Cell{}; }

    const std::vector<Piece>& pieces() const { return pieces_; }  // in the order in which they were put
    // The empty cells beside an occupied one; first the gaps() cells whose occupation may make a hole. A cell is
    // closable if one tile could make it a hole: it is empty and all its neighbours but one, or but two adjacent ones,
    // are occupied. Those are gaps, and a tile that covers no gap makes no hole.
    const std::vector<Place>& frontier() const { return frontier_; }
    std::size_t gaps() const { return gaps_; }
    int closable() const { return closable_; }
    // The smallest and the largest coordinates of occupied cells. Not of an empty lattice.
    Axial low() const { return low_; }
    Axial high() const { return high_; }

    // On an empty cell within far_off.
    void put(Piece piece);

    // Gives a cell a colour, or takes it away, for a question about lines: nothing else knows of it.
    void paint(Place p, Colour colour) { cells_[static_cast<std::size_t>(p)].colour = colour; }

    // The longest line of its own colour through an occupied cell.
    int line(Place p) const;

  private:
    static constexpr int margin = 4;  // a tile may touch at two steps from a cell, and its ring is looked at

    // By Cell::beside: whether one tile can occupy the rest.
    static constexpr std::array<std::uint8_t, 64> can_close = [] {
        std::array<std::uint8_t, 64> can{};
        for (unsigned d = 0; d < 6; ++d) {
            can[63U & ~(1U << d)] = 1;
            can[63U & ~(1U << d) & ~(1U << (d + 1) % 6)] = 1;
        }
        return can;
    }();

    int half() const { return 1 << (bits_ - 1); }
    static bool near(Axial a, int reach) { return std::abs(a.q) <= reach && std::abs(a.r) <= reach; }
    void widen(int bits);
    void occupy(Axial a, Colour colour);
    void close(Place p, std::uint8_t beside, int change);
    void swap(std::size_t one, std::size_t two);
    int along(Place p, Place step) const;

    int bits_ = 0, closable_ = 0;
    std::size_t gaps_ = 0;
    Axial low_{0, 0}, high_{0, 0};
    std::array<Place, 6> steps_{};
    std::vector<Cell> cells_;
    std::vector<Place> frontier_;
    std::vector<Piece> pieces_;
};

inline void Lattice::put(Piece piece) {
    for (int bits = bits_; !near(piece.at, half() - margin);) widen(++bits);
    low_ = pieces_.empty() ? piece.at : Axial{std::min(low_.q, piece.at.q), std::min(low_.r, piece.at.r)};
    high_ = pieces_.empty() ? piece.at : Axial{std::max(high_.q, piece.at.q), std::max(high_.r, piece.at.r)};
    pieces_.push_back(piece);
    occupy(piece.at, piece.colour);
}

// Moves everything into a window 2^bits wide. In the order of the pieces, so that equal games have equal frontiers.
inline void Lattice::widen(int bits) {
    bits_ = bits;
    for (std::size_t d = 0; d < 6; ++d) steps_[d] = axial_steps[d].q * (1 << bits) + axial_steps[d].r;
    cells_.assign(std::size_t{1} << (2 * bits), {});
    frontier_.clear();
    closable_ = 0, gaps_ = 0;
    for (const Piece& piece : pieces_) occupy(piece.at, piece.colour);
}

inline void Lattice::occupy(Axial a, Colour colour) {
    const Place p = place(a);
    Cell& cell = cells_[static_cast<std::size_t>(p)];
    close(p, cell.beside, -1);
    if (cell.beside != 0) {  // out of the frontier: past its gaps, then past its end
        if (cell.gaps != 0) swap(cell.rank, --gaps_);
        swap(cell.rank, frontier_.size() - 1);
        frontier_.pop_back();
    }
    cell.colour = colour;
    for (unsigned d = 0; d < 6; ++d) {
        const Place q = p + steps_[d];
        Cell& beside = cells_[static_cast<std::size_t>(q)];
        if (beside.colour == Colour::none && beside.beside == 0) {
            beside.rank = static_cast<std::uint16_t>(frontier_.size());
            frontier_.push_back(q);
        }
        beside.beside = static_cast<std::uint8_t>(beside.beside | 1U << (d + 3) % 6);
    }
    for (unsigned d = 0; d < 6; ++d) {  // now that every gap is in the frontier
        const Place q = p + steps_[d];
        if ((*this)[q].colour != Colour::none) continue;
        const std::uint8_t after = (*this)[q].beside;
        close(q, static_cast<std::uint8_t>(after & ~(1U << (d + 3) % 6)), -1);
        close(q, after, 1);
    }
}

// If an empty cell with these neighbours is closable, counts it and its gaps, or with change -1 counts them no more.
inline void Lattice::close(Place p, std::uint8_t beside, int change) {
    if (!can_close[beside]) return;
    closable_ += change;
    for (unsigned left = 63U & ~static_cast<unsigned>(beside); left != 0; left &= left - 1) {
        Cell& gap = cells_[static_cast<std::size_t>(p + steps_[static_cast<std::size_t>(std::countr_zero(left))])];
        const std::uint8_t before = gap.gaps;
        gap.gaps = static_cast<std::uint8_t>(before + change);
        if (gap.colour != Colour::none) continue;
        if (before == 0) swap(gap.rank, gaps_++);
        if (gap.gaps == 0) swap(gap.rank, --gaps_);
    }
}

// Two cells of the frontier, by their indices there, change places.
inline void Lattice::swap(std::size_t one, std::size_t two) {
    std::swap(frontier_[one], frontier_[two]);
    cells_[static_cast<std::size_t>(frontier_[one])].rank = static_cast<std::uint16_t>(one);
    cells_[static_cast<std::size_t>(frontier_[two])].rank = static_cast<std::uint16_t>(two);
}

inline int Lattice::line(Place p) const {
    int longest = 0;
    for (int axis = 0; axis < 3; ++axis)
        longest = std::max(longest, 1 + along(p, step(axis)) + along(p, -step(axis)));
    return longest;
}

inline int Lattice::along(Place p, Place step) const {
    const Colour colour = (*this)[p].colour;
    int count = 0;
    while ((*this)[p += step].colour == colour) ++count;
    return count;
}

}  // namespace ggp
