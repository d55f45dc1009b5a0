// The proofs of each game, one file of its name each; and of what all games share.
#pragma once
#include "walk.hpp"

namespace ggp::native {

void prove_go(const Effort& effort);
void prove_laido(const Effort& effort);
void prove_stigmergy(const Effort& effort);
void prove_taigo(const Effort& effort);
void prove_taugo(const Effort& effort);
void prove_yugo(const Effort& effort);
void prove_shared_parts();

}  // namespace ggp::native
