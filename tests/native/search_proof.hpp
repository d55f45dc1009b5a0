// What must hold of a search of any game: its tree is sound, stays within its memory, is the same by seed with one thread,
// its playouts allocate nothing, and its threads stop together. Its proofs of wins are tried against minimax in Python
// (tests/rules/test_core_search.py).
#pragma once
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "engines/core/search.hpp"
#include "position.hpp"

namespace ggp::native {

inline std::atomic<long> allocations = 0;  // since the start; main.cpp counts them

// The children's visits are their parent's but for those before it was expanded, their proofs make its own.
template <GameState S>
void check_tree(const Tree<S>& tree, const Node<typename S::Move>& node, int& left) {
    if (node.first == 0 || --left < 0) return;
    std::int64_t visits = 0;
    bool proven = false;
    for (const auto& child : tree.children(node)) {
        visits += child.visits;
        require(child.points >= 0 && child.points <= 2 * child.visits, "no more points than visits");
        require(child.amaf_points >= 0 && child.amaf_points <= 2 * child.amaf_visits, "nor of AMAF");
        proven |= child.proof != Proof::open;
        require(child.key < S::keys, "the key is one");
        check_tree(tree, child, left);
    }
    require(visits <= node.visits, "no more visits below than above");
    require(proven == node.child_proven, "it is known whether a child is proven");
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

template <GameState S>
void grow(Tree<S>& tree, Playout<S>& playout, int playouts) {
    for (; playouts > 0 && !tree.is_proven(); --playouts) {
        tree.descend(playout);
        if (!playout.known()) playout.roll_out();
        tree.back_up(playout);
    }
}

// Once moves, boards and histories have found their length; a longer game than all before may make one grow.
template <GameState S>
void check_allocations(const S& start) {
    Tree<S> tree(start, 3000);
    Playout<S> playout(start, 7);
    grow(tree, playout, 300);
    const long before = allocations;
    grow(tree, playout, 200);
    require(allocations - before < 20, "a playout allocates nothing");
}

template <GameState S>
std::int64_t visits(const Search<S>& search) {
    std::int64_t sum = 0;
    for (const auto& vote : search.votes()) sum += vote.visits;
    return sum;
}

// Whether the two best moves are unproven.
template <GameState S>
bool is_open(const Search<S>& search) {
    const auto votes = search.votes();
    return votes.size() > 1 && votes[0].proof == Proof::open && votes[1].proof == Proof::open;
}

// It falls over when another thread than the one that made it plays, for which that one waits.
template <GameState S>
struct OneThread : S {
    explicit OneThread(const S& state) : S(state) {}
    typename S::Move play_random(Rng& rng, Policy policy) {
        if (std::this_thread::get_id() != home) {
            another_came = true;
            throw std::length_error("another thread");
        }
        for (int ms = 0; !another_came && ms < 10'000; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return S::play_random(rng, policy);
    }
    std::thread::id home = std::this_thread::get_id();
    static inline std::atomic<bool> another_came = false;
};

// Two playouts under way at a time, of which some are taken back: the rest counts, and nothing else.
template <GameState S>
void check_under_way(const S& start) {
    Tree<S> tree(start, 3000);
    Playout<S> one(start, 1), other(start, 2);
    int visits = 0, points = 0;
    for (int i = 0; i < 100 && !tree.is_proven(); ++i) {
        tree.descend(one);
        if (tree.is_proven()) return;
        tree.descend(other);
        for (auto* playout : {&other, &one}) {
            if (playout == &one && i % 3 == 0) {
                tree.take_back(one);
                continue;
            }
            if (!playout->known()) playout->roll_out();
            tree.back_up(*playout);
            ++visits, points += playout->points();
        }
        require(tree.root().visits == visits && tree.root().points == points, "what is taken back does not count");
        int left = 1000;
        check_tree(tree, tree.root(), left);
    }
}

// Rounds of several threads are long. They must stop within them when the time is over, and when the caller gives up or
// fails; the search can go on then.
template <GameState S>
void check_stops(const S& start) {
    constexpr int looks = 15;
    const std::int64_t chunk = 20'000 / start.cells() + 64;  // one playout of each thread at least
    for (const int threads : {1, 2, 3}) {
        const std::int64_t most = 2 * looks * chunk * threads;  // the others may be at the end of their round
        int looked = 0;
        Search<S> timed(start, 1, threads, 20'000);
        timed.run({0, 1.0}, [&] { return ++looked < looks ? 1e-9 : 1.0; });
        require(visits(timed) > 0 && visits(timed) <= most, "the search stops when its time is over");

        looked = 0;
        Search<S> search(start, 1, threads, 20'000);
        const auto give_up = [&] { return ++looked < looks ? 0.0 : throw std::length_error("given up"); };
        try {
            search.run({1'000'000'000, 0}, give_up);
        } catch (const std::length_error&) {
            const std::int64_t before = visits(search);
            require(before > 0 && before <= most, "the search stops when it is given up");
            const bool open = is_open(search);
            search.run({static_cast<std::uint64_t>(before) + 1, 0}, [] { return 0.0; });
            require(visits(search) > before || !open, "and can go on");
            require(visits(search) <= 2 * before + 1, "by no more than it was asked for");
        }
        require(looked <= looks, "it is not asked again");
    }
    // Threads beyond the cores take turns: what all of them play from look to look is no more than one alone would.
    int looked = 0;
    Search<S> many(start, 1, 64, 20'000);
    many.run({1'000'000'000, 1.0}, [&] { return looked++ == 0 ? 0.0 : 1.0; });
    require(visits(many) <= chunk, "many threads are asked as often as one");
    OneThread<S>::another_came = false;
    Search<OneThread<S>> failing(OneThread<S>(start), 1, 3, 20'000);
    if (start.cells() >= 25)  // a smaller one may be proven at once
        refused<std::length_error>("another thread", [&] { failing.run({1000, 0}, [] { return 0.0; }); });
}

// The first playouts are slow: by their speed, the time would allow too few to change the best move. The search goes on.
// Returns whether a move was far enough ahead to show that.
template <GameState S>
bool check_slow_start(const S& start) {
    constexpr double slow = 0.05;  // of the time: it seems to allow 19 times as many playouts more
    for (const int threads : {1, 2}) {
        Search<S> search(start, 1, threads, 20'000);
        search.run({3000, 0}, [] { return 0.0; });
        const auto votes = search.votes();
        if (!is_open(search) || votes[0].visits - votes[1].visits <= 20 * threads) {
            if (threads == 1) return false;
            continue;  // what several threads find differs from run to run
        }
        const std::int64_t before = visits(search);
        int looked = 0;
        search.run({0, 1.0}, [&] { return ++looked == 1 ? 0.0 : looked < 10 ? slow : 1.0; });
        require(visits(search) > before + threads || !is_open(search), "a slow start does not end the search");
    }
    return true;
}

template <GameState S>
void check_search(const S& start) {
    check_allocations(start);
    check_stops(start);
    check_under_way(start);
    require(searched(start, 1, 1, 8, 60) == searched(start, 1, 1, 8, 60), "the same seed, the same search");
    searched(start, 1, 3, 4, 60);
    Tree<S> tree(start, 3000);
    Playout<S> playout(start, 7);
    for (int ply = 0; ply < 12 && tree.state().phase() != Phase::over; ++ply) {
        grow(tree, playout, 200);
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
