// Boards of square games as text, and back: rows from the top, columns from A, one character a point.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "chains.hpp"
#include "square.hpp"

namespace ggp {

// letters: '.' first, then black and white stones in turn: ".XO" or ".XO#@". kind(point) is an index into it.
template <class Kind>
std::string write_board(const Square& square, std::string_view letters, Kind kind) {
    std::string cells;
    for (int row = square.edge() - 1; row >= 0; --row)
        for (int column = 0; column < square.edge(); ++column)
            cells += letters[static_cast<std::size_t>(kind(square.at(column, row)))];
    return cells;
}

// The stones of such a text; calls stand(point, kind) for each. Throws std::invalid_argument if it is not such a text.
template <class Stand>
Chains read_board(const Square& square, std::string_view letters, std::string_view cells, Stand stand) {
    Chains chains(square.edge());
    const auto edge = static_cast<std::size_t>(square.edge());
    if (cells.size() != edge * edge) throw std::invalid_argument("a board has size * size characters");
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t kind = letters.find(cells[i]);
        if (kind == std::string_view::npos)
            throw std::invalid_argument("a board is written with " + std::string(letters));
        if (kind == 0) continue;
        const Point p = square.at(static_cast<int>(i % edge), static_cast<int>(edge - 1 - i / edge));
        chains.put(p, kind % 2 == 1 ? black_stone : white_stone);
        stand(p, kind);
    }
    return chains;
}

}  // namespace ggp
