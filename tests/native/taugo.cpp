// Taugo without Python: random games under all options; its rule cases are in Python.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/taugo.hpp"

namespace ggp::native {

void prove_taugo(const Effort& effort) {
    std::string cells = Taugo(6, Taugo::CutFrom::lateral, true).board();
    cells[8] = 'x';
    refused<std::invalid_argument>("a board is written with .XO and ? for the corners", [&cells] {
        Taugo(6, Taugo::CutFrom::lateral, true).set_up(cells, Colour::black);
    });
    walk_all(taugo_subject(), effort);
}

}  // namespace ggp::native
