// The Python module ggp.engines._core.
#include "bind.hpp"

NB_MODULE(_core, module) {
    // Positions that are still referenced when the interpreter ends are no fault, and stderr belongs to the bots.
    nanobind::set_leak_warnings(false);
    nanobind::exception<ggp::IllegalMove>(module, "IllegalMove", PyExc_ValueError);
    ggp::python::bind_go(module);
    ggp::python::bind_laido(module);
    ggp::python::bind_stigmergy(module);
    ggp::python::bind_taigo(module);
    ggp::python::bind_taugo(module);
    ggp::python::bind_yugo(module);
}
