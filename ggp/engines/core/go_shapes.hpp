// 3x3 shapes around an empty point that are worth a stone of either side: those of MoGo (Gelly, Wang, Munos, Teytaud
// 2006).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "chains.hpp"

namespace ggp {

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

    // Of an empty point: the stones around it make one of these shapes, turned, mirrored, or with the colours changed.
    bool around(const Chains& chains, Point p) const {
        const std::size_t code = surroundings(chains, p);
        return (bits_[code / 64] >> code % 64 & 1) != 0;
    }

  private:
    // The eight points around p in two bits each, from the upper left one on, row by row.
    static std::size_t surroundings(const Chains& chains, Point p) {
        const auto [w, e, s, n] = chains.beside(p);
        const auto [sw, se, nw, ne] = chains.aslant(p);
        const auto at = [&](Point q, int place) { return static_cast<std::size_t>(chains.at(q)) << 2 * place; };
        return at(nw, 0) | at(n, 1) | at(ne, 2) | at(w, 3) | at(e, 4) | at(sw, 5) | at(s, 6) | at(se, 7);
    }
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
        std::array<std::size_t, 8> fits{};
        for (int row = 0, place = 0; row < 3; ++row)
            for (int column = 0; column < 3; ++column) {
                if (row == 1 && column == 1) continue;
                int r = (turn & 1) != 0 ? 2 - row : row, c = (turn & 2) != 0 ? 2 - column : column;
                if ((turn & 4) != 0) std::swap(r, c);
                fits[static_cast<std::size_t>(place++)] =
                    stones_that_fit(shape[static_cast<std::size_t>(3 * r + c)], swapped);
            }
        mark(fits, 0, 0);
    }
    constexpr void mark(const std::array<std::size_t, 8>& fits, std::size_t place, std::size_t code) {
        if (place == 8) {
            bits_[code / 64] |= std::uint64_t{1} << code % 64;
            return;
        }
        for (std::size_t stone = 0; stone < 4; ++stone)
            if ((fits[place] >> stone & 1) != 0) mark(fits, place + 1, code | stone << 2 * place);
    }
    std::array<std::uint64_t, 1024> bits_{};
};

inline constexpr Shapes go_shapes;

}  // namespace ggp
