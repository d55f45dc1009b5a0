// Yugo, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <string>

#include "engines/core/yugo.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

inline Subject<Yugo> yugo_subject() {
    Subject<Yugo> subject{"yugo", {}, {"dead:A1,A1", "dead:B2", "dead:A1,", "button", "pass"}, ".XO#@",
                          [](const Yugo& s) {
                              return s.phase() == Phase::play && s.button() == Colour::none && s.ply() > 8;
                          }};
    const auto add = [&](int size, std::int64_t komi, int handicap, bool agreement) {
        subject.settings.push_back({"size=" + std::to_string(size) + " komi=" + std::to_string(komi) + " handicap=" +
                                        std::to_string(handicap) + " agreement=" + (agreement ? "on" : "off"),
                                    Yugo(size, komi, handicap, agreement), handicap == 0});
    };
    for (const int size : {2, 3, 4, 5, 7, 9, 25}) add(size, 7, 0, false), add(size, -5, 0, true);
    add(2, 0, 3, false), add(5, 0, 9, true), add(9, 7, 4, true), add(4, 999'999'999'999'999, 2, false);
    return subject;
}

}  // namespace ggp::native
