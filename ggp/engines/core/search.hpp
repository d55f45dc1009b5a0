// A search of any game within limits: one tree a thread, each with chance of its own, whose votes on the moves are
// added (root parallelization: Chaslot, Winands, van den Herik 2008). So nothing is shared while they grow, and where
// playouts are the limit the same seed, playouts and number of threads find the same, whichever thread is faster, also beside a
// clock with time enough. No clock is read here.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "tree.hpp"

namespace ggp {

// What ends a search, whichever comes first; 0: no such limit. It also ends when the answer is proven, and when what is
// left to play could not change which move was tried most.
struct Limits {
    std::uint64_t playouts = 0;
    double seconds = 0;
};

// What all trees together think of a move at the root.
template <class Move>
struct Vote {
    Move move;
    std::int64_t visits = 0, points = 0;  // playouts, and their half points of Black
    Proof proof = Proof::open;

    // Half points of a colour, of 2 * visits.
    std::int64_t points_for(Colour colour) const { return colour == Colour::black ? points : 2 * visits - points; }
};

template <GameState S>
class Search {
  public:
    using Move = typename S::Move;

    // threads: 1 or more. most_nodes: of all trees together. Not of a position that is over.
    Search(const S& root, std::uint64_t seed, int threads, std::size_t most_nodes) {
        Rng seeds(seed);
        trees_.reserve(static_cast<std::size_t>(threads));
        for (int i = 0; i < threads; ++i)
            trees_.emplace_back(root, seeds.next(), most_nodes / static_cast<std::size_t>(threads));
    }

    const S& state() const { return trees_[0].state(); }
    bool swap_follows() const { return trees_[0].swap_follows(); }
    std::size_t nodes() const {
        std::size_t sum = 0;
        for (const auto& tree : trees_) sum += tree.nodes();
        return sum;
    }

    // Goes on until a limit is reached. elapsed() returns the seconds since the call; the calling thread asks it,
    // some thousand plies apart, and may throw, to give up. The search can go on after that.
    template <class Elapsed>
    void run(const Limits& limits, Elapsed elapsed);

    // The moves that were looked at, the best first; those that swap sides are not among them. Empty before run().
    std::vector<Vote<Move>> votes() const;

    // What the first tree expects to be played, from the best vote on.
    std::vector<Move> line() const;

    // Goes on from the position after a move; what is known of it is kept. Throws IllegalMove.
    void play(std::string_view text);

  private:
    static constexpr int plies_between_looks = 20'000;  // of all threads: they may share a core

    std::uint64_t undecided(std::uint64_t left) const;
    template <class Late>
    std::uint64_t play_round(std::uint64_t playouts, std::uint64_t step, Late late);
    // Of a move: 1, it wins for that colour; -1, it loses, or the opponent may take the side that wins; 0, neither is
    // certain.
    static int certainty(Proof proof, Colour mover, bool swap_follows) {
        if (proof == Proof::open || proof == Proof::draw) return 0;
        return proof == won_by(mover) && !swap_follows ? 1 : -1;
    }

    std::vector<Tree<S>> trees_;
};

template <GameState S>
template <class Elapsed>
void Search<S>::run(const Limits& limits, Elapsed elapsed) {
    const auto threads = static_cast<std::uint64_t>(trees_.size());
    const auto cells = static_cast<std::uint64_t>(state().cells());
    const auto step = std::clamp<std::uint64_t>(plies_between_looks / (cells * threads), 1, 500);  // of each thread
    constexpr std::uint64_t endless = ~std::uint64_t{0} >> 1;
    const auto late = [&, most = limits.seconds > 0 ? limits.seconds : std::numeric_limits<double>::infinity()] {
        return elapsed() >= most;
    };
    for (std::uint64_t done = 0;;) {
        std::uint64_t left = limits.playouts > 0 ? limits.playouts - std::min(limits.playouts, done) : endless;
        const double spent = elapsed();
        if (limits.seconds > 0 && done > 0) {
            const double more = static_cast<double>(done) * (limits.seconds - spent) / std::max(spent, 1e-6);
            left = std::min(left, more < 1 ? 0 : more < 1e15 ? static_cast<std::uint64_t>(more) : endless);
        }
        const std::uint64_t open = left > 0 ? undecided(left) : 0;
        if (open == 0) return;
        // By time alone it learns from one playout how long they take. With a number of playouts its rounds are those
        // without a clock: one with time enough then changes nothing. At the end of a round threads wait for each
        // other: those of several are as long as nothing can be decided, but what one proves waits for no more than
        // was played before.
        std::uint64_t each = threads > 1 ? std::max(step, std::min(done, open) / threads) : step;
        if (done == 0 && limits.playouts == 0) each = 1;
        done += play_round(std::min(threads * each, left), step, late);
    }
}

// The trees get equal shares, the first ones what is left over. Between steps of its share the calling thread asks
// late(), and goes on asking while it waits for the others; once it is late, or throws, all stop after their steps.
// How many were played.
template <GameState S>
template <class Late>
std::uint64_t Search<S>::play_round(std::uint64_t playouts, std::uint64_t step, Late late) {
    const std::uint64_t threads = trees_.size();
    const auto share = [&](std::uint64_t i) { return playouts / threads + (i < playouts % threads); };
    std::atomic<bool> stop = false;
    const auto grow = [&](std::uint64_t i, auto look) {
        std::uint64_t left = share(i);
        while (left > 0 && !stop) {
            const std::uint64_t next = std::min(step, left);
            trees_[i].play(next);
            left -= next;
            if (left > 0) look();
        }
        return share(i) - left;
    };
    const auto look = [&] {
        if (late()) stop = true;
    };
    std::vector<std::future<std::uint64_t>> others;
    try {
        for (std::uint64_t i = 1; i < threads && share(i) > 0; ++i)
            others.push_back(std::async(std::launch::async, [&grow, i] { return grow(i, [] {}); }));
        std::uint64_t played = grow(0, look);
        for (auto& other : others) {
            while (other.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) look();
            played += other.get();
        }
        return played;
    } catch (...) {
        stop = true;  // as they go, the futures wait for their threads
        throw;
    }
}

// Of so many playouts more, after how many the best move may be decided; 0: it is. It is proven, or the visits of the
// others cannot become more. A proof still could, that the best one loses or another one wins, and a single playout may
// find it: no bound but 0 is exact. Such proofs are given up for the time that is saved.
template <GameState S>
std::uint64_t Search<S>::undecided(std::uint64_t left) const {
    if (std::any_of(trees_.begin(), trees_.end(), [](const auto& tree) { return tree.root().proof != Proof::open; }))
        return 0;
    const auto votes = this->votes();
    if (votes.size() < 2) return votes.empty() ? left : 0;
    const Colour mover = state().to_play();
    const auto certain = [&](std::size_t i) { return certainty(votes[i].proof, mover, swap_follows()); };
    if (certain(0) > 0 || certain(1) < 0) return 0;
    const std::int64_t lacking = static_cast<std::int64_t>(left) - (votes[0].visits - votes[1].visits);
    return lacking < 0 ? 0 : static_cast<std::uint64_t>(lacking) / 2 + 1;
}

template <GameState S>
std::vector<Vote<typename S::Move>> Search<S>::votes() const {
    std::vector<Vote<Move>> votes;
    for (const auto& tree : trees_)
        for (const auto& child : tree.children(tree.root())) {
            const auto same = [&](const Vote<Move>& vote) { return vote.move == child.move; };
            auto vote = &tree == &trees_[0] ? votes.end() : std::find_if(votes.begin(), votes.end(), same);
            if (vote == votes.end()) vote = votes.insert(votes.end(), {child.move});
            vote->visits += child.visits, vote->points += child.points;
            if (child.proof != Proof::open) vote->proof = child.proof;
        }
    const Colour mover = state().to_play();
    std::stable_sort(votes.begin(), votes.end(), [&](const Vote<Move>& a, const Vote<Move>& b) {
        const int one = certainty(a.proof, mover, swap_follows()), two = certainty(b.proof, mover, swap_follows());
        if (one != two) return one > two;
        if (a.visits != b.visits) return a.visits > b.visits;
        return a.points_for(mover) > b.points_for(mover);
    });
    return votes;
}

template <GameState S>
std::vector<typename S::Move> Search<S>::line() const {
    std::vector<Move> moves;
    const auto votes = this->votes();
    if (votes.empty()) return moves;
    moves.push_back(votes[0].move);
    const Tree<S>& tree = trees_[0];
    S state = tree.state();
    const auto first = tree.children(tree.root());
    const auto found = std::find_if(first.begin(), first.end(), [&](const auto& c) { return c.move == moves[0]; });
    if (found == first.end()) return moves;  // another tree has found it
    auto node = *found;
    while (node.count > 0) {
        state.apply(node.move);
        const auto children = tree.children(node);
        const auto worse = [&](const auto& a, const auto& b) {
            const int one = certainty(a.proof, state.to_play(), false), two = certainty(b.proof, state.to_play(), false);
            return one != two ? one < two : a.visits < b.visits;
        };
        node = *std::max_element(children.begin(), children.end(), worse);
        if (node.visits == 0 && node.proof == Proof::open) break;
        moves.push_back(node.move);
    }
    return moves;
}

template <GameState S>
void Search<S>::play(std::string_view text) {
    std::vector<Move> moves;
    state().list_moves(moves);
    S next = state();
    const std::string canonical = next.play(text);
    const auto same = [&](const Move& move) { return std::string_view(state().text(move)) == canonical; };
    const auto move = std::find_if(moves.begin(), moves.end(), same);
    const bool listed = move != moves.end();
    for (auto& tree : trees_) listed ? tree.advance(*move) : tree.restart(next);
}

}  // namespace ggp
