// A small seeded random number generator for playouts: the same seed gives the same games in every process.
// Not for secrets, and not the referee's source of chance.
#pragma once
#include <cstdint>

namespace ggp {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that scatters every bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

class Rng {
  public:
    explicit Rng(std::uint64_t seed) : state_(mix64(seed + 0x2545f4914f6cdd1dULL)) {}

    std::uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }

    // Uniform over 0..n-1 without any bias; n >= 1. Lemire, "Fast random integer generation in an interval", 2019.
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = (next() >> 32) * n;
        if (static_cast<std::uint32_t>(product) < n) [[unlikely]] {
            const std::uint32_t threshold = -n % n;
            while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * n;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }

  private:
    std::uint64_t state_;
};

}  // namespace ggp
