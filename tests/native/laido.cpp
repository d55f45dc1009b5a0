// Laido without Python: random games under all options; its rule cases are in Python.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/laido.hpp"

namespace ggp::native {

void prove_laido(const Effort& effort) {
    walk_all(laido_subject(), effort);
}

}  // namespace ggp::native
