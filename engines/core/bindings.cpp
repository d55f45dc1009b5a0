#include <nanobind/nanobind.h>
namespace nb = nanobind;
NB_MODULE(_core, m) { m.def("ping", [] { return 1; }); }
