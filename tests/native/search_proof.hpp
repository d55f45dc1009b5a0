// What must hold of a search of any game: its tree is sound, stays within its memory, is the same by seed, its playouts
// allocate nothing, and its threads share nothing. Its proofs of wins are tried against minimax in Python
// (tests/test_core_search.py).
#pragma once
#include <atomic>
#include <string>

#include "engines/core/search.hpp"
#include "position.hpp"

namespace ggp::native {

inline std::atomic<long> allocations = 0;  // since the start; main.cpp counts them

// The children's visits are their parent's but for those before it was expanded, their proofs make its own.
template <GameState S>
void check_tree(const Tree<S>& tree, const Node<typename S::Move>& node, int& left) {
    if (node.first == 0 || --left < 0) return;
    std::int64_t visits = 0;
    for (const auto& child : tree.children(node)) {
        visits += child.visits;
        require(child.points >= 0 && child.points <= 2 * child.visits, "no more points than visits");
        require(child.amaf_points >= 0 && child.amaf_points <= 2 * child.amaf_visits, "nor of AMAF");
        require(child.key < S::keys, "the key is one");
        check_tree(tree, child, left);
    }
    require(visits <= node.visits, "no more visits below than above");
}

template <GameState S>
std::string searched(const S& start, std::uint64_t seed, int threads, int plies, std::uint64_t playouts) {
    std::vector<std::string> moves;
    S state = start;
    Search<S> search(state, seed, threads, 20'000);
    for (int ply = 0; ply < plies && state.phase() != Phase::over; ++ply) {
        search.run({playouts, 0}, [] { return 0.0; });
        const std::string move(state.text(search.votes().at(0).move));
        require(contains(legal_texts(state), move), "a vote is for a legal move");
        moves.push_back(move + " " + std::to_string(search.votes()[0].visits));
        state.play(move);
        search.play(move);
        require(search.state().hash() == state.hash(), "the search follows");
    }
    return joined(moves);
}

// Once moves, boards and histories have found their length; a longer game than all before may make one grow.
template <GameState S>
void check_allocations(const S& start) {
    Tree<S> tree(start, 7, 3000);
    tree.play(300);
    const long before = allocations;
    tree.play(200);
    require(allocations - before < 20, "a playout allocates nothing");
}

template <GameState S>
void check_search(const S& start) {
    check_allocations(start);
    require(searched(start, 1, 1, 8, 60) == searched(start, 1, 1, 8, 60), "the same seed, the same search");
    require(searched(start, 1, 3, 4, 60) == searched(start, 1, 3, 4, 60), "the same with threads");
    Tree<S> tree(start, 7, 3000);
    for (int ply = 0; ply < 12 && tree.state().phase() != Phase::over; ++ply) {
        tree.play(200);
        int left = 1000;
        check_tree(tree, tree.root(), left);
        require(tree.nodes() <= std::size_t{3000} + tree.root().count, "the tree keeps within its memory");
        const auto children = tree.children(tree.root());
        if (children.empty()) break;
        const auto most = std::max_element(children.begin(), children.end(),
                                           [](const auto& a, const auto& b) { return a.visits < b.visits; });
        const bool moves_known = most->first != 0 || most->proof == Proof::open;
        const auto visits = moves_known ? most->visits : 0;
        tree.advance(most->move);
        require(tree.root().visits == visits, "what is known of the move is kept");
        check_tree(tree, tree.root(), left);
    }
}

}  // namespace ggp::native
