// Taigo for Python.
#include "bind.hpp"

#include "../taigo.hpp"

namespace ggp::python {

void bind_taigo(nb::module_& module) {
    bind_game<Taigo>(module, "Taigo")
        .def(nb::init<int, int, int>(), "dark_cones"_a = 5, "light_cones"_a = 5, "tiles"_a = 40)
        .def("cones_left", &Taigo::cones_left)
        .def("tiles_left", &Taigo::tiles_left)
        .def("tiles", &Taigo::tiles);
}

}  // namespace ggp::python
