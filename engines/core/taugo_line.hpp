// One row or column of a taugo board, seen by one colour: where a single stone may stand and where its runs may stop.
#pragma once
#include <bit>
#include <cstdint>

#include "taugo_board.hpp"

namespace ggp::taugo {

// The line is kept as words of bits, so that all points are tested together, and in both directions: "behind" is one
// bit lower, "ahead" one higher, in the lower half of a word for runs to the east or north, in the upper for the others.
class Line {
  public:
    Line() = default;  // no line yet

    // `any`: the option cut_from. The line is an inner one: edge points are not adjacent, so nothing runs along an edge.
    Line(const Board& board, Axis axis, int line, Colour colour, bool any);

    // Where one stone may be placed, be it new or grown: empty inner points where it makes no knot.
    Bits singles() const { return singles_; }

    // The points at which runs of two and more may stop, by direction. Each stands for one run, from the first friendly
    // stone behind it, because no run passes a friendly stone.
    Bits stops() const { return stops_; }

    // The length of the run that stops there.
    int length(int stop) const {
        const Bits behind = mine_ & ((Bits{1} << stop) - 1);
        return stop - (63 - std::countl_zero(behind));
    }

    Bits mine() const { return mine_; }

  private:
    // The blocks of `through` that begin at a bit of `from`: a carry clears the whole block.
    static constexpr Bits flood(Bits from, Bits through) { return through & ~(through + from); }

    Bits mine_ = 0, singles_ = 0, stops_ = 0;
};

// `side` has filled empty inner points of a line: whether that can change its own moves in the line beside it. It can
// by a pair, and by the degree of a point that an enemy stone stands next to; not where nothing runs.
inline bool felt_by_own(const Board& board, Axis axis, int line, int beside, Colour side, Bits filled) {
    const Bits next = filled << 1 | filled >> 1;
    const Board::Lines& mine = board.lines(axis, side);
    const Board::Lines& theirs = board.lines(axis, other(side));
    const auto i = static_cast<std::size_t>(beside);
    return mine[i] != 0 && ((mine[static_cast<std::size_t>(line)] | theirs[i]) & next) != 0;
}

// The same of the enemy's moves: by stones that have become central.
inline bool felt_by_enemy(const Board& board, Axis axis, int beside, Colour side, Bits filled) {
    const auto i = static_cast<std::size_t>(beside);
    return board.lines(axis, other(side))[i] != 0 && (board.lines(axis, side)[i] & filled) != 0;
}

inline Line::Line(const Board& board, Axis axis, int line, Colour colour, bool any) {
    const auto i = static_cast<std::size_t>(line);
    const Board::Lines& mine = board.lines(axis, colour);
    const Board::Lines& theirs = board.lines(axis, other(colour));
    const Bits inner = board.inner() | board.inner() << 32, enemy = theirs[i];
    mine_ = mine[i];
    const Bits empty = (board.whole() | board.whole() << 32) & ~mine_ & ~enemy;
    const Bits above = mine[i + 1] & inner, below = mine[i - 1] & inner;
    // Bit i: i and i + 1 must not both be ours, because their neighbours on one side are, edge points among them. This
    // is all there is to say on knots.
    const Bits pairs = (mine[i + 1] & mine[i + 1] >> 1) | (mine[i - 1] & mine[i - 1] >> 1);
    const Bits before_mine = pairs & mine_ >> 1, behind = pairs << 1;  // their second, their first point would be ours
    singles_ = empty & board.inner() & ~(before_mine | (pairs & mine_) << 1);

    // The ends of the line are edge points: nothing is beside them across the line.
    const Bits up = theirs[i + 1] & inner, down = theirs[i - 1] & inner;
    const Bits central = enemy & ((enemy << 1 & enemy >> 1) | (up & down) | ((enemy << 1 | enemy >> 1) & (up | down)));
    // Points from which a block may be cut: stones of degree 1, or what has degree 1 at a run's end.
    const Bits one = (mine_ << 1 ^ mine_ >> 1) ^ (above ^ below), more = (mine_ << 1 & mine_ >> 1) | (above & below);
    const Bits cutter = any ? ~Bits{0} : (mine_ & one & ~more) | (~mine_ & ~above & ~below);

    const Bits open = empty & ~behind & ~before_mine;  // what a run may fill, edge points among them
    const Bits fill = open & inner;
    const Bits yields = central & ~behind;  // what a run may replace, if the whole block is so
    // All runs go on together: no point can be filled in the same direction from two stones.
    const Bits first = mine_ << 1 & fill;
    Bits reached = flood(first, fill);
    stops_ = reached & ~first;
    reached |= mine_;
    while (const Bits entry = yields & (reached & cutter) << 1) {
        const Bits cut = flood(entry, yields) << 1 & open;  // none if not all of a block yields
        reached = flood(cut & fill, fill);  // nothing goes on from an edge point
        stops_ |= cut | reached;
    }
}

}  // namespace ggp::taugo
