// Go, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <algorithm>
#include <string>

#include "engines/core/go.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

// No pass, and no board that came back could be forbidden: nothing but board and side matters.
inline bool go_is_plain(const Go& state) {
    const std::string board = state.board();
    const auto stones = std::count_if(board.begin(), board.end(), [](char cell) { return cell == 'X' || cell == 'O'; });
    return state.phase() == Phase::play && state.captured() == std::pair(0, 0) && stones == state.ply();
}

inline Subject<Go> go_subject() {
    Subject<Go> subject{"go", {}, {"dead:A1", "dead:B2,A1", "dead:A1,A1", "pass"}, ".XO", go_is_plain};
    const auto add = [&](int size, double komi, int handicap, Ko ko, bool agreement) {
        const char* const names[] = {"simple", "positional", "situational"};
        subject.settings.push_back({"size=" + std::to_string(size) + " komi=" + std::to_string(komi) + " handicap=" +
                                        std::to_string(handicap) + " ko=" + names[static_cast<int>(ko)] +
                                        " agreement=" + (agreement ? "on" : "off"),
                                    Go(size, komi, handicap, ko, agreement), handicap == 0});
    };
    for (const Ko ko : {Ko::simple, Ko::positional, Ko::situational})
        for (const int size : {2, 3, 5}) add(size, 0.5, 0, ko, size == 3);
    add(2, 0, 0, Ko::positional, true), add(9, 7.5, 2, Ko::positional, false), add(9, 6.3, 0, Ko::situational, true);
    add(13, -3, 9, Ko::simple, true), add(19, 7.5, 0, Ko::positional, false), add(25, 0, 5, Ko::simple, false);
    return subject;
}

}  // namespace ggp::native
