// The board of taugo as bits, and its moves: stones by rows and by columns, strings, knots. Knows no rule of a turn.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "bits.hpp"
#include "game_state.hpp"
#include "square.hpp"

namespace ggp::taugo {

// A row or a column. Bit i is its i-th point, from the left or from below. The lines of a board have all points twice:
// bit 32 + i is the i-th from the other end, so that what holds in one direction is found for both at once.
using Bits = std::uint64_t;
enum class Axis : std::uint8_t { row, column };
enum class Way : std::uint8_t { east, west, north, south };

constexpr Axis axis_of(Way way) { return way < Way::north ? Axis::row : Axis::column; }
constexpr Axis across(Axis axis) { return axis == Axis::row ? Axis::column : Axis::row; }
constexpr int step_of(Way way) { return way == Way::east || way == Way::north ? 1 : -1; }

// A move: `length` points of a row or column, in the order in which they are filled. One point alone always runs east,
// whatever stone it grew from, so that equal texts are equal moves. Without points it is one of the words.
struct Run {
    Way way = Way::east;
    std::uint8_t line = 0, first = 0, length = 0;

    friend constexpr bool operator==(Run, Run) = default;

    int at(int index) const { return first + step_of(way) * index; }  // the place in the line
    std::pair<int, int> point(int index) const {                     // column and row; index -1: the stone it grows from
        return axis_of(way) == Axis::row ? std::pair{at(index), int{line}} : std::pair{int{line}, at(index)};
    }
    Bits bits() const { return ((Bits{1} << length) - 1) << std::min(int{first}, at(length - 1)); }
};

inline constexpr Run pass{Way::east, 0, 0, 0}, swap_sides{Way::west, 0, 0, 0};

// Points are named by column and row, both from 0. The corners are always empty and belong to nothing.
class Board {
  public:
    using Lines = std::array<Bits, max_edge>;

    explicit Board(int edge) : edge_(edge) {}

    int edge() const { return edge_; }
    Bits whole() const { return (Bits{1} << edge_) - 1; }
    Bits inner() const { return whole() >> 1 & ~Bits{1}; }  // the inner points of a line, the inner lines of an axis
    int opposite(int place) const { return edge_ - 1 - place; }
    Bits twice(int low, int length) const {  // points in a row, as the lines of a board have them
        const Bits ones = (Bits{1} << length) - 1;
        return ones << low | ones << (32 + edge_ - low - length);
    }
    bool has(int column, int row) const {
        return column >= 0 && row >= 0 && column < edge_ && row < edge_ && !is_corner(column, row);
    }
    bool is_inner(int column, int row) const { return inner() >> column & inner() >> row & 1; }
    bool is_corner(int column, int row) const { return !(inner() >> column & 1) && !(inner() >> row & 1); }

    const Lines& lines(Axis axis, Colour colour) const {
        return lines_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(colour) - 1];
    }
    const Lines& rows(Colour colour) const { return lines(Axis::row, colour); }
    bool is(Colour colour, int column, int row) const {
        return has(column, row) && rows(colour)[static_cast<std::size_t>(row)] >> column & 1;
    }
    Colour at(int column, int row) const {
        if (is(Colour::black, column, row)) return Colour::black;
        return is(Colour::white, column, row) ? Colour::white : Colour::none;
    }

    // The stones of that colour adjacent to a point. Two edge points are never adjacent.
    int friends(Colour colour, int column, int row) const {
        int count = 0;
        for (const auto& [c, r] : {std::pair{column - 1, row}, {column + 1, row}, {column, row - 1}, {column, row + 1}})
            count += is(colour, c, r) && (is_inner(c, r) || is_inner(column, row));
        return count;
    }

    // Fills the points of a run, whatever stands there. Returns the number of enemy stones that it replaces.
    int put(Run run, Colour colour) {
        const Bits bits = run.bits(), along = twice(std::countr_zero(bits), run.length), bit = twice(run.line, 1);
        const Axis axis = axis_of(run.way);
        Bits& theirs = lines(axis, other(colour))[run.line];
        const Bits replaced = theirs & bits;
        lines(axis, colour)[run.line] |= along;
        theirs &= ~along;
        Lines& mine_across = lines(across(axis), colour);
        Lines& theirs_across = lines(across(axis), other(colour));
        for (Bits left = bits; left != 0; left &= left - 1) {
            const auto place = static_cast<std::size_t>(std::countr_zero(left));
            mine_across[place] |= bit;
            theirs_across[place] &= ~bit;
        }
        return bits_in(replaced);
    }

    // The point is the lower left corner of a 2x2 square in that colour. Edge points count. The corners of the board are
    // always empty, so a square with one of them is never a knot.
    bool knot(Colour colour, int column, int row) const {
        if (column < 0 || row < 0 || column + 1 >= edge_ || row + 1 >= edge_) return false;
        const Lines& mine = rows(colour);
        const auto r = static_cast<std::size_t>(row);
        return ((mine[r] & mine[r + 1]) >> column & 3) == 3;
    }

    // Calls visit(the number of its perimeter stones) once for every string of that colour.
    template <class Visit>
    void each_string(Colour colour, Visit visit) const;

    int edge_stones(Colour colour) const {
        const auto last = static_cast<std::size_t>(edge_ - 1);
        int count = 0;
        for (const Axis axis : {Axis::row, Axis::column})
            count += bits_in(lines(axis, colour)[0] & whole()) + bits_in(lines(axis, colour)[last] & whole());
        return count;
    }

  private:
    Lines& lines(Axis axis, Colour colour) {
        return lines_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(colour) - 1];
    }

    int edge_;
    std::array<std::array<Lines, 2>, 2> lines_{};  // by axis and colour: the same stones twice
};

// Inner stones make strings by themselves, because an edge stone hangs on one point only: it belongs to the string of
// the perimeter stone before it, or is a string of its own. The rest is joining pieces of rows: union-find, by halves.
template <class Visit>
void Board::each_string(Colour colour, Visit visit) const {
    constexpr std::size_t most = (max_edge - 2) * (max_edge / 2);
    std::array<Bits, most> piece;
    std::array<std::int16_t, most> root, perimeter;
    const auto find = [&root](std::size_t i) {
        while (root[i] != static_cast<std::int16_t>(i)) {
            root[i] = root[static_cast<std::size_t>(root[i])];
            i = static_cast<std::size_t>(root[i]);
        }
        return i;
    };
    const Lines& mine = rows(colour);
    const auto last = static_cast<std::size_t>(edge_ - 2);
    const Bits sides = Bits{2} | Bits{1} << last;
    std::size_t above = 0, from = 0, end = 0;  // the pieces of the row before: above..from-1; of this one: from..end-1
    for (std::size_t row = 1; row <= last; ++row, above = from, from = end) {
        for (Bits left = mine[row] & inner(); left != 0; ++end) {
            const Bits low = left & (~left + 1), bits = left & ~(left + low);
            left &= ~bits;
            piece[end] = bits;
            root[end] = static_cast<std::int16_t>(end);
            const Bits counted = row == 1 || row == last ? bits : bits & sides;
            perimeter[end] = static_cast<std::int16_t>(counted == 0 ? 0 : bits_in(counted));
            for (std::size_t i = above; i < from; ++i) {
                if ((piece[i] & bits) == 0) continue;
                const std::size_t one = find(i), two = find(end);
                if (one == two) continue;
                root[one] = static_cast<std::int16_t>(two);
                perimeter[two] = static_cast<std::int16_t>(perimeter[two] + perimeter[one]);
            }
        }
    }
    for (std::size_t i = 0; i < end; ++i)
        if (root[i] == static_cast<std::int16_t>(i)) visit(int{perimeter[i]});
    for (const Axis axis : {Axis::row, Axis::column}) {
        const Lines& all = lines(axis, colour);
        int alone = bits_in(all[0] & ~all[1] & whole()) + bits_in(all[last + 1] & ~all[last] & whole());
        while (alone-- > 0) visit(0);
    }
}

}  // namespace ggp::taugo
