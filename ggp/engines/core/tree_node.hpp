// What a search tree keeps of a move, and four of these at a time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "game_state.hpp"

namespace ggp {

// What is certain about a position, however it is played on: nothing, the winner, or a draw.
enum class Proof : std::uint8_t { open, black, white, draw };

constexpr Proof won_by(Colour colour) { return colour == Colour::none ? Proof::draw : static_cast<Proof>(colour); }

// The half points of Black: 2 for a win, 1 for a draw. Not of an open position.
constexpr int points_of(Proof proof) { return proof == Proof::black ? 2 : proof == Proof::white ? 0 : 1; }

// Playouts and their half points of Black, which are counted in one go.
using Tries = std::int32_t __attribute__((vector_size(8), aligned(4)));

// A move and what is known of the position after it. Of the root there is no move.
// amaf, "all moves as first" (Brügmann 1993): of the playouts through the parent in which the side to move there made
// this move, there or later; Gelly and Silver 2007 call it rapid action value estimation.
template <class Move>
struct Node {
    std::int32_t visits = 0, points = 0;  // points are half points of Black
    Tries amaf{};
    std::uint32_t first = 0;  // of its children, which lie together; 0: it is a leaf
    std::uint16_t count = 0;  // of its children
    std::uint16_t key = 0;
    Proof proof = Proof::open;
    bool child_proven = false;  // of one of its children the proof is known
    Move move{};
};

using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

// The numbers of four nodes that lie together, each kind in a vector.
struct Four {
    Floats visits, points, amaf_visits, amaf_points;

    template <class Move>
    explicit Four(const Node<Move>* nodes) {
        static_assert(offsetof(Node<Move>, amaf) == 2 * sizeof(std::int32_t), "they are what a node begins with");
        std::array<Ints, 4> rows;
        for (std::size_t i = 0; i < 4; ++i) std::memcpy(&rows[i], nodes + i, sizeof(Ints));
        const Ints a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
        const Ints b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
        const Ints c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
        const Ints d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
        visits = __builtin_convertvector(__builtin_shufflevector(a, b, 0, 1, 4, 5), Floats);
        points = __builtin_convertvector(__builtin_shufflevector(a, b, 2, 3, 6, 7), Floats);
        amaf_visits = __builtin_convertvector(__builtin_shufflevector(c, d, 0, 1, 4, 5), Floats);
        amaf_points = __builtin_convertvector(__builtin_shufflevector(c, d, 2, 3, 6, 7), Floats);
    }
};

}  // namespace ggp
