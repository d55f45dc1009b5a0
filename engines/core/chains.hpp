// Stones on a square grid with their chains and liberties kept up to date move by move: the machine under go and yugo.
// Knows no rule of play: no turns, no ko, no kinds of pieces.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "rng.hpp"
#include "square.hpp"

namespace ggp {

// Content of a point. Black and white have the values of Colour.
enum Stone : std::uint8_t { no_stone = 0, black_stone = 1, white_stone = 2, wall = 3 };

constexpr Stone stone_of(Colour colour) { return static_cast<Stone>(colour); }
constexpr Stone enemy_of(Stone stone) { return static_cast<Stone>(3 - stone); }

// The liberties of a chain are kept as three sums over its pairs (stone, adjacent empty point p), packed into a word:
// their number (11 bits), the sum of p (20 bits), the sum of p*p (30 bits). At 25x25 there are 1200 pairs at most and
// p < 703, so no field overflows, and a pair is added or taken by one addition. All pairs have the same p iff
// number * sum of squares = sum * sum (Cauchy-Schwarz): so "p is the only liberty" is an exact comparison.
using Liberties = std::uint64_t;

constexpr Liberties liberty(Point p) {
    return 1 | static_cast<Liberties>(p) << 11 | static_cast<Liberties>(p) * p << 31;
}
inline constexpr Liberties count_mask = (1 << 11) - 1, sum_mask = (1 << 20) - 1;

class Chains {
  public:
    explicit Chains(int edge);
    Chains(const Chains& from) : Chains(Raw{}) { *this = from; }
    Chains& operator=(const Chains& from);  // copies only the part of the arrays that the board uses

    Stone at(Point p) const { return stone_[p]; }
    std::array<Point, 4> beside(Point p) const {
        return {static_cast<Point>(p - 1), static_cast<Point>(p + 1), static_cast<Point>(p - stride_),
                static_cast<Point>(p + stride_)};
    }
    std::array<Point, 4> aslant(Point p) const {
        return {static_cast<Point>(p - 1 - stride_), static_cast<Point>(p + 1 - stride_),
                static_cast<Point>(p - 1 + stride_), static_cast<Point>(p + 1 + stride_)};
    }

    // Of a stone: the stone that stands for its chain, whether the chain has a liberty, the chain's size.
    Point head(Point p) const { return head_[p]; }
    bool breathes(Point p) const { return liberties_[head_[p]] != 0; }
    int size(Point p) const { return size_[head_[p]]; }

    int empties() const { return empties_; }
    Point empty(int index) const { return empty_[static_cast<std::size_t>(index)]; }

    // Of an empty point p: the chain at q beside it has no liberty but p.
    bool only_liberty(Point q, Point p) const {
        const Liberties all = liberties_[head_[q]];
        return all == (all & count_mask) * liberty(p);
    }

    // Of a stone: the only liberty of its chain; 0 if it has none or several.
    Point only_liberty(Point q) const { return only_one(liberties_[head_[q]]); }

    // `stone` stands on q, and its chain has one liberty at most. Without a branch, as in `dead`.
    bool in_atari(Point q, Stone stone) const { return (stone_[q] == stone) & one_at_most(liberties_[head_[q]]); }

    // Of an empty point: the chain that a stone there would belong to has one liberty at most, if it takes nothing.
    bool in_atari_after(Point p, Stone stone) const;

    // `stone` stands on q, and its chain has no liberty. The halves of the condition are joined without a branch: each
    // is hard to predict, both together are seldom true. (For an empty point or a wall liberties_ is never asked alone.)
    bool dead(Point q, Stone stone) const { return ((stone_[q] ^ stone) | liberties_[head_[q]]) == 0; }

    // The same, once the empty point p beside q is taken away from it.
    bool dies(Point q, Stone stone, Point p) const {
        const Liberties all = liberties_[head_[q]];
        return ((stone_[q] ^ stone) | (all ^ (all & count_mask) * liberty(p))) == 0;
    }

    // Of an empty point: a stone there would have a liberty, captures taken. True if a neighbour is empty, or a friend
    // with another liberty, or an enemy without. This is legality in go (but for ko) and in yugo.
    bool playable(Point p, Stone stone) const {
        const auto [a, b, c, d] = beside(p);
        if (!stone_[a] | !stone_[b] | !stone_[c] | !stone_[d]) return true;
        return lets(a, p, stone) | lets(b, p, stone) | lets(c, p, stone) | lets(d, p, stone);
    }

    // All four neighbours are `stone` or wall, and not enough of the diagonals are enemies to make it false.
    bool is_eye(Point p, Stone stone) const;

    // Puts a stone on an empty point and joins chains. Captures nothing: chains may be left without a liberty.
    void put(Point p, Stone stone);

    // Takes the whole chain of p off the board; returns its size.
    int lift(Point p);

    // Takes the stones of p's chain off for which keep(point) is false; the others form new chains.
    // Returns how many were taken.
    template <class Keep>
    int thin(Point p, Keep keep);

    template <class Visit>
    void each_stone(Point p, Visit visit) const {
        Point s = p;
        do {
            visit(s);
            s = next_[s];
        } while (s != p);
    }

    // Draws empty points at random, each once, until accept(p) is true. `tokens` further candidates (a pass, a button)
    // are always accepted. Returns the point, or minus the token's number (1..tokens), or 0 if there is nothing.
    // Each of the acceptable is exactly equally likely: the first acceptable one of a random order.
    template <class Accept>
    int draw(Rng& rng, int tokens, Accept accept);

  private:
    struct Raw {};
    explicit Chains(Raw) {}

    // The point that all these pairs have; 0 if there are none or several.
    static Point only_one(Liberties all) {
        const Liberties count = all & count_mask;
        return count != 0 && one_at_most(all) ? static_cast<Point>((all >> 11 & sum_mask) / count) : Point{0};
    }
    // All these pairs have the same point, or there are none.
    static bool one_at_most(Liberties all) {
        const Liberties sum = all >> 11 & sum_mask;
        return (all & count_mask) * (all >> 31) == sum * sum;
    }

    unsigned lets(Point q, Point p, Stone stone) const {
        const unsigned only = only_liberty(q, p);
        return (static_cast<unsigned>(stone_[q] == stone) & (only ^ 1U)) |
               (static_cast<unsigned>(stone_[q] == enemy_of(stone)) & only);
    }
    void occupy(Point p) {
        const Point last = empty_[static_cast<std::size_t>(--empties_)];
        const Point place = place_[p];
        empty_[place] = last;
        place_[last] = place;
    }
    void vacate(Point p) {
        place_[p] = static_cast<Point>(empties_);
        empty_[static_cast<std::size_t>(empties_++)] = p;
    }
    Liberties own_liberties(Point p) const {
        Liberties sum = 0;
        for (const Point q : beside(p)) sum += liberty(q) & -static_cast<Liberties>(stone_[q] == no_stone);
        return sum;
    }
    void add_to_neighbours(Point p, Liberties change) {
        // Empty points and walls are heads of themselves: what is added there is never read.
        for (const Point q : beside(p)) liberties_[head_[q]] += change;
    }
    void join(Point a, Point b);

    int edge_, stride_, area_, empties_;
    std::array<Stone, max_area> stone_;
    std::array<Point, max_area> head_;   // the stone that stands for the chain; the point itself if there is no stone
    std::array<Point, max_area> next_;   // the chain as a ring
    std::array<Point, max_area> size_;   // by head
    std::array<Point, max_area> place_;  // of an empty point: its index in empty_
    std::array<Point, max_area> empty_;  // the empty points, in no order
    std::array<Liberties, max_area> liberties_;  // by head
};

inline Chains::Chains(int edge) : edge_(edge), stride_(edge + 1), area_((edge + 2) * (edge + 1) + 1), empties_(0) {
    stone_.fill(wall);
    for (int p = 0; p < area_; ++p) head_[static_cast<std::size_t>(p)] = static_cast<Point>(p);
    next_.fill(0), size_.fill(0), place_.fill(0), empty_.fill(0), liberties_.fill(0);
    for (int row = 1; row <= edge; ++row)
        for (int column = 1; column <= edge; ++column) {
            const auto p = static_cast<Point>(row * stride_ + column);
            stone_[p] = no_stone;
            vacate(p);
        }
}

inline Chains& Chains::operator=(const Chains& from) {
    edge_ = from.edge_, stride_ = from.stride_, area_ = from.area_, empties_ = from.empties_;
    const auto copy = [this](auto& to, const auto& source) { std::copy_n(source.begin(), area_, to.begin()); };
    copy(stone_, from.stone_), copy(head_, from.head_), copy(next_, from.next_), copy(size_, from.size_);
    copy(place_, from.place_), copy(empty_, from.empty_), copy(liberties_, from.liberties_);
    return *this;
}

inline bool Chains::is_eye(Point p, Stone stone) const {
    for (const Point q : beside(p))
        if (stone_[q] != stone && stone_[q] != wall) return false;
    int enemies = 0, walls = 0;
    for (const Point q : aslant(p)) {
        enemies += stone_[q] == enemy_of(stone);
        walls += stone_[q] == wall;
    }
    return enemies + (walls > 0) < 2;
}

// The pairs of all that it would join, of each chain once, without those that p itself is in, and its own new ones.
inline bool Chains::in_atari_after(Point p, Stone stone) const {
    const auto beside = this->beside(p);
    Liberties all = own_liberties(p);
    for (std::size_t i = 0; i < beside.size(); ++i) {
        if (stone_[beside[i]] != stone) continue;
        all -= liberty(p);
        const auto same = [&](Point q) { return stone_[q] == stone && head_[q] == head_[beside[i]]; };
        if (std::none_of(beside.begin(), beside.begin() + i, same)) all += liberties_[head_[beside[i]]];
    }
    return one_at_most(all);
}

inline void Chains::put(Point p, Stone stone) {
    occupy(p);
    stone_[p] = stone;
    next_[p] = p;
    size_[p] = 1;
    add_to_neighbours(p, -liberty(p));
    liberties_[p] = own_liberties(p);
    for (const Point q : beside(p))
        if (stone_[q] == stone) join(p, q);
}

inline void Chains::join(Point a, Point b) {
    a = head_[a], b = head_[b];
    if (a == b) return;
    if (size_[a] < size_[b]) std::swap(a, b);
    Point s = b;
    do {
        head_[s] = a;
        s = next_[s];
    } while (s != b);
    std::swap(next_[a], next_[b]);
    size_[a] = static_cast<Point>(size_[a] + size_[b]);
    liberties_[a] += liberties_[b];
}

inline int Chains::lift(Point p) {
    int count = 0;
    Point s = p;
    do {
        const Point after = next_[s];
        stone_[s] = no_stone;
        head_[s] = s;
        vacate(s);
        add_to_neighbours(s, liberty(s));
        ++count;
        s = after;
    } while (s != p);
    return count;
}

template <class Keep>
int Chains::thin(Point p, Keep keep) {
    std::array<Point, max_edge * max_edge> kept;
    std::size_t keeps = 0;
    int taken = 0;
    const Stone stone = stone_[p];
    Point s = p;
    do {  // the kept stones wait outside of any chain, with the wall 0 for a head
        if (keep(s)) kept[keeps++] = s, head_[s] = 0;
        else stone_[s] = no_stone, head_[s] = s;
        s = next_[s];
    } while (s != p);
    do {
        const Point after = next_[s];
        if (stone_[s] == no_stone) {
            vacate(s);
            add_to_neighbours(s, liberty(s));
            ++taken;
        }
        s = after;
    } while (s != p);
    for (std::size_t i = 0; i < keeps; ++i) {
        const Point k = kept[i];
        head_[k] = next_[k] = k;
        size_[k] = 1;
        liberties_[k] = own_liberties(k);
        for (const Point q : beside(k))
            if (stone_[q] == stone && head_[q] != 0) join(k, q);
    }
    return taken;
}

template <class Accept>
int Chains::draw(Rng& rng, int tokens, Accept accept) {
    for (int left = empties_; left + tokens > 0;) {
        const int i = static_cast<int>(rng.below(static_cast<std::uint32_t>(left + tokens)));
        if (i >= left) return -(i - left + 1);
        const auto index = static_cast<std::size_t>(i), end = static_cast<std::size_t>(--left);
        const Point p = empty_[index], q = empty_[end];
        if (accept(p)) return p;
        empty_[index] = q, place_[q] = static_cast<Point>(i);
        empty_[end] = p, place_[p] = static_cast<Point>(left);
    }
    return 0;
}

}  // namespace ggp
