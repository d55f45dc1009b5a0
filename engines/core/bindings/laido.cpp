// Laido for Python.
#include "bind.hpp"
#include "search.hpp"

#include "../laido.hpp"

namespace ggp::python {

void bind_laido(nb::module_& module) {
    auto game = bind_game<Laido>(module, "Laido");
    bind_search(module, game, "LaidoSearch");
    game.def("__init__",
             [](Laido* self, int size, bool pie, std::string_view half_point) {
                 const auto rule = one_of<HalfPoint>(
                     half_point, {{"final", HalfPoint::final}, {"first", HalfPoint::first}}, "half_point");
                 new (self) Laido(size, pie, rule);
             },
             "size"_a = 9, "pie"_a = true, "half_point"_a = "final")
        .def("standing", &Laido::standing)
        .def("half_point", [](const Laido& self) { return ggp::name(self.half_point()); });
}

}  // namespace ggp::python
