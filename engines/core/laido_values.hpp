// What the groups of laido are worth, 2p - g each, and how two sides' lists of such values compare. Knows no turns.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "hexagon.hpp"

namespace ggp {

// The stones of a hexagon by Point: Colour values, and no colour where no stone stands, walls too. And the same as
// bits, a set of points for each colour.
class HexagonStones {
  public:
    Colour at(Point p) const { return colours_[p]; }
    void put(Point p, Colour colour) {
        colours_[p] = colour;
        bits_[static_cast<std::size_t>(colour)][p / 64U] |= std::uint64_t{1} << p % 64U;
    }

    // The 32 points from `first` on that have stones of that colour.
    std::uint32_t from(Colour colour, int first) const {
        const auto& words = bits_[static_cast<std::size_t>(colour)];
        const auto word = static_cast<std::size_t>(first / 64);
        const int shift = first % 64;
        return static_cast<std::uint32_t>(words[word] >> shift | words[word + 1] << 1 << (63 - shift));
    }

  private:
    std::array<Colour, max_hexagon_area> colours_{};
    std::array<std::array<std::uint64_t, max_hexagon_area / 64 + 2>, 3> bits_{};
};

// Which stones hang together, and how many of them are edge stones, kept up to date as stones are added: a forest of
// points that is joined (Tarjan 1975). It takes a group's edge stones to be at most 255, which is more than 72, all.
class LaidoConnections {
  public:
    // The stones are those on the board with the one that was just put there.
    void put(Point p, const Hexagon& hexagon, const HexagonStones& stones) {
        above_[p] = p;
        edge_stones_[p] = hexagon.on_edge(p);
        for (const int step : hexagon.steps()) {
            const auto q = static_cast<Point>(p + step);
            if (stones.at(q) == stones.at(p)) join(shortened(p), shortened(q));
        }
    }

    // Of the group of a stone.
    int edge_stones(Point p) const { return edge_stones_[root(p)]; }

  private:
    Point root(Point p) const {
        while (above_[p] != p) p = above_[p];
        return p;
    }
    // The same, and the way there is half as long the next time.
    Point shortened(Point p) {
        while (above_[p] != p) p = above_[p] = above_[above_[p]];
        return p;
    }
    void join(Point one, Point two) {
        if (one == two) return;
        above_[one] = two;
        edge_stones_[two] = static_cast<std::uint8_t>(edge_stones_[two] + edge_stones_[one]);
    }

    std::array<Point, max_hexagon_area> above_;  // of a stone: another one of its group, or itself
    std::array<std::uint8_t, max_hexagon_area> edge_stones_;  // of who stands above all of a group
};

// The values of one side's groups, in no order until compare() has had them.
class GroupValues {
  public:
    void add(int value) { values_[static_cast<std::size_t>(count_++)] = static_cast<std::int16_t>(value); }
    int count() const { return count_; }

    std::vector<int> descending() const {
        std::vector<int> sorted(values_.begin(), values_.begin() + count_);
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        return sorted;
    }

    // Brings the largest of the values from `place` on to that place and answers it; 0 behind the last one.
    int take(int place) {
        if (place >= count_) return 0;
        const auto here = values_.begin() + place;
        std::iter_swap(here, std::max_element(here, values_.begin() + count_));
        return *here;
    }

  private:
    int count_ = 0;
    std::array<std::int16_t, max_hexagon_cells> values_;
};

// The first difference of the two lists in descending order, the shorter one padded with zeros at its end: Black's
// value less White's there; 0 if there is none. Sorts no further than it looks.
inline int compare(GroupValues& black, GroupValues& white) {
    const int pairs = std::max(black.count(), white.count());
    for (int place = 0; place < pairs; ++place) {
        const int difference = black.take(place) - white.take(place);
        if (difference != 0) return difference;
    }
    return 0;
}

// Finds the groups of one colour. A row is a word of bits, and its *runs* of neighbouring stones are joined with those
// of the row below: of a point, the points in the same column and in the next one are neighbours there.
class LaidoGroups {
  public:
    LaidoGroups(const Hexagon& hexagon, const HexagonStones& stones, Colour colour)
        : hexagon_(hexagon), stones_(stones), colour_(colour) {
        find_groups();
    }

    // Adds the value of each group.
    void add_values(GroupValues& values) {
        for (std::size_t g = 0; g < runs_; ++g) {
            const Group& group = groups_[g];
            if (group.joined != g) continue;
            const int p = group.edge_stones < 2 ? 0 : group.touching ? 2 : shortest_chain(g);
            values.add(2 * p - group.stones);
        }
    }

  private:
    // Of a run, and of the group while `joined` is its own number; else the number of a run that it was joined to.
    struct Group {
        std::uint16_t joined, stones, edge_stones;
        bool touching;  // two of the edge stones are neighbours
    };

    void find_groups();
    std::size_t add_run(std::uint32_t run, std::uint32_t edge);
    void join(std::size_t one, std::size_t two);
    std::size_t group_of_run(std::size_t g) const {
        while (groups_[g].joined != g) g = groups_[g].joined;
        return g;
    }
    // The run that holds the bit, in a row with these stones: it has its number at its first bit.
    std::size_t run_at(std::size_t row, std::uint32_t stones, int bit) const {
        const std::uint32_t starts = stones & ~(stones << 1) & ((std::uint32_t{2} << bit) - 1);
        return run_of_start_[row][static_cast<std::size_t>(std::bit_width(starts) - 1)];
    }
    std::uint32_t row_of(int row) const {
        return stones_.from(colour_, row * hexagon_.stride()) & ((std::uint32_t{1} << hexagon_.stride()) - 1);
    }
    int shortest_chain(std::size_t group);
    std::size_t edge_stones_to_queue(std::size_t group);

    const Hexagon& hexagon_;
    const HexagonStones& stones_;
    Colour colour_;
    std::size_t runs_ = 0;
    std::array<Group, max_hexagon_cells> groups_;  // by the number of a run
    std::array<std::array<std::uint16_t, 2 * max_side>, 2 * max_side> run_of_start_;
    bool searched_ = false;  // source_ is in order
    std::array<Point, max_hexagon_area> queue_, source_;
    std::array<std::int16_t, max_hexagon_area> steps_;
};

inline void LaidoGroups::find_groups() {
    std::uint32_t below = 0, edge_below = 0;
    for (int row = 1; row < hexagon_.stride(); ++row) {
        const std::uint32_t stones = row_of(row), edge = hexagon_.edge_of_row(row);
        for (std::uint32_t left = stones; left != 0;) {
            // Adding its first bit to a run makes it zeros, with a one behind it.
            const std::uint32_t run = left & ~(left + (left & -left));
            left ^= run;
            const std::size_t here = add_run(run, edge);
            run_of_start_[static_cast<std::size_t>(row)][static_cast<std::size_t>(std::countr_zero(run))] =
                static_cast<std::uint16_t>(here);
            const std::uint32_t ring = run & edge;
            groups_[here].touching |= ((ring | ring << 1) & below & edge_below) != 0;
            for (std::uint32_t touched = (run | run << 1) & below; touched != 0;) {
                const std::uint32_t first = touched & -touched;
                join(here, run_at(static_cast<std::size_t>(row - 1), below, std::countr_zero(first)));
                touched &= touched + first;
            }
        }
        below = stones, edge_below = edge;
    }
}

inline std::size_t LaidoGroups::add_run(std::uint32_t run, std::uint32_t edge) {
    // Bits are counted by where they begin and end: not every processor that this is built for counts them at once.
    const std::uint32_t ring = run & edge;  // all of the run in the top and the bottom row, else one or both ends
    const int stones = std::bit_width(run) - std::countr_zero(run);
    const int edge_stones = ring == run ? stones : (ring != 0) + ((ring & (ring - 1)) != 0);
    groups_[runs_] = {static_cast<std::uint16_t>(runs_), static_cast<std::uint16_t>(stones),
                      static_cast<std::uint16_t>(edge_stones), (ring & ring << 1) != 0};
    return runs_++;
}

inline void LaidoGroups::join(std::size_t one, std::size_t two) {
    one = group_of_run(one), two = group_of_run(two);
    if (one == two) return;
    if (one < two) std::swap(one, two);
    Group& from = groups_[one];
    Group& to = groups_[two];
    to.stones = static_cast<std::uint16_t>(to.stones + from.stones);
    to.edge_stones = static_cast<std::uint16_t>(to.edge_stones + from.edge_stones);
    to.touching |= from.touching;
    from.joined = static_cast<std::uint16_t>(two);
}

// The number of stones on a shortest chain that joins two different edge stones of the group, which has at least two.
//
// All edge stones are sources of one breadth-first search; each stone learns its distance d from a nearest source, and
// which one that is. Where two neighbours u and v learned of different sources, a chain of d(u) + d(v) + 2 stones joins
// these. And a shortest chain from s to t has such neighbours, because s is its own source and t is another, and their
// d(u) + d(v) + 2 is not more than its length: so the least of these numbers is the length asked for.
inline int LaidoGroups::shortest_chain(std::size_t group) {
    std::size_t tail = edge_stones_to_queue(group);
    int best = groups_[group].stones;
    for (std::size_t head = 0; head < tail; ++head) {
        const Point u = queue_[head];
        const int d = steps_[u];
        if (2 * d + 2 >= best) break;  // all that is still to come is at least as long
        for (const int step : hexagon_.steps()) {
            const auto v = static_cast<Point>(u + step);
            if (stones_.at(v) != colour_) continue;
            if (source_[v] == 0) {
                source_[v] = source_[u];
                steps_[v] = static_cast<std::int16_t>(d + 1);
                queue_[tail++] = v;
            } else if (source_[v] != source_[u]) {
                best = std::min(best, d + steps_[v] + 2);
            }
        }
    }
    return best;
}

// Their number. Each is its own source.
inline std::size_t LaidoGroups::edge_stones_to_queue(std::size_t group) {
    if (!searched_) std::fill_n(source_.begin(), hexagon_.area(), Point{0});
    searched_ = true;
    std::size_t count = 0;
    for (int row = 1; row < hexagon_.stride(); ++row) {
        const std::uint32_t stones = row_of(row);
        for (std::uint32_t left = stones & hexagon_.edge_of_row(row); left != 0; left &= left - 1) {
            const int bit = std::countr_zero(left);
            if (group_of_run(run_at(static_cast<std::size_t>(row), stones, bit)) != group) continue;
            const auto p = static_cast<Point>(row * hexagon_.stride() + bit);
            source_[p] = p;
            steps_[p] = 0;
            queue_[count++] = p;
        }
    }
    return count;
}

}  // namespace ggp
