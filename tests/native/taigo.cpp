// Taigo without Python: random games under all options, and the rules' own examples.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/taigo.hpp"

namespace ggp::native {

namespace {

void check_set_up() {
    Taigo state(5, 5, 40);
    for (const char* const text : {"0,0", "0=X", "x", "0,0=Z", "+1,0=X", "00,0=X", "0,0=XX", "0,0=X 1"})
        refused<std::invalid_argument>("a board is written like 0,0=X 1,0=O, cones x and o",
                                       [&] { state.set_up(text, Colour::black); });
    refused<std::invalid_argument>("101,0 is too far away: boards lie within 100 of 0,0",
                                   [&] { state.set_up("101,0=X", Colour::black); });
}

// The tile 0,0/1,0 closes -1,0 and 2,0.
void check_two_holes() {
    const auto closing = [](int dark_cones) {
        Taigo state(dark_cones, 0, 40);
        state.set_up("-1,1=X -2,1=O -2,0=X -1,-1=O 0,-1=X 3,0=O 2,1=X 1,1=O 2,-1=X 3,-1=O", Colour::black);
        return refusal<IllegalMove>("open holes", [&] { state.play("0,0/1,0"); });
    };
    const std::string two = closing(2), one = closing(1);
    require(two.find("are holes: fill all of them, like +d:") != std::string::npos, two);
    require(one.find("are holes and only 1 cone is left: fill 1 of them, like +d:") != std::string::npos, one);
}

}  // namespace

void prove_taigo(const Effort& effort) {
    check_set_up();
    check_two_holes();
    walk_all(taigo_subject(), effort);
}

}  // namespace ggp::native
