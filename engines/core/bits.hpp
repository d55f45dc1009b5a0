// Words as sets: how many bits are set, and which is the k-th. Plain C++: popcnt and pdep are not on every processor.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace ggp {

// Byte i of the answer is the number of bits set in the bytes 0..i of the word; byte 7 is that of the whole word.
constexpr std::uint64_t running_bits(std::uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return word * 0x0101010101010101;
}

constexpr int bits_in(std::uint64_t word) { return static_cast<int>(running_bits(word) >> 56); }

namespace detail {
// [k][byte]: the place of the k-th set bit of a byte.
inline constexpr auto bit_in_byte = [] {
    std::array<std::array<std::uint8_t, 256>, 8> table{};
    for (std::size_t byte = 0; byte < 256; ++byte)
        for (std::size_t bit = 0, k = 0; bit < 8; ++bit)
            if (byte >> bit & 1) table[k++][byte] = static_cast<std::uint8_t>(bit);
    return table;
}();
}  // namespace detail

// The place of the k-th set bit, k from 0 and less than the number of them. `running` is running_bits(word).
// Vigna, "Broadword implementation of rank/select queries", 2008.
constexpr int place_of_bit(std::uint64_t word, std::uint64_t running, std::uint32_t k) {
    constexpr std::uint64_t ones = 0x0101010101010101, tops = ones << 7;
    const std::uint64_t passed = ((k * ones | tops) - running) & tops;  // the bytes that end at or before the k-th bit
    const int shift = static_cast<int>(((passed >> 7) * ones >> 56) * 8);
    const std::size_t rest = k - (running << 8 >> shift & 0xff), byte = word >> shift & 0xff;
    return shift + detail::bit_in_byte[rest][byte];
}

}  // namespace ggp
