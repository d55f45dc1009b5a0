// Yugo for Python.
#include "bind.hpp"
#include "search.hpp"

#include "../yugo.hpp"

namespace ggp::python {

void bind_yugo(nb::module_& module) {
    auto game = bind_game<Yugo>(module, "Yugo");
    bind_search(module, game, "YugoSearch");
    game.def("__init__",
             [](Yugo* self, int size, const nb::int_& komi, int handicap, bool agreement) {
                 new (self) Yugo(size, nearest(komi), handicap, agreement);
             },
             "size"_a = 9, "komi"_a = 7, "handicap"_a = 0, "agreement"_a = false)
        .def("set_komi", [](Yugo& self, const nb::int_& komi) { self.set_komi(nearest(komi)); }, "komi"_a)
        .def("button", [](const Yugo& self) { return ggp::name(self.button()); });
}

}  // namespace ggp::python
