// Parses moves of Taigo; an error names the fault. Whose turn it is does not matter here.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "square.hpp"
#include "taigo_text.hpp"

namespace ggp {

// A move as it was written, which need not be legal.
struct WrittenMove {
    Axial dark, light;
    int cones = 0;
    std::array<std::pair<Axial, Colour>, most_holes> cone{};
};

namespace taigo_parsing {

// Apart from other reasons, because a board of cells is not a move: see Taigo::set_up.
class Unreadable : public IllegalMove {
    using IllegalMove::IllegalMove;
};

inline Unreadable unreadable() {
    return Unreadable(
        "not a move: a tile is written dark/light, like 0,-1/1,-1, and each cone after it +d:0,0 or +l:0,0");
}

// An integer without needless characters from the beginning of `text`, which it loses.
inline std::int16_t take_number(std::string_view& text) {
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    std::size_t end = sign;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const std::string_view digits = text.substr(sign, end - sign);
    if (digits.empty() || (digits[0] == '0' && (digits.size() > 1 || sign == 1))) throw unreadable();
    int number = Lattice::far_off + 1;
    if (digits.size() <= 3) std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number > Lattice::far_off)
        throw IllegalMove(std::string(text.substr(0, std::min<std::size_t>(end, 12))) + (end > 12 ? "..." : "") +
                          " is farther from 0,0 than any tile can lie");
    text.remove_prefix(end);
    return static_cast<std::int16_t>(sign == 1 ? -number : number);
}

inline void take(std::string_view& text, char c) {
    if (text.empty() || lower(text[0]) != c) throw unreadable();
    text.remove_prefix(1);
}

inline Axial take_cell(std::string_view& text) {
    const std::int16_t q = take_number(text);
    take(text, ',');
    return {q, take_number(text)};
}

}  // namespace taigo_parsing

// Throws IllegalMove with the reason.
inline WrittenMove parse_taigo_move(std::string_view text) {
    using namespace taigo_parsing;
    WrittenMove move{};
    move.dark = take_cell(text);
    take(text, '/');
    move.light = take_cell(text);
    while (!text.empty()) {
        take(text, '+');
        if (text.empty()) throw unreadable();
        const Colour colour = lower(text[0]) == 'd' ? Colour::black : Colour::white;
        take(text, colour == Colour::black ? 'd' : 'l');
        take(text, ':');
        const Axial at = take_cell(text);
        if (move.cones == most_holes) throw IllegalMove("too many cones: a tile makes four holes at most");
        move.cone[static_cast<std::size_t>(move.cones++)] = {at, colour};
    }
    return move;
}

namespace taigo_parsing {

// The tile without its cones.
inline TaigoMove read_tile(const Lattice& lattice, const WrittenMove& written) {
    std::uint8_t direction = 0;
    while (direction < 6 && written.dark + axial_steps[direction] != written.light) ++direction;
    if (direction == 6)
        throw IllegalMove(cell_name(written.dark) + " and " + cell_name(written.light) + " are not adjacent");
    for (const Axial half : {written.dark, written.light})
        if (lattice.at(half).colour != Colour::none) throw IllegalMove(cell_name(half) + " is occupied");
    if ((lattice.at(written.dark).beside | lattice.at(written.light).beside) == 0)
        throw IllegalMove("a tile at " + cell_name(written.dark) + " and " + cell_name(written.light) +
                          " touches nothing: it must lie beside an occupied cell");
    return {written.dark, direction};
}

[[noreturn]] inline void too_few(const TaigoMove& move, const Holes& holes, Supply left) {
    std::string open, choices;
    for (std::size_t i = 0; i < 8; ++i) --left[move.cone(i)];
    int missing = 0;
    for (int i = 0; i < holes.count; ++i) {
        const std::size_t ring = holes.ring[static_cast<std::size_t>(i)];
        if (move.cone(ring) != Colour::none) continue;
        const std::string name = cell_name(move.cone_at(ring));
        if (missing++ == 0)
            for (const auto& [colour, letter] : {std::pair{Colour::black, "+d:"}, std::pair{Colour::white, "+l:"}})
                if (left[colour] > 0) choices += (choices.empty() ? "" : " or ") + (letter + name);
        open += (open.empty() ? "" : " ") + name;
    }
    const int cones = left.all();
    if (missing == 1) throw IllegalMove(open + " is a hole: add " + choices);
    if (missing <= cones) throw IllegalMove(open + " are holes: fill all of them, like " + choices);
    throw IllegalMove(open + " are holes and only " + std::to_string(cones) + (cones == 1 ? " cone is" : " cones are") +
                      " left: fill " + std::to_string(cones) + " of them, like " + choices);
}

// Adds the cones to the tile.
inline void read_cones(const Lattice& lattice, const Supply& supply, const WrittenMove& written, TaigoMove& move) {
    const Holes holes = holes_of(lattice, move);
    ByColour<int> used{};
    for (int i = 0; i < written.cones; ++i) {
        const auto& [at, colour] = written.cone[static_cast<std::size_t>(i)];
        int hole = 0;
        while (hole < holes.count && move.cone_at(holes.ring[static_cast<std::size_t>(hole)]) != at) ++hole;
        if (hole == holes.count)
            throw IllegalMove(cell_name(at) + " is not a hole" +
                              (lattice.at(at).colour == Colour::none && lattice.at(at).beside == 63
                                   ? " of this turn: it was left open earlier and stays open" : ""));
        const int shift = 2 * holes.ring[static_cast<std::size_t>(hole)];
        if ((move.cones >> shift & 3) != 0) throw IllegalMove("the hole " + cell_name(at) + " is named twice");
        move.cones = static_cast<std::uint16_t>(move.cones | static_cast<unsigned>(colour) << shift);
        ++used[colour];
    }
    for (const Colour colour : {Colour::black, Colour::white})
        if (const int left = supply[colour]; used[colour] > left) {
            const char* const what = colour == Colour::black ? "dark" : "light";
            throw IllegalMove(left == 0 ? std::string("no ") + what + " cones are left"
                                        : "too many cones: only " + std::to_string(left) + " " + what +
                                              (left == 1 ? " cone is left" : " cones are left"));
        }
    if (written.cones < std::min(holes.count, supply.all())) too_few(move, holes, supply);
}

}  // namespace taigo_parsing

// The legal move that `text` says. Throws IllegalMove with the reason.
inline TaigoMove read_taigo_move(const Lattice& lattice, const Supply& supply, std::string_view text) {
    const WrittenMove written = parse_taigo_move(text);
    TaigoMove move = taigo_parsing::read_tile(lattice, written);
    taigo_parsing::read_cones(lattice, supply, written, move);
    return move;
}

}  // namespace ggp
