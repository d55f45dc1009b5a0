// Positions for cases of the rules: drawings, moves in a row, what they must lead to.
#pragma once
#include <sstream>
#include <string>

#include "position.hpp"

namespace ggp::native {

// A drawing without its blanks.
inline std::string board(const std::string& drawing) {
    std::string cells;
    for (const char c : drawing)
        if (c != ' ' && c != '\n') cells += c;
    return cells;
}

template <GameState S>
void play_all(S& state, const std::string& moves) {
    std::istringstream words(moves);
    for (std::string move; words >> move;) require(state.play(move) == move, move + " is not canonical");
}

template <GameState S>
S after(S state, const std::string& moves) {
    play_all(state, moves);
    return state;
}

template <GameState S>
void expect_board(const S& state, const std::string& drawing) {
    require(state.board() == board(drawing), "the board is " + state.board() + ", not " + board(drawing));
}

}  // namespace ggp::native
