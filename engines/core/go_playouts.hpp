// Moves of random games of go, and priors for a search: stones that a move takes, saves or throws away, and the shape
// that it makes. No turns, no ko.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "chains.hpp"
#include "rng.hpp"
#include "surroundings.hpp"

namespace ggp {

class GoPlayouts {
  public:
    // Of the side that plays `stone`. last: the opponent's stone that was just put, 0 if there is none. The board must
    // outlive it.
    GoPlayouts(const Chains& chains, const Surroundings& around, Stone stone, Point last)
        : chains_(chains), around_(around), stone_(stone), enemy_(enemy_of(stone)), last_(last) {}

    // An answer to the last stone, by chance one of several: a point that takes or saves something there, else one
    // that makes a shape beside it; 0 if there is none. This and the shapes are MoGo's (Gelly et al. 2006).
    template <class Legal>
    Point answer(Rng& rng, Legal legal) const {
        if (last_ == 0) return 0;
        Points points;
        fight(points, legal);
        if (points.count == 0) shape(points, legal);
        return points.count == 0 ? Point{0} : points.at[rng.below(points.count)];
    }

    // Of an empty point: a stone there takes others.
    bool takes(Point p) const {
        const auto [a, b, c, d] = chains_.beside(p);
        return chains_.dies(a, enemy_, p) | chains_.dies(b, enemy_, p) | chains_.dies(c, enemy_, p) |
               chains_.dies(d, enemy_, p);
    }
    // The opponent could take it at once, and it takes nothing.
    bool gives_away(Point p) const {
        return !around_.is_roomy(p) && chains_.in_atari_after(p, stone_) && !takes(p);
    }
    bool is_eye(Point p) const { return around_.is_eye(p, stone_); }

    // Of `all` games after a move, a point or a pass, the prior number that its side wins. Set by hand;
    // a search with them beats one without by three games to one.
    int wins(int move, int all) const {
        if (move <= 0) return all / 4;
        const auto p = static_cast<Point>(move);
        if (is_eye(p)) return 0;
        if (gives_away(p)) return all / 10;
        if (takes(p) || saves(p)) return all * 4 / 5;
        const bool near = is_near(p);
        if (around_.is_shape(p)) return near ? all * 3 / 4 : all * 3 / 5;
        return near ? all * 11 / 20 : is_bare_edge(p) ? all / 5 : all / 2;
    }

  private:
    struct Points {
        std::array<Point, 16> at;
        std::uint32_t count = 0;

        void add(Point p) {
            if (count < at.size() && std::find(at.begin(), at.begin() + count, p) == at.begin() + count) at[count++] = p;
        }
    };

    // Takes the last stone, or saves a chain beside it that is in atari: by a stone there, or by taking what is round it.
    template <class Legal>
    void fight(Points& points, Legal legal) const {
        const auto take = [&](Point q) {
            if (const Point p = chains_.only_liberty(q); p != 0 && legal(p)) points.add(p);
        };
        if (chains_.at(last_) == enemy_) take(last_);
        const auto beside = chains_.beside(last_);
        each_of(beside, [&](Point q) { return chains_.in_atari(q, stone_); }, [&](Point q) {
            const Point p = chains_.only_liberty(q);  // there is one: no chain without stays on the board
            if (!gives_away(p) && legal(p)) points.add(p);
            chains_.each_stone(q, [&](Point s) {
                for (const Point e : chains_.beside(s))
                    if (chains_.at(e) == enemy_) take(e);
            });
        });
    }

    template <class Legal>
    void shape(Points& points, Legal legal) const {
        const auto [a, b, c, d] = chains_.beside(last_);
        const auto [e, f, g, h] = chains_.aslant(last_);
        const std::array<Point, 8> round{a, b, c, d, e, f, g, h};
        each_of(round, [&](Point p) { return (chains_.at(p) == no_stone) & around_.is_shape(p); }, [&](Point p) {
            if (legal(p) && !gives_away(p)) points.add(p);
        });
    }
    // Calls act of the points for which is(point) is true. First all are asked, without a branch: each is hard to
    // predict, and seldom true.
    template <std::size_t n, class Is, class Act>
    static void each_of(const std::array<Point, n>& points, Is is, Act act) {
        unsigned found = 0;
        for (std::size_t i = 0; i < n; ++i) found |= static_cast<unsigned>(is(points[i])) << i;
        for (; found != 0; found &= found - 1) act(points[static_cast<std::size_t>(std::countr_zero(found))]);
    }

    bool saves(Point p) const {
        const auto beside = chains_.beside(p);
        return std::any_of(beside.begin(), beside.end(),
                           [&](Point q) { return chains_.at(q) == stone_ && chains_.only_liberty(q, p); });
    }
    bool is_near(Point p) const {
        const auto holds = [&](const auto& points) { return std::find(points.begin(), points.end(), last_) != points.end(); };
        return last_ != 0 && (holds(chains_.beside(p)) || holds(chains_.aslant(p)));
    }
    // On the edge, and no stone touches it.
    bool is_bare_edge(Point p) const {
        bool edge = false, bare = true;
        const auto look = [&](Point q) {
            edge |= chains_.at(q) == wall;
            bare &= chains_.at(q) == wall || chains_.at(q) == no_stone;
        };
        for (const Point q : chains_.beside(p)) look(q);
        for (const Point q : chains_.aslant(p)) look(q);
        return edge && bare;
    }

    const Chains& chains_;
    const Surroundings& around_;
    Stone stone_, enemy_;
    Point last_;
};

}  // namespace ggp
