// What the groups of laido are worth, 2p - g each, and how two sides' lists of such values compare. Knows no turns.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "hexagon.hpp"
#include "hexagon_groups.hpp"

namespace ggp {

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
    bool any_below(int bound) const {
        return std::any_of(values_.begin(), values_.begin() + count_, [bound](int v) { return v < bound; });
    }
    void drop_negative() {
        const auto end = values_.begin() + count_;
        count_ = static_cast<int>(std::remove_if(values_.begin(), end, [](int v) { return v < 0; }) - values_.begin());
    }

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

// The groups of one colour and their values.
class LaidoGroups {
  public:
    LaidoGroups(const Hexagon& hexagon, const HexagonStones& stones, Colour colour)
        : hexagon_(hexagon), stones_(stones), colour_(colour),
          groups_(hexagon, [&](int row) { return stones.of(colour).row(hexagon, row); }) {}

    // Adds the value of each group.
    void add_values(GroupValues& values) {
        for (std::size_t g = 0; g < groups_.runs(); ++g) {
            if (!groups_.is_group(g)) continue;
            const HexagonGroups::Group& group = groups_.at(g);
            const int p = group.edge_points < 2 ? 0 : group.touching ? 2 : shortest_chain(g);
            values.add(2 * p - group.points);
        }
    }

  private:
    int shortest_chain(std::size_t group);
    std::size_t edge_stones_to_queue(std::size_t group);

    const Hexagon& hexagon_;
    const HexagonStones& stones_;
    Colour colour_;
    HexagonGroups groups_;
    bool searched_ = false;  // source_ is in order
    std::array<Point, max_hexagon_area> queue_, source_;
    std::array<std::int16_t, max_hexagon_area> steps_;
};

// The number of stones on a shortest chain that joins two different edge stones of the group, which has at least two.
//
// All edge stones are sources of one breadth-first search; each stone learns its distance d from a nearest source, and
// which one that is. Where two neighbours u and v learned of different sources, a chain of d(u) + d(v) + 2 stones joins
// these. And a shortest chain from s to t has such neighbours, because s is its own source and t is another, and their
// d(u) + d(v) + 2 is not more than its length: so the least of these numbers is the length asked for.
inline int LaidoGroups::shortest_chain(std::size_t group) {
    std::size_t tail = edge_stones_to_queue(group);
    int best = groups_.at(group).points;
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
    for (std::size_t r = 0; r < groups_.runs(); ++r) {
        if (groups_.group_of(r) != group) continue;
        const HexagonGroups::Run& run = groups_.run(r);
        for (std::uint32_t left = run.points & hexagon_.edge_of_row(run.row); left != 0; left &= left - 1) {
            const auto p = static_cast<Point>(run.row * hexagon_.stride() + std::countr_zero(left));
            source_[p] = p;
            steps_[p] = 0;
            queue_[count++] = p;
        }
    }
    return count;
}

}  // namespace ggp
