// Keys for 64-bit position hashes: the same in every process, because they are computed when this is compiled.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "rng.hpp"

namespace ggp {

// keys[kind][cell]: XOR over the occupied cells gives the hash of a board. Tabulation hashing; Zobrist 1970.
template <std::size_t Kinds, std::size_t Cells>
constexpr std::array<std::array<std::uint64_t, Cells>, Kinds> zobrist_keys(std::uint64_t seed) {
    std::array<std::array<std::uint64_t, Cells>, Kinds> keys{};
    for (std::size_t kind = 0; kind < Kinds; ++kind)
        for (std::size_t cell = 0; cell < Cells; ++cell)
            keys[kind][cell] = mix64(seed + 0x9e3779b97f4a7c15ULL * (kind * Cells + cell + 1));
    return keys;
}

// Hashes a sequence of words, order included: what a position is apart from the board (options, side, phase, tokens).
class Digest {
  public:
    explicit Digest(std::uint64_t start) : value_(mix64(start)) {}

    Digest& add(std::uint64_t word) {
        value_ = mix64(value_ ^ mix64(word + 0x9e3779b97f4a7c15ULL)) + 0x9e3779b97f4a7c15ULL;
        return *this;
    }

    std::uint64_t value() const { return mix64(value_); }

  private:
    std::uint64_t value_;
};

}  // namespace ggp
