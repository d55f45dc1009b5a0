// Visibility of stones on a hexagon of cells, and control of cells by it: updated stone by stone. No turns.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "bits.hpp"
#include "game_state.hpp"
#include "hexagon.hpp"

namespace ggp {

// A Cell is the rank of a cell in the bytewise order of the names, and a bit in sets of cells: in ascending order these
// are a sorted list of moves.
using Cell = std::int16_t;

inline constexpr int max_cell_words = (max_hexagon_cells + 63) / 64;

// One word of a set of Black's and the same word of White's, in one register.
typedef std::uint64_t BothSides __attribute__((vector_size(16)));

// Which lines cross in a cell, and which cells lie between two places of a line. One table for each side of a hexagon.
class VisibilityLines {
  public:
    static constexpr int max_lines = 3 * (2 * max_side - 1);

    // The places on a line are 1, 2, ..; beyond its ends, at 0 and after the last, something that is never a cell.
    struct Crossing {
        std::array<std::uint8_t, 3> line, place;
        std::array<std::uint16_t, 3> before;  // where `before` has the cells of that line before that place
    };

    int words, lines = 0;
    std::array<Crossing, max_hexagon_cells> at;
    // Row by row of `words` words: for each line and each k the cells at places less than k, k from 0 to the second
    // number after the last place.
    std::vector<std::uint64_t> before;
    std::array<std::uint32_t, max_lines> ends{};  // bits by place: what lies beyond the ends
    std::array<std::uint64_t, max_cell_words> board{};
    // Virtual stones beyond the border: see Visibility.
    std::array<std::array<BothSides, 6>, max_cell_words> beyond{};
    std::array<Cell, max_hexagon_area> cell_of{};  // by Point

    static const VisibilityLines* of(int side);  // made once for each side

  private:
    explicit VisibilityLines(const Hexagon& hexagon);
    void add_line(const Hexagon& hexagon, std::size_t axis, int q, int r);
    void add_beyond(const Hexagon& hexagon, Point p);
};

// Each cell sees at most one stone in each of six directions. So there are six sets for each side: the cells that see
// one of its stones there. A stone changes nothing but, in each direction, a stretch of cells from its own up to the
// next stone, which now see it: that is one mask, looked up by the two places on the line, and no cell is visited.
//
// Control is then counted for a whole word of cells at once, and for all cells alike: four stones or more. A cell at the
// border needs fewer, so it sees some of both sides' beyond the border: 1 on an edge (3 of 4 neighbours), 2 in a corner.
class Visibility {
  public:
    explicit Visibility(int side);

    // A stone of that side on a cell, instead of what was there.
    void put(Cell cell, Colour colour);

    Colour stone(Cell cell) const { return owner(cell, &Word::stones); }
    Colour control(Cell cell) const { return owner(cell, &Word::control); }
    int words() const { return lines_->words; }

    // Sets of cells, word by word.
    std::uint64_t stones(int word, Colour colour) const { return at(word).stones[index(colour)]; }
    std::uint64_t controlled(int word, Colour colour) const { return at(word).control[index(colour)]; }
    std::uint64_t empty(int word) const {
        return lines_->board[static_cast<std::size_t>(word)] & ~(at(word).stones[0] | at(word).stones[1]);
    }

    // How many stones of that colour a cell sees, and how many would control it.
    int seen(Cell cell, Colour colour) const { return looks(cell, words_[word_of(cell)].seen, colour) - given(cell); }
    int needed(Cell cell) const { return 4 - given(cell); }

  private:
    struct Word {
        BothSides stones, control;
        std::array<BothSides, 6> seen;
    };

    static std::size_t index(Colour colour) { return colour == Colour::white; }
    const Word& at(int word) const { return words_[static_cast<std::size_t>(word)]; }
    Colour owner(Cell cell, BothSides Word::*set) const {
        const BothSides both = at(cell >> 6).*set >> (cell & 63) & 1;
        return static_cast<Colour>(both[0] + 2 * both[1]);
    }
    static std::size_t word_of(Cell cell) { return static_cast<std::size_t>(cell >> 6); }
    static int looks(Cell cell, const std::array<BothSides, 6>& seen, Colour colour) {
        int count = 0;
        for (const BothSides& direction : seen) count += static_cast<int>(direction[index(colour)] >> (cell & 63) & 1);
        return count;
    }
    int given(Cell cell) const { return looks(cell, lines_->beyond[word_of(cell)], Colour::black); }
    static BothSides at_least_four(const std::array<BothSides, 6>& seen);

    const VisibilityLines* lines_;
    std::array<Word, max_cell_words> words_{};
    std::array<std::uint32_t, VisibilityLines::max_lines> stones_on_;  // bits by place, the ends among them
};

inline Visibility::Visibility(int side) : lines_(VisibilityLines::of(side)), stones_on_(lines_->ends) {
    for (std::size_t w = 0; w < max_cell_words; ++w) {
        words_[w].seen = lines_->beyond[w];
        words_[w].control = at_least_four(words_[w].seen);
    }
}

// Two full adders of three directions each; then 2 + 2, or 1 + 1 and one 2.
inline BothSides Visibility::at_least_four(const std::array<BothSides, 6>& s) {
    const BothSides x = s[0] ^ s[1], ones = x ^ s[2], twos = (s[0] & s[1]) | (x & s[2]);
    const BothSides y = s[3] ^ s[4], more_ones = y ^ s[5], more_twos = (s[3] & s[4]) | (y & s[5]);
    return (twos & more_twos) | ((twos | more_twos) & ones & more_ones);
}

inline void Visibility::put(Cell cell, Colour colour) {
    const VisibilityLines::Crossing& crossing = lines_->at[static_cast<std::size_t>(cell)];
    const std::ptrdiff_t stride = lines_->words;
    struct Stretch {
        const std::uint64_t *here, *from, *to;  // the cells before this place, after the stone below, up to that above
    };
    std::array<Stretch, 3> stretches;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::uint32_t& stones = stones_on_[crossing.line[axis]];
        const int place = crossing.place[axis];
        const int above = std::countr_zero(stones >> (place + 1)), below = std::countl_zero(stones << (32 - place));
        const std::uint64_t* const here = lines_->before.data() + crossing.before[axis] * stride;
        stretches[axis] = {here, here - (below + 1) * stride, here + (above + 2) * stride};
        stones |= std::uint32_t{1} << place;
    }
    const BothSides mine = colour == Colour::black ? BothSides{~std::uint64_t{0}, 0} : BothSides{0, ~std::uint64_t{0}};
    for (std::ptrdiff_t w = 0; w < stride; ++w) {
        Word& word = words_[static_cast<std::size_t>(w)];
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto [here, from, to] = stretches[axis];
            const std::uint64_t above = to[w] ^ here[w + stride], below = here[w] ^ from[w];
            BothSides& down = word.seen[axis];  // what the cells above see
            BothSides& up = word.seen[axis + 3];
            down ^= (down ^ mine) & BothSides{above, above};
            up ^= (up ^ mine) & BothSides{below, below};
        }
        word.control = at_least_four(word.seen);
    }
    BothSides& stones = words_[static_cast<std::size_t>(cell >> 6)].stones;
    const std::uint64_t bit = std::uint64_t{1} << (cell & 63);
    stones ^= (stones ^ mine) & BothSides{bit, bit};
}

inline VisibilityLines::VisibilityLines(const Hexagon& hexagon) : words((hexagon.cells() + 63) / 64) {
    for (std::size_t rank = 0; rank < hexagon.by_name().size(); ++rank) {
        cell_of[hexagon.by_name()[rank]] = static_cast<Cell>(rank);
        board[rank >> 6] |= std::uint64_t{1} << (rank & 63);
    }
    const auto steps = hexagon.steps();
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const Point p : hexagon.by_name()) {
            const int q = hexagon.q(p), r = hexagon.r(p);
            const auto before = static_cast<Point>(p - steps[axis]);
            if (!hexagon.on_board(hexagon.q(before), hexagon.r(before))) add_line(hexagon, axis, q, r);
        }
    for (const Point p : hexagon.by_name()) add_beyond(hexagon, p);
}

// The line that begins at the cell (q, r).
inline void VisibilityLines::add_line(const Hexagon& hexagon, std::size_t axis, int q, int r) {
    const int step = hexagon.steps()[axis];
    std::array<std::uint64_t, max_cell_words> cells{};
    const auto add_row = [&] { before.insert(before.end(), cells.begin(), cells.begin() + words); };
    add_row();
    int place = 1;
    for (int p = hexagon.at(q, r);; p += step, ++place) {
        const auto point = static_cast<Point>(p);
        if (!hexagon.on_board(hexagon.q(point), hexagon.r(point))) break;
        const auto cell = static_cast<std::size_t>(cell_of[point]);
        at[cell].line[axis] = static_cast<std::uint8_t>(lines);
        at[cell].place[axis] = static_cast<std::uint8_t>(place);
        at[cell].before[axis] = static_cast<std::uint16_t>(before.size() / static_cast<std::size_t>(words));
        add_row();
        cells[cell >> 6] |= std::uint64_t{1} << (cell & 63);
    }
    add_row(), add_row();
    ends[static_cast<std::size_t>(lines++)] = 1 | std::uint32_t{1} << place;
}

// 2 * stones > neighbours is: stones + what is missing from four >= 4. There is room for that beyond the border.
inline void VisibilityLines::add_beyond(const Hexagon& hexagon, Point p) {
    const auto steps = hexagon.steps();
    std::vector<std::size_t> outward;
    for (std::size_t d = 0; d < 6; ++d) {
        const auto next = static_cast<Point>(p + steps[d]);
        // seen[axis] looks down the line, against its step
        if (!hexagon.on_board(hexagon.q(next), hexagon.r(next))) outward.push_back((d + 3) % 6);
    }
    const std::size_t neighbours = 6 - outward.size(), missing = 4 - (neighbours / 2 + 1);
    const auto cell = static_cast<std::size_t>(cell_of[p]);
    const std::uint64_t bit = std::uint64_t{1} << (cell & 63);
    for (std::size_t i = 0; i < missing; ++i) {
        beyond[cell >> 6][outward[i]][0] |= bit;
        beyond[cell >> 6][outward[outward.size() - 1 - i]][1] |= bit;
    }
}

inline const VisibilityLines* VisibilityLines::of(int side) {
    static std::array<std::once_flag, max_side + 1> made;
    static std::array<std::unique_ptr<const VisibilityLines>, max_side + 1> tables;
    const auto index = static_cast<std::size_t>(side);
    std::call_once(made[index], [&] { tables[index].reset(new VisibilityLines(Hexagon(side))); });
    return tables[index].get();
}

}  // namespace ggp
