// Taugo, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <string>

#include "engines/core/taugo.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

// After the opening, without a swap, after a ply that put stones on the board.
inline bool taugo_is_plain(const Taugo& state) {
    return state.phase() == Phase::play && state.ply() > 1 && !state.last_move().empty() &&
           state.seat() == static_cast<int>(state.to_play());
}

inline Subject<Taugo> taugo_subject() {
    Subject<Taugo> subject{
        "taugo", {}, {"swap-sides", "keep-sides", "pass", "C3", "d4+d5", "D4+D5+D6", "C3+C2+C1"}, ".XO", taugo_is_plain};
    const auto add = [&](int size, Taugo::CutFrom from, bool pie) {
        subject.settings.push_back({"size=" + std::to_string(size) + " cut_from=" +
                                        (from == Taugo::CutFrom::any ? "any" : "lateral") + " pie=" + (pie ? "on" : "off"),
                                    Taugo(size, from, pie)});
    };
    for (const int size : {6, 7, 8, 10, 16, 25}) add(size, Taugo::CutFrom::lateral, true), add(size, Taugo::CutFrom::any, false);
    add(6, Taugo::CutFrom::any, true), add(7, Taugo::CutFrom::lateral, false);
    return subject;
}

}  // namespace ggp::native
