// Tiles of Taigo with the holes that they make and the cones that fill them, as values. Knows no turns and no text.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "taigo_lattice.hpp"

namespace ggp {

// One of the eight cells round a tile, as the way from the dark half, and the directions in which it touches the tile.
struct RingCell {
    Axial way;
    std::uint8_t touches;  // bit d: the neighbour in direction d is a half of the tile
};

// By the direction from the dark half to the light one: the cells round the tile, ascending.
inline constexpr std::array<std::array<RingCell, 8>, 6> tile_rings = [] {
    std::array<std::array<RingCell, 8>, 6> rings{};
    for (std::size_t direction = 0; direction < 6; ++direction) {
        const Axial dark{0, 0}, light = axial_steps[direction];
        std::size_t found = 0;
        for (std::int16_t q = -2; q <= 2; ++q)
            for (std::int16_t r = -2; r <= 2; ++r) {
                const Axial cell{q, r};
                if (cell == dark || cell == light) continue;
                unsigned touches = 0;
                for (unsigned d = 0; d < 6; ++d)
                    if (cell + axial_steps[d] == dark || cell + axial_steps[d] == light) touches |= 1U << d;
                if (touches != 0) rings[direction][found++] = {cell, static_cast<std::uint8_t>(touches)};
            }
    }
    return rings;
}();

// A tile and what fills the holes that it makes: two bits for each cell of the ring, a Colour.
struct TaigoMove {
    Axial dark;
    std::uint8_t direction;  // from the dark half to the light one
    std::uint16_t cones = 0;

    Axial light() const { return dark + axial_steps[direction]; }
    Colour cone(std::size_t i) const { return static_cast<Colour>(cones >> 2 * i & 3); }
    Axial cone_at(std::size_t i) const { return dark + tile_rings[direction][i].way; }
    bool operator==(const TaigoMove&) const = default;
};

// The ways to fill holes: each way two bits a hole, a Colour. There are at most four holes, because no two of them are
// adjacent and the ring has eight cells, and so at most sixteen ways.
inline constexpr int most_holes = 4;
struct Fillings {
    std::uint8_t count = 0;
    std::array<std::uint8_t, 16> ways{};
};

// [holes][dark cones left][light cones left], more than four cones counting as four: all ways to put
// min(holes, cones left) cones, in the order of their texts if all holes are filled.
inline constexpr auto all_fillings = [] {
    std::array<std::array<std::array<Fillings, 5>, 5>, 5> all{};
    for (std::size_t holes = 0; holes < 5; ++holes)
        for (std::size_t dark = 0; dark < 5; ++dark)
            for (std::size_t light = 0; light < 5; ++light) {
                Fillings& fillings = all[holes][dark][light];
                for (unsigned digits = 0; digits < 1U << 2 * holes; ++digits) {  // the first hole's digit leads
                    std::size_t used[4] = {0, 0, 0, 0};
                    unsigned way = 0;
                    for (std::size_t hole = 0; hole < holes; ++hole) {
                        const unsigned colour = digits >> 2 * (holes - 1 - hole) & 3;
                        ++used[colour];
                        way |= colour << 2 * hole;
                    }
                    if (used[3] > 0 || used[1] > dark || used[2] > light) continue;
                    if (used[1] + used[2] == std::min(holes, dark + light))
                        fillings.ways[fillings.count++] = static_cast<std::uint8_t>(way);
                }
            }
    return all;
}();

// What each colour has of something: three values, by Colour.
template <class Value>
struct ByColour : std::array<Value, 3> {
    Value& operator[](Colour c) { return std::array<Value, 3>::operator[](static_cast<std::size_t>(c)); }
    const Value& operator[](Colour c) const { return std::array<Value, 3>::operator[](static_cast<std::size_t>(c)); }
};

// The cones that both sides share.
struct Supply : ByColour<int> {
    int all() const { return (*this)[Colour::black] + (*this)[Colour::white]; }
    const Fillings& fillings(int holes) const {
        const auto index = [](int cones) { return static_cast<std::size_t>(std::min(cones, most_holes)); };
        return all_fillings[index(holes)][index((*this)[Colour::black])][index((*this)[Colour::white])];
    }
};

// The holes that a tile makes: which cells of its ring, ascending.
struct Holes {
    int count = 0;
    std::array<std::uint8_t, most_holes> ring{};

    TaigoMove filled(TaigoMove move, std::uint8_t way) const {
        unsigned cones = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) cones |= (way >> 2 * i & 3U) << 2 * ring[i];
        move.cones = static_cast<std::uint16_t>(cones);
        return move;
    }
};

// Of a tile on two empty cells, at least one of them beside an occupied cell.
inline Holes holes_of(const Lattice& lattice, const TaigoMove& tile) {
    Holes holes;
    const Lattice::Place dark = lattice.place(tile.dark);
    if ((lattice[dark].gaps | lattice[dark + lattice.step(tile.direction)].gaps) == 0) return holes;
    for (std::uint8_t i = 0; i < 8; ++i) {
        const RingCell& ring = tile_rings[tile.direction][i];
        const Lattice::Cell& cell = lattice[lattice.place(tile.dark + ring.way)];
        if (cell.colour == Colour::none && (cell.beside | ring.touches) == 63)
            holes.ring[static_cast<std::size_t>(holes.count++)] = i;
    }
    return holes;
}

}  // namespace ggp
