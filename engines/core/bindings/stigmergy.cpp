// Stigmergy for Python.
#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "search.hpp"

#include "../stigmergy.hpp"

namespace ggp::python {

void bind_stigmergy(nb::module_& module) {
    auto game = bind_game<Stigmergy>(module, "Stigmergy");
    bind_search(module, game, "StigmergySearch");
    game.def("__init__",
             [](Stigmergy* self, int size, const std::optional<nb::int_>& komi) {
                 new (self) Stigmergy(size, komi ? std::optional(nearest(*komi)) : std::nullopt);
             },
             "size"_a = 8, "komi"_a = nb::none())
        .def("komi", &Stigmergy::komi)
        .def("button", [](const Stigmergy& self) { return ggp::name(self.button()); })
        .def("control", &Stigmergy::control);
}

}  // namespace ggp::python
