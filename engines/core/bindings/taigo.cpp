// Taigo for Python.
#include "bind.hpp"
#include "search.hpp"

#include "../taigo.hpp"

namespace ggp::python {

void bind_taigo(nb::module_& module) {
    auto game = bind_game<Taigo>(module, "Taigo");
    bind_search(module, game, "TaigoSearch");
    game.def(nb::init<int, int, int>(), "dark_cones"_a = 5, "light_cones"_a = 5, "tiles"_a = 40)
        .def("cones_left", &Taigo::cones_left)
        .def("tiles_left", &Taigo::tiles_left)
        .def("tiles", &Taigo::tiles);
}

}  // namespace ggp::python
