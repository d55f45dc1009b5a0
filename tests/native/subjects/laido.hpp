// Laido, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <string>

#include "engines/core/laido.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

// After the opening, without a swap or a pass ever.
inline bool laido_is_plain(const Laido& state) {
    return state.phase() == Phase::play && state.ply() > 1 && !state.last_move().empty() &&
           state.seat() == static_cast<int>(state.to_play()) && state.half_point() == Colour::none;
}

inline Subject<Laido> laido_subject() {
    Subject<Laido> subject{"laido", {}, {"swap-sides", "keep-sides", "pass", "E5", "e5", "J9"}, ".XO", laido_is_plain};
    const auto add = [&](int size, bool pie, HalfPoint rule) {
        subject.settings.push_back({"size=" + std::to_string(size) + " pie=" + (pie ? "on" : "off") + " half_point=" +
                                        (rule == HalfPoint::first ? "first" : "final"),
                                    Laido(size, pie, rule)});
    };
    for (const int size : {2, 3, 4, 5, 9, 13}) add(size, true, HalfPoint::final), add(size, false, HalfPoint::first);
    add(2, true, HalfPoint::first), add(2, false, HalfPoint::final);
    return subject;
}

}  // namespace ggp::native
