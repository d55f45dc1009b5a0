// Go for Python.
#include "bind.hpp"
#include "search.hpp"

#include "../go.hpp"

namespace ggp::python {

void bind_go(nb::module_& module) {
    auto game = bind_game<Go>(module, "Go");
    bind_search(module, game, "GoSearch");
    game.def("__init__",
             [](Go* self, int size, double komi, int handicap, std::string_view ko, bool agreement) {
                 const auto rule = one_of<Ko>(
                     ko,
                     {{"simple", Ko::simple}, {"positional", Ko::positional}, {"situational", Ko::situational}}, "ko");
                 new (self) Go(size, komi, handicap, rule, agreement);
             },
             "size"_a = 19, "komi"_a = 7.5, "handicap"_a = 0, "ko"_a = "positional", "agreement"_a = false)
        .def("set_komi", &Go::set_komi, "komi"_a)
        .def("set_to_play", [](Go& self, std::string_view side) { self.set_to_play(side_named(side)); }, "side"_a)
        .def("place_handicap", &Go::place_handicap, "vertices"_a)
        .def_static("fixed_handicap_points",
                    [](int size, int stones) {
                        const Square square(checked_edge(size));
                        std::vector<std::string> names;
                        for (const Point p : fixed_handicap(square, stones)) names.push_back(square.name(p));
                        return names;
                    },
                    "size"_a, "stones"_a);
}

}  // namespace ggp::python
