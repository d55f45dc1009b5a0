// The fixed handicap points of the GTP version 2 draft (section "Fixed Handicap Placement"), for any square board.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "square.hpp"

namespace ggp {

// The points of `stones` (2..9) handicap stones. Throws std::invalid_argument with the reason if the board has none.
// Edge stones stand on the third line up to 11x11 and on the fourth from 12x12 on. Boards of even size and 7x7 have no
// middle stones, so four are the most there; smaller boards than 7x7 have none.
inline std::vector<Point> fixed_handicap(const Square& square, int stones) {
    const int edge = square.edge(), low = edge > 11 ? 3 : 2, high = edge - 1 - low, middle = edge / 2;
    const std::string board = std::to_string(edge) + "x" + std::to_string(edge);
    if (stones < 2 || stones > 9) throw std::invalid_argument("handicap must be 0 or 2..9");
    if (edge < 7)
        throw std::invalid_argument("handicap: there are no fixed points on boards smaller than 7x7, this is " + board);
    if (stones > 4 && edge == 7) throw std::invalid_argument("handicap must be 0 or 2..4 on 7x7");
    if (stones > 4 && edge % 2 == 0)
        throw std::invalid_argument("handicap must be 0 or 2..4 on " + board +
                                    ": a board of even size has no middle line");
    std::vector<Point> points = {square.at(low, low), square.at(high, high)};
    if (stones >= 3) points.push_back(square.at(low, high));
    if (stones >= 4) points.push_back(square.at(high, low));
    if (stones >= 6) points.push_back(square.at(low, middle)), points.push_back(square.at(high, middle));
    if (stones >= 8) points.push_back(square.at(middle, low)), points.push_back(square.at(middle, high));
    if (stones >= 5 && stones % 2 == 1) points.push_back(square.at(middle, middle));
    return points;
}

}  // namespace ggp
