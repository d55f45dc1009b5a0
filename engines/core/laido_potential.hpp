// Where a side of laido can still make a new connection. No turns.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "game_state.hpp"
#include "hexagon.hpp"
#include "hexagon_groups.hpp"
#include "laido_values.hpp"

namespace ggp {

// A *complete* group reaches the edge twice. A stone beside it joins it and makes it worth less: no chain of it becomes
// longer. So a side gains only by new complete groups, and these are made of the empty points that are beside no
// complete group of that side and of the stones of its other groups: where such points hang together and reach the edge
// twice, the side has *potential*. What it puts elsewhere makes its list of values less, whatever else is played, because
// a group takes the place of greater ones; but for a stone that stays alone: that adds -1 to the list, which comes before
// a value that is still less.
class LaidoPotential {
  public:
    // A stone was put there; `complete`: its group is.
    void placed(Point p, const Hexagon& hexagon, Colour colour, bool complete) {
        const std::size_t own = index(colour), enemy = 1 - own;
        if (complete) stale_[own] = complete_stale_[own] = true;
        if (stale_[enemy] || !potential_[enemy].has(p)) return;
        potential_[enemy].remove(p);
        stale_[enemy] = hexagon.on_edge(p) || parts(p, hexagon, potential_[enemy]);
    }

    // Brings up to date what is known of a colour: to be called before the questions about it.
    void look(const Hexagon& hexagon, const HexagonStones& stones, Colour colour);

    bool any(Colour colour) const { return any_[index(colour)]; }
    bool at(Point p, Colour colour) const { return potential_[index(colour)].has(p); }

    // Adds the most that the groups to come can be worth: of each stretch of potential one chain through all its
    // points. With the groups that are not worth less than nothing now, they make a list that none to come exceeds.
    void add_hopes(const Hexagon& hexagon, Colour colour, GroupValues& values) const {
        const HexagonPoints& potential = potential_[index(colour)];
        const HexagonGroups stretches(hexagon, [&](int row) { return potential.row(hexagon, row); });
        for (std::size_t r = 0; r < stretches.runs(); ++r)
            if (stretches.is_group(r)) values.add(stretches.at(r).points);
    }

  private:
    static std::size_t index(Colour colour) { return colour == Colour::white; }

    // Whether the neighbours of a point in that set are several arcs: without the point they may not hang together.
    static bool parts(Point p, const Hexagon& hexagon, const HexagonPoints& points) {
        unsigned near = 0;  // as bits in the order of the steps, which is a circle
        for (const int step : hexagon.steps()) near = near << 1 | points.has(static_cast<Point>(p + step));
        const unsigned ends = near & ~(near << 1 | near >> 5);
        return (ends & (ends - 1)) != 0;
    }

    void look_for_complete(const Hexagon& hexagon, const HexagonStones& stones, Colour colour);

    std::array<bool, 2> stale_{true, true}, complete_stale_{true, true}, any_{};
    std::array<HexagonPoints, 2> complete_;  // the stones of complete groups, and what is beside them
    std::array<HexagonPoints, 2> potential_;
};

inline void LaidoPotential::look(const Hexagon& hexagon, const HexagonStones& stones, Colour colour) {
    const std::size_t side = index(colour);
    if (!stale_[side]) return;
    if (complete_stale_[side]) look_for_complete(hexagon, stones, colour);
    const HexagonPoints &complete = complete_[side], &enemies = stones.of(other(colour));
    const HexagonGroups stretches(hexagon, [&](int row) {
        return hexagon.points_of_row(row) & ~complete.row(hexagon, row) & ~enemies.row(hexagon, row);
    });
    potential_[side] = {};
    any_[side] = false;
    for (std::size_t r = 0; r < stretches.runs(); ++r) {
        if (stretches.at(stretches.group_of(r)).edge_points < 2) continue;
        potential_[side].add_to_row(hexagon, stretches.run(r).row, stretches.run(r).points);
        any_[side] = true;
    }
    stale_[side] = false;
}

inline void LaidoPotential::look_for_complete(const Hexagon& hexagon, const HexagonStones& stones, Colour colour) {
    const HexagonGroups groups(hexagon, [&](int row) { return stones.of(colour).row(hexagon, row); });
    HexagonPoints& complete = complete_[index(colour)] = {};
    for (std::size_t r = 0; r < groups.runs(); ++r) {
        if (groups.at(groups.group_of(r)).edge_points < 2) continue;
        const auto [run, row] = groups.run(r);
        complete.add_to_row(hexagon, row - 1, run | run << 1);
        complete.add_to_row(hexagon, row, run | run << 1 | run >> 1);
        complete.add_to_row(hexagon, row + 1, run | run >> 1);
    }
    complete_stale_[index(colour)] = false;
}

}  // namespace ggp
