// Taigo, as it is walked and fuzzed: under which options, with which texts.
#pragma once
#include <string>

#include "engines/core/taigo.hpp"
#include "tests/native/walk.hpp"

namespace ggp::native {

inline Subject<Taigo> taigo_subject() {
    Subject<Taigo> subject{"taigo",
                           {},
                           {"0,-1/1,-1", "0,-1/1,-1+l:0,0", "0,-1/1,-1+L:0,0+d:1,1", "0,-1/2,-1", "5,5/5,6", "0,0/0,1",
                            "-1,0/-1,1+d:-1,0", "+1,0/0,1", "-0,1/1,1", "01,1/0,1", "0,1", "0,1/", "0,1/0,2+x:1,1",
                            "999,0/998,0", "0,1/0,2+d:", "0,1/0,2+d:1,1+d:1,1"},
                           "XOxo=,-0123 ",
                           [](const Taigo& state) { return state.ply() == 0; }};
    const auto add = [&](int dark, int light, int tiles) {
        subject.settings.push_back({"dark_cones=" + std::to_string(dark) + " light_cones=" + std::to_string(light) +
                                        " tiles=" + std::to_string(tiles),
                                    Taigo(dark, light, tiles)});
    };
    add(5, 5, 40), add(0, 0, 40), add(0, 2, 20), add(2, 0, 20), add(1, 1, 30), add(20, 20, 200), add(5, 5, 2);
    add(0, 0, 200), add(1, 0, 5);
    return subject;
}

}  // namespace ggp::native
