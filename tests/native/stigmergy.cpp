// Stigmergy without Python: random games under all options; its rule cases are in Python.
#include "proofs.hpp"
#include "rule_cases.hpp"
#include "subjects/stigmergy.hpp"

namespace ggp::native {

void prove_stigmergy(const Effort& effort) {
    for (const int komi : {-1'000'001, 1'000'001})
        refused<std::invalid_argument>("komi must be an integer from -1000000 to 1000000, or none: it is bid",
                                       [komi] { Stigmergy(5, komi); });
    walk_all(stigmergy_subject(), effort);
}

}  // namespace ggp::native
