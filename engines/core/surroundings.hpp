// What stands on the eight points around each point of a board, in a word that is kept up to date stone by stone, and
// what follows from that alone: eyes, room, and the 3x3 shapes that are worth a stone of either side, those of MoGo
// (Gelly, Wang, Munos, Teytaud 2006).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "chains.hpp"

namespace ggp {

// Two bits of a word for each of the eight: the four beside in the low byte, as Chains::beside has them, the four aslant
// in the high one.
namespace around {

constexpr unsigned at(unsigned word, int place) { return word >> 2 * place & 3; }

constexpr bool is_eye(unsigned word, unsigned stone) {
    int enemies = 0, walls = 0;
    for (int place = 0; place < 4; ++place)
        if (at(word, place) != stone && at(word, place) != wall) return false;
    for (int place = 4; place < 8; ++place) enemies += at(word, place) == 3 - stone, walls += at(word, place) == wall;
    return enemies + (walls > 0) < 2;
}

enum : std::uint8_t { black_eye = black_stone, white_eye = white_stone, roomy = 4 };

// Of one byte of a word. A point is an eye if both bytes of its word say so.
constexpr std::array<std::uint8_t, 256> facts(bool aslant) {
    std::array<std::uint8_t, 256> facts{};
    for (unsigned byte = 0; byte < facts.size(); ++byte) {
        for (const unsigned stone : {1U, 2U}) {
            const unsigned others = stone * (aslant ? 0x0055U : 0x5500U);  // own stones
            if (is_eye(others | byte << (aslant ? 8 : 0), stone)) facts[byte] |= static_cast<std::uint8_t>(stone);
        }
        int empty = 0;
        for (int place = 0; place < 4; ++place) empty += at(byte, place) == no_stone;
        if (!aslant && empty >= 2) facts[byte] |= roomy;
    }
    return facts;
}
inline constexpr auto beside_facts = facts(false), aslant_facts = facts(true);

// Of a word: it is one of the shapes, turned, mirrored, or with the colours changed.
class Shapes {
  public:
    constexpr Shapes() {
        // Row by row. X and O: the two colours; x and o: not X, not O; .: empty; #: beyond the edge; ?: anything.
        constexpr std::array<std::string_view, 12> shapes{
            "XOX...???", "XO....?.?", "XO?X..x.?",                            // hane
            "XO?O.o?o?", "XO?O.X???", "?X?O.Oooo", "OX?o.O???",               // cuts
            "X.?O.?###", "OX?X.O###", "?X?x.O###", "?XOx.x###", "?OXX.O###",  // at the edge
        };
        for (const std::string_view shape : shapes)
            for (int turn = 0; turn < 8; ++turn)
                for (const bool swapped : {false, true}) mark(shape, turn, swapped);
    }
    bool has(std::size_t word) const { return (bits_[word / 64] >> word % 64 & 1) != 0; }

  private:
    // What may stand there, a bit for each Stone.
    static constexpr std::size_t stones_that_fit(char c, bool swapped) {
        const std::size_t x = swapped ? 4 : 2, o = 6 - x;
        switch (c) {
            case 'X': return x;
            case 'O': return o;
            case 'x': return 1 | o;
            case 'o': return 1 | x;
            case '.': return 1;
            case '#': return 8;
            default: return 15;
        }
    }
    constexpr void mark(std::string_view shape, int turn, bool swapped) {
        constexpr std::array<std::size_t, 9> places{6, 3, 7, 0, 8, 1, 4, 2, 5};  // 8: the point itself
        std::array<std::size_t, 9> fits{};
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column) {
                int r = (turn & 1) != 0 ? 2 - row : row, c = (turn & 2) != 0 ? 2 - column : column;
                if ((turn & 4) != 0) std::swap(r, c);
                fits[places[static_cast<std::size_t>(3 * row + column)]] =
                    stones_that_fit(shape[static_cast<std::size_t>(3 * r + c)], swapped);
            }
        mark(fits, 0, 0);
    }
    constexpr void mark(const std::array<std::size_t, 9>& fits, std::size_t place, std::size_t word) {
        if (place == 8) {
            bits_[word / 64] |= std::uint64_t{1} << word % 64;
            return;
        }
        for (std::size_t stone = 0; stone < 4; ++stone)
            if ((fits[place] >> stone & 1) != 0) mark(fits, place + 1, word | stone << 2 * place);
    }
    std::array<std::uint64_t, 1024> bits_{};
};
inline constexpr Shapes shapes;

}  // namespace around

class Surroundings {
  public:
    explicit Surroundings(int edge) : stride_(edge + 1), area_((edge + 2) * stride_ + 1) {
        words_.fill(0xffff);  // walls everywhere; then the points
        for (int row = 1; row <= edge; ++row)
            for (int column = 1; column <= edge; ++column) change(static_cast<Point>(row * stride_ + column), wall);
    }
    Surroundings(const Surroundings& from) { *this = from; }
    Surroundings& operator=(const Surroundings& from) {  // copies only the part that the board uses
        stride_ = from.stride_, area_ = from.area_;
        std::copy_n(from.words_.begin(), area_, words_.begin());
        return *this;
    }

    // A stone comes to p, or goes from there.
    void change(Point p, Stone stone) {
        std::uint16_t* const at = words_.data() + p;
        const auto turn = [&](int offset, int place) {
            at[offset] = static_cast<std::uint16_t>(at[offset] ^ static_cast<unsigned>(stone) << 2 * place);
        };
        turn(1, 0), turn(-1, 1), turn(stride_, 2), turn(-stride_, 3);
        turn(stride_ + 1, 4), turn(stride_ - 1, 5), turn(1 - stride_, 6), turn(-1 - stride_, 7);
    }

    bool is_eye(Point p, Stone stone) const {
        const unsigned word = words_[p];
        return (around::beside_facts[word & 255] & around::aslant_facts[word >> 8] & stone) != 0;
    }
    // Two of the points beside p are empty.
    bool is_roomy(Point p) const { return (around::beside_facts[words_[p] & 255U] & around::roomy) != 0; }
    bool is_shape(Point p) const { return around::shapes.has(words_[p]); }

  private:
    int stride_, area_;
    std::array<std::uint16_t, max_area> words_;
};

}  // namespace ggp
