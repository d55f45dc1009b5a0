// The moves of Taigo as text, and the order of their texts: made fast, because a position has hundreds of them.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "taigo_holes.hpp"

namespace ggp {

// The numbers of the lattice as text, made once: -512..511.
class Decimals {
  public:
    static constexpr int half = 512;

    struct Digits {
        char text[4];
        std::uint8_t length;
        std::uint8_t turn;  // in which order the number, its predecessor and its successor are: an index for turns
    };
    Decimals();
    const Digits& operator[](int number) const { return digits_[static_cast<std::size_t>(number + half)]; }

    // The numbers from low to high in the order of their texts; `into` has room for them. Returns the end.
    std::int16_t* sorted(int low, int high, std::int16_t* into) const {
        for (const std::int16_t number : by_text_[low >= -16 && high < 16 ? 0 : low >= -128 && high < 128 ? 1 : 2])
            if (low <= number && number <= high) *into++ = number;
        return into;
    }

    // By the turns of q and of r: the six directions from q,r in the order of the texts of the cells there.
    const std::array<std::uint8_t, 6>& directions(Axial a) const {
        return directions_[(*this)[a.q].turn][(*this)[a.r].turn];
    }

  private:
    int rank(int number) const { return rank_[static_cast<std::size_t>(number + half)]; }

    std::array<Digits, 2 * half> digits_{};
    std::array<int, 2 * half> rank_{};
    std::array<std::vector<std::int16_t>, 3> by_text_;  // of -16..15, -128..127, all
    std::array<std::array<std::array<std::uint8_t, 6>, 8>, 8> directions_{};
};

inline Decimals::Decimals() {
    std::vector<std::int16_t> all(2 * half);
    std::iota(all.begin(), all.end(), static_cast<std::int16_t>(-half));
    for (const int number : all) {
        Digits& digits = digits_[static_cast<std::size_t>(number + half)];
        const char* const end = std::to_chars(digits.text, digits.text + 4, number).ptr;
        digits.length = static_cast<std::uint8_t>(end - digits.text);
    }
    const auto text = [this](int number) { return std::string_view((*this)[number].text, (*this)[number].length); };
    std::sort(all.begin(), all.end(), [&](int a, int b) { return text(a) < text(b); });
    for (std::size_t i = 0; i < all.size(); ++i) rank_[static_cast<std::size_t>(all[i] + half)] = static_cast<int>(i);
    for (std::size_t list = 0; list < 3; ++list)
        for (const std::int16_t number : all)
            if (const int reach = std::array{16, 128, half}[list]; -reach <= number && number < reach)
                by_text_[list].push_back(number);
    std::array<std::array<int, 3>, 8> ranks{};  // by turn: what stands for the ranks of n-1, n, n+1
    for (int n = 1 - half; n < half - 1; ++n) {
        const int a = rank(n - 1), b = rank(n), c = rank(n + 1);
        const std::size_t turn = (a < b ? 1U : 0U) | (b < c ? 2U : 0U) | (a < c ? 4U : 0U);
        digits_[static_cast<std::size_t>(n + half)].turn = static_cast<std::uint8_t>(turn);
        ranks[turn] = {a, b, c};
    }
    for (std::size_t q = 0; q < 8; ++q)
        for (std::size_t r = 0; r < 8; ++r) {
            auto& directions = directions_[q][r];
            std::iota(directions.begin(), directions.end(), std::uint8_t{0});
            const auto key = [&](std::uint8_t d) {
                return std::pair(ranks[q][static_cast<std::size_t>(axial_steps[d].q + 1)],
                                 ranks[r][static_cast<std::size_t>(axial_steps[d].r + 1)]);
            };
            std::sort(directions.begin(), directions.end(), [&](auto a, auto b) { return key(a) < key(b); });
        }
}

inline const Decimals decimal_texts;

// A short text that needs no memory of its own: "-399,-399/-398,-399" and four cones are 67 characters.
class MoveText {
  public:
    operator std::string_view() const { return {text_, size_}; }  // NOLINT: it is its text

    MoveText& add(char c) {
        text_[size_++] = c;
        return *this;
    }
    MoveText& add(Axial a) { return add_number(a.q).add(',').add_number(a.r); }

  private:
    MoveText& add_number(int number) {
        const Decimals::Digits& digits = decimal_texts[number];
        std::memcpy(text_ + size_, digits.text, 4);
        size_ += digits.length;
        return *this;
    }

    char text_[80];
    std::size_t size_ = 0;
};

inline std::string cell_name(Axial a) { return std::string(std::string_view(MoveText{}.add(a))); }

inline MoveText move_text(const TaigoMove& move) {
    MoveText text;
    text.add(move.dark).add('/').add(move.light());
    if (move.cones == 0) return text;
    for (std::size_t i = 0; i < 8; ++i)
        if (const Colour colour = move.cone(i); colour != Colour::none)
            text.add('+').add(colour == Colour::black ? 'd' : 'l').add(':').add(move.cone_at(i));
    return text;
}

}  // namespace ggp
