// What a search tree keeps of its moves: a number of each, kind by kind, so that those of neighbours are read in one go.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "game_state.hpp"

namespace ggp {

// What is certain about a position, however it is played on: nothing, the winner, or a draw.
enum class Proof : std::uint8_t { open, black, white, draw };

constexpr Proof won_by(Colour colour) { return colour == Colour::none ? Proof::draw : static_cast<Proof>(colour); }

// The half points of Black: 2 for a win, 1 for a draw. Not of an open position.
constexpr int points_of(Proof proof) { return proof == Proof::black ? 2 : proof == Proof::white ? 0 : 1; }

// A move and what is known of the position after it. Of the root there is no move.
// amaf, "all moves as first" (Brügmann 1993): of the playouts through the parent in which the side to move there made
// this move, there or later; Gelly and Silver 2007 call it rapid action value estimation.
template <class Move>
struct Node {
    std::int32_t visits = 0, points = 0;  // points are half points of Black
    std::int32_t amaf_visits = 0, amaf_points = 0;
    std::uint32_t first = 0;  // of its children, which lie together; 0: it is a leaf
    std::uint16_t count = 0;  // of its children
    std::uint16_t key = 0;
    Proof proof = Proof::open;
    bool child_proven = false;  // of one of its children the proof is known
    Move move{};
};

// The nodes of a tree, by their numbers from 0 on.
template <class Move>
class Nodes {
  public:
    static constexpr std::size_t lanes = 8;  // so many are read in one go, and may be behind the last one

    struct Link {
        std::uint32_t first = 0;
        std::uint16_t count = 0;
        Proof proof = Proof::open;
        bool child_proven = false;
    };

    void reserve(std::size_t most) {
        each([&](auto& column) { column.reserve(most + lanes); });
    }
    std::size_t size() const { return size_; }

    // Of those that are new all is as of a Node{}.
    void resize(std::size_t size) {
        const std::size_t kept = std::min(size, size_);
        each([&](auto& column) { column.resize(kept), column.resize(size + lanes); });
        size_ = size;
    }
    Node<Move> operator[](std::size_t i) const {
        const Link& link = links[i];
        return {visits[i], points[i], amaf_visits[i], amaf_points[i], link.first, link.count,
                keys[i], link.proof, link.child_proven, moves[i]};
    }
    // `count` nodes from `from` on go to `to`, which is less.
    void move_down(std::size_t from, std::size_t count, std::size_t to) {
        each([&](auto& column) {
            const auto begin = column.begin() + static_cast<std::ptrdiff_t>(from);
            std::copy(begin, begin + static_cast<std::ptrdiff_t>(count), column.begin() + static_cast<std::ptrdiff_t>(to));
        });
    }
    // They are read next: most of a large tree is in no cache.
    void fetch(std::size_t first, std::size_t count) const {
        const auto fetch = [&](const auto& column) {
            const char* const begin = reinterpret_cast<const char*>(column.data() + first);
            for (std::size_t byte = 0; byte < count * sizeof column[0]; byte += 64) __builtin_prefetch(begin + byte);
        };
        fetch(visits), fetch(points), fetch(amaf_visits), fetch(amaf_points), fetch(keys);
    }

    std::vector<std::int32_t> visits, points, amaf_visits, amaf_points;
    std::vector<std::uint16_t> keys;
    std::vector<Link> links;
    std::vector<Move> moves;

  private:
    template <class Do>
    void each(Do act) {
        act(visits), act(points), act(amaf_visits), act(amaf_points), act(keys), act(links), act(moves);
    }

    std::size_t size_ = 0;
};

}  // namespace ggp
