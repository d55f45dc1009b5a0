// Walks over the tree of any game: perft counts it, playouts sample it. Free functions over the concept GameState.
#pragma once
#include <cstdint>

#include "game_state.hpp"

namespace ggp {

// A playout that has not ended after this many plies a cell counts as a draw: with ko=simple a game may go on for ever.
inline constexpr int playout_plies_per_cell = 20;

struct Tally {
    std::uint64_t plies = 0, black = 0, white = 0, draws = 0;
};

// The number of legal move sequences of exactly `depth` plies; dead: counts once, as the empty list. poll() is called
// now and then (once for every position that is not a leaf's parent) and may throw, to give up.
template <GameState S, class Poll>
std::uint64_t perft(const S& state, int depth, Poll& poll) {
    if (depth <= 0) return 1;
    const auto moves = state.legal_moves();
    if (depth == 1) return moves.size();
    poll();
    std::uint64_t count = 0;
    for (const auto move : moves) {
        S next = state;
        next.apply(move);
        count += perft(next, depth - 1, poll);
    }
    return count;
}

// Plays on at random to the end, or as far as a playout goes. Returns the plies.
template <GameState S>
int play_out(S& state, Rng& rng, Policy policy) {
    const int cap = playout_plies_per_cell * state.cells();
    int plies = 0;
    for (; plies < cap && state.phase() != Phase::over; ++plies) state.play_random(rng, policy);
    return plies;
}

// Plays `games` random games from `start` to their ends and adds them to `tally`. Allocates nothing in the loop
// once the copies have grown to the length of a game.
template <GameState S>
void playouts(S start, std::uint64_t games, Rng& rng, Policy policy, Tally& tally) {
    start.ready_for_playouts();
    S state = start;
    for (std::uint64_t game = 0; game < games; ++game) {
        state = start;
        tally.plies += static_cast<std::uint64_t>(play_out(state, rng, policy));
        const Colour best = state.phase() == Phase::over ? state.leader() : Colour::none;
        ++(best == Colour::black ? tally.black : best == Colour::white ? tally.white : tally.draws);
    }
}

}  // namespace ggp
