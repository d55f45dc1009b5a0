// A search of any game within limits: one tree, and threads that take turns in it and play their rollouts side by side
// (tree parallelization: Chaslot, Winands, van den Herik 2008). Where playouts are the limit, one thread finds the same by
// the same seed, also beside a clock with time enough; what several find depends on which is faster. No clock is read here.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
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

// What is known of a move at the root.
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

    // threads: 1 or more. Not of a position that is over.
    Search(const S& root, std::uint64_t seed, int threads, std::size_t most_nodes) : tree_(root, most_nodes) {
        Rng seeds(seed);
        playouts_.reserve(static_cast<std::size_t>(threads));
        for (int i = 0; i < threads; ++i) playouts_.emplace_back(root, seeds.next());
    }

    const S& state() const { return tree_.state(); }
    bool swap_follows() const { return tree_.swap_follows(); }
    std::size_t nodes() const { return tree_.nodes(); }

    // Goes on until a limit is reached. elapsed() returns the seconds since the call; the calling thread asks it,
    // some thousand plies apart, and may throw, to give up. The search can go on after that.
    template <class Elapsed>
    void run(const Limits& limits, Elapsed elapsed);

    // The moves that were looked at, the best first; those that swap sides are not among them. Empty before run().
    std::vector<Vote<Move>> votes() const;

    // What it expects to be played, from the best vote on.
    std::vector<Move> line() const;

    // Goes on from the position after a move; what is known of it is kept. Throws IllegalMove.
    void play(std::string_view text);

  private:
    // The share of the time after which the search knows how many playouts the rest allows. The first ones are slow:
    // threads start, and the caches are cold. By their speed alone the best move of a kept tree would seem decided.
    static constexpr double learning = 0.1;
    static constexpr int plies_between_looks = 20'000;  // of all threads: they may share a core
    static constexpr int tries = 100;  // for the tree, until a thread sleeps: a turn is shorter than to wake up

    // What the threads share besides the tree. Who holds the mutex has the turn.
    struct Round {
        const std::uint64_t most;  // playouts
        std::uint64_t begun = 0;
        bool stop = false;
        std::mutex mutex{};
    };

    std::uint64_t undecided(std::uint64_t left) const;
    template <class Enough>
    void work(Round& round, Playout<S>& playout, Enough enough);
    template <class Late>
    std::uint64_t play_round(std::uint64_t playouts, std::uint64_t step, Late late);
    // Of a move: 1, it wins for that colour; -1, it loses, or the opponent may take the side that wins; 0, neither is
    // certain.
    static int certainty(Proof proof, Colour mover, bool swap_follows) {
        if (proof == Proof::open || proof == Proof::draw) return 0;
        return proof == won_by(mover) && !swap_follows ? 1 : -1;
    }

    Tree<S> tree_;
    std::vector<Playout<S>> playouts_;  // one of each thread
};

template <GameState S>
template <class Elapsed>
void Search<S>::run(const Limits& limits, Elapsed elapsed) {
    const std::uint64_t threads = playouts_.size();
    const auto cells = static_cast<std::uint64_t>(state().cells());
    const auto step = std::clamp<std::uint64_t>(plies_between_looks / (cells * threads), 1, 500);  // of each thread
    constexpr std::uint64_t endless = ~std::uint64_t{0} >> 1;
    const auto late = [&, most = limits.seconds > 0 ? limits.seconds : std::numeric_limits<double>::infinity()] {
        return elapsed() >= most;
    };
    for (std::uint64_t done = 0;;) {
        const std::uint64_t wanted = limits.playouts > 0 ? limits.playouts - std::min(limits.playouts, done) : endless;
        std::uint64_t left = wanted;  // as far as the time allows
        const double spent = elapsed();
        if (limits.seconds > 0 && done > 0) {
            const double more = static_cast<double>(done) * (limits.seconds - spent) / std::max(spent, 1e-6);
            left = std::min(wanted, more < 1 ? 0 : more < 1e15 ? static_cast<std::uint64_t>(more) : endless);
        }
        const bool early = spent < learning * limits.seconds || done < threads * step;
        const std::uint64_t open = left > 0 ? undecided(early ? wanted : left) : 0;
        if (open == 0) return;
        // By time alone the first round is a playout of each thread; its time bounds the second round. With a number of
        // playouts its rounds are those without a clock: one with time enough then changes nothing. At the end of a
        // round threads wait for each other: those of several are as long as nothing can be decided, and no longer than
        // all before.
        std::uint64_t each = threads > 1 ? std::max(step, std::min(done, open) / threads) : step;
        if (done == 0 && limits.playouts == 0) each = 1;
        done += play_round(std::min(threads * each, left), step, late);
    }
}

// One thread's part of a round. enough() is asked after each playout, and may throw.
template <GameState S>
template <class Enough>
void Search<S>::work(Round& round, Playout<S>& playout, Enough enough) {
    std::unique_lock turn(round.mutex);
    while (!round.stop && round.begun < round.most && !tree_.is_proven()) {
        ++round.begun;
        try {
            tree_.descend(playout);
            turn.unlock();
            if (!playout.known()) playout.roll_out();
            const bool stop = enough();
            for (int i = 0; i < tries && !turn.try_lock(); ++i) std::this_thread::yield();
            if (!turn) turn.lock();
            round.stop |= stop;
            tree_.back_up(playout);
        } catch (...) {
            if (!turn) turn.lock();
            round.stop = true;
            tree_.take_back(playout);
            throw;
        }
    }
}

// The calling thread asks late() after every `step` of its playouts; once it is late, or throws, all stop after the ones
// that they are at. How many were played.
template <GameState S>
template <class Late>
std::uint64_t Search<S>::play_round(std::uint64_t playouts, std::uint64_t step, Late late) {
    Round round{playouts};
    std::vector<std::future<void>> others;  // as they go, they wait for their threads
    others.reserve(playouts_.size());
    try {
        for (std::size_t i = 1; i < playouts_.size(); ++i)
            others.push_back(std::async(std::launch::async, [&, i] { work(round, playouts_[i], [] { return false; }); }));
        work(round, playouts_[0], [&, played = std::uint64_t{0}]() mutable { return ++played % step == 0 && late(); });
        for (auto& other : others) other.get();
    } catch (...) {
        const std::lock_guard turn(round.mutex);
        round.stop = true;
        throw;
    }
    return round.begun;
}

// Of so many playouts more, after how many the best move may be decided; 0: it is. It is proven, or the visits of the
// others cannot become more. A proof still could, that the best one loses or another one wins, and a single playout may
// find it: no bound but 0 is exact. Such proofs are given up for the time that is saved.
template <GameState S>
std::uint64_t Search<S>::undecided(std::uint64_t left) const {
    if (tree_.is_proven()) return 0;
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
    for (const auto& child : tree_.children(tree_.root()))
        votes.push_back({child.move, child.visits, child.points, child.proof});
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
    S state = tree_.state();
    const auto first = tree_.children(tree_.root());
    auto node = *std::find_if(first.begin(), first.end(), [&](const auto& c) { return c.move == moves[0]; });
    while (node.count > 0) {
        state.apply(node.move);
        const auto children = tree_.children(node);
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
    listed ? tree_.advance(*move) : tree_.restart(next);
}

}  // namespace ggp
