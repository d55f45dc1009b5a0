// Counts a square board: stones and the empty regions that touch one colour only. Knows no game's scoring rule.
#pragma once
#include <array>
#include <cstddef>

#include "chains.hpp"

namespace ggp {

// Points in empty regions that touch stones of that colour and none of the other, indexed by Colour.
struct Territory {
    std::array<int, 3> points{};
    int of(Colour colour) const { return points[static_cast<std::size_t>(colour)]; }
};

inline Territory territory(const Chains& chains) {
    Territory found;
    std::array<bool, max_area> seen{};
    std::array<Point, max_edge * max_edge> stack;
    for (int i = 0; i < chains.empties(); ++i) {
        if (seen[chains.empty(i)]) continue;
        std::size_t top = 0;
        int region = 0;
        unsigned touches = 0;  // bits 1 << Stone
        const auto visit = [&](Point p) { seen[p] = true, stack[top++] = p; };
        visit(chains.empty(i));
        while (top > 0) {
            const Point p = stack[--top];
            ++region;
            for (const Point q : chains.beside(p)) {
                const Stone stone = chains.at(q);
                touches |= 1U << stone;
                if (stone == no_stone && !seen[q]) visit(q);
            }
        }
        touches &= 1U << black_stone | 1U << white_stone;
        if (touches == 1U << black_stone) found.points[black_stone] += region;
        if (touches == 1U << white_stone) found.points[white_stone] += region;
    }
    return found;
}

}  // namespace ggp
