// Taugo for Python.
#include "bind.hpp"
#include "search.hpp"

#include "../taugo.hpp"

namespace ggp::python {

void bind_taugo(nb::module_& module) {
    auto game = bind_game<Taugo>(module, "Taugo");
    bind_search(module, game, "TaugoSearch");
    game.def("__init__",
             [](Taugo* self, int size, std::string_view cut_from, bool pie) {
                 const auto rule = one_of<Taugo::CutFrom>(
                     cut_from, {{"lateral", Taugo::CutFrom::lateral}, {"any", Taugo::CutFrom::any}}, "cut_from");
                 new (self) Taugo(size, rule, pie);
             },
             "size"_a = 16, "cut_from"_a = "lateral", "pie"_a = true);
}

}  // namespace ggp::python
