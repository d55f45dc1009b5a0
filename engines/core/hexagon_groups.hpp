// Sets of points of a hexagon, and which of their points hang together.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "game_state.hpp"
#include "hexagon.hpp"

namespace ggp {

// A set of points as bits. Its rows are those of the padded rhombus, as bits from their wall column on.
class HexagonPoints {
  public:
    bool has(Point p) const { return (words_[p / 64U] >> p % 64U & 1) != 0; }
    void remove(Point p) { words_[p / 64U] &= ~(std::uint64_t{1} << p % 64U); }
    void add(Point p) { words_[p / 64U] |= std::uint64_t{1} << p % 64U; }

    std::uint32_t row(const Hexagon& hexagon, int row) const {
        const int first = row * hexagon.stride(), shift = first % 64;
        const auto word = static_cast<std::size_t>(first / 64);
        const auto points = static_cast<std::uint32_t>(words_[word] >> shift | words_[word + 1] << 1 << (63 - shift));
        return points & ((std::uint32_t{1} << hexagon.stride()) - 1);
    }
    void add_to_row(const Hexagon& hexagon, int row, std::uint32_t points) {
        const int first = row * hexagon.stride(), shift = first % 64;
        const auto word = static_cast<std::size_t>(first / 64);
        words_[word] |= std::uint64_t{points} << shift;
        words_[word + 1] |= std::uint64_t{points} >> 1 >> (63 - shift);
    }

  private:
    std::array<std::uint64_t, max_hexagon_area / 64 + 2> words_{};
};

// The stones of a hexagon by Point: Colour values, and no colour where no stone stands, walls too. And as sets.
class HexagonStones {
  public:
    Colour at(Point p) const { return colours_[p]; }
    const HexagonPoints& of(Colour colour) const { return points_[colour == Colour::white]; }
    void put(Point p, Colour colour) {
        colours_[p] = colour;
        points_[colour == Colour::white].add(p);
    }

  private:
    std::array<Colour, max_hexagon_area> colours_{};
    std::array<HexagonPoints, 2> points_;
};

// The groups of a set of points. A row is a word of bits, and its *runs* of neighbouring points are joined with those
// of the row below: of a point, the points in the same column and in the next one are neighbours there.
class HexagonGroups {
  public:
    // Of a run, and of the group while `joined` is its own number; else the number of a run that it was joined to.
    struct Group {
        std::uint16_t joined, points, edge_points;
        bool touching;  // two of the edge points are neighbours
    };
    struct Run {
        std::uint32_t points;
        int row;
    };

    // row_of(row): the points of a row of the padded rhombus, as bits from its wall column on.
    template <class RowOf>
    HexagonGroups(const Hexagon& hexagon, RowOf row_of);

    std::size_t runs() const { return count_; }
    const Run& run(std::size_t r) const { return runs_[r]; }
    std::size_t group_of(std::size_t r) const {
        while (groups_[r].joined != r) r = groups_[r].joined;
        return r;
    }
    bool is_group(std::size_t r) const { return groups_[r].joined == r; }  // a group has the number of one of its runs
    const Group& at(std::size_t group) const { return groups_[group]; }

  private:
    std::size_t add_run(std::uint32_t run, int row, std::uint32_t edge);
    void join(std::size_t one, std::size_t two);

    std::size_t count_ = 0;
    std::array<Group, max_hexagon_cells> groups_;  // by the number of a run
    std::array<Run, max_hexagon_cells> runs_;
};

// Runs are numbered row by row, in a row from its wall column on: those of the row below that a run touches follow each
// other, and the last of them may touch the next run as well.
template <class RowOf>
HexagonGroups::HexagonGroups(const Hexagon& hexagon, RowOf row_of) {
    std::uint32_t below = 0, edge_below = 0;
    std::size_t first_below = 0;
    for (int row = 1; row < hexagon.stride(); ++row) {
        const std::uint32_t points = row_of(row), edge = hexagon.edge_of_row(row);
        const std::size_t first = count_;
        std::size_t under = first_below;
        for (std::uint32_t left = points; left != 0;) {
            // Adding its first bit to a run makes it zeros, with a one behind it.
            const std::uint32_t run = left & ~(left + (left & -left));
            left ^= run;
            const std::size_t here = add_run(run, row, edge);
            const std::uint32_t ring = run & edge, reach = run | run << 1;
            groups_[here].touching |= ((ring | ring << 1) & below & edge_below) != 0;
            for (; under < first && runs_[under].points < (reach & -reach); ++under) {}  // wholly before it
            for (std::size_t u = under; u < first && (runs_[u].points & reach) != 0; ++u) join(here, u);
        }
        below = points, edge_below = edge, first_below = first;
    }
}

inline std::size_t HexagonGroups::add_run(std::uint32_t run, int row, std::uint32_t edge) {
    // Bits are counted by where they begin and end: not every processor that this is built for counts them at once.
    const std::uint32_t ring = run & edge;  // all of the run in the top and the bottom row, else one or both ends
    const int points = std::bit_width(run) - std::countr_zero(run);
    const int edge_points = ring == run ? points : (ring != 0) + ((ring & (ring - 1)) != 0);
    groups_[count_] = {static_cast<std::uint16_t>(count_), static_cast<std::uint16_t>(points),
                       static_cast<std::uint16_t>(edge_points), (ring & ring << 1) != 0};
    runs_[count_] = {run, row};
    return count_++;
}

inline void HexagonGroups::join(std::size_t one, std::size_t two) {
    one = group_of(one), two = group_of(two);
    if (one == two) return;
    if (one < two) std::swap(one, two);
    Group& from = groups_[one];
    Group& to = groups_[two];
    to.points = static_cast<std::uint16_t>(to.points + from.points);
    to.edge_points = static_cast<std::uint16_t>(to.edge_points + from.edge_points);
    to.touching |= from.touching;
    from.joined = static_cast<std::uint16_t>(two);
}

}  // namespace ggp
