// Stigmergy, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <optional>
#include <string>

#include "engines/core/stigmergy.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

inline bool stigmergy_is_plain(const Stigmergy& state) {
    return state.phase() == Phase::play && state.button() == Colour::none && !state.last_move().empty();
}

inline Subject<Stigmergy> stigmergy_subject() {
    Subject<Stigmergy> subject{"stigmergy",
                               {},
                               {"bid:3", "bid:8", "BID:10", "bid:1000", "bid:x", "swap-sides", "keep-sides", "button"},
                               ".XO",
                               stigmergy_is_plain};
    const auto add = [&](int size, std::optional<std::int64_t> komi) {
        subject.settings.push_back({"size=" + std::to_string(size) + " komi=" + (komi ? std::to_string(*komi) : "bid"),
                                    Stigmergy(size, komi), komi.has_value()});
    };
    for (const int size : {2, 3, 4, 5, 8, 13}) add(size, std::nullopt), add(size, 0);
    add(2, 3), add(3, -5), add(2, 1'000'000), add(5, 7), add(8, -1);
    return subject;
}

}  // namespace ggp::native
